#!/usr/bin/env python3
"""What cmake --install leaves works by itself, in a folder that was moved afterwards.

Run by CTest with BUILD set to the build folder.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

MODEL = """import sys
import numpy

def scan(log_p, h, s0):
    host = sys.modules["__main__"].__file__
    assert host.startswith(PREFIX), host
    s, last = numpy.empty_like(h), s0
    with numpy.errstate(all="ignore"):
        for i in range(h.shape[1]):
            last = s[:, i] = numpy.logaddexp(log_p[:, i] + last, h[:, i])
    return s, last
"""

MPI_PROJECT = """cmake_minimum_required(VERSION 3.25)
project(ranks LANGUAGES CXX)
find_package(assay 0.2 REQUIRED COMPONENTS mpi)
add_executable(ranks main.cpp)
target_link_libraries(ranks PRIVATE assay::mpi)
"""
FORMULA_PROJECT = """cmake_minimum_required(VERSION 3.25)
project(formula LANGUAGES CXX)
find_package(assay 0.2 REQUIRED COMPONENTS formula)
add_executable(cpp_formula cpp_formula.cpp)
target_link_libraries(cpp_formula PRIVATE assay::formula)
"""
MPI_PROGRAM = """#include <cstdio>
#include <vector>

#include "optimized/mpi/heinsen_ranks.hpp"

using namespace assay::optimized;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const std::size_t n = 500;
    std::vector<float> zeros(n), s(n), s_n(1);
    const heinsen::time_ranks ranks(MPI_COMM_WORLD);
    const auto tokens = dense<const float, 3>(zeros.data(), {1, n, 1});
    heinsen::scan<float>(ranks, {find_kernels("best")}, {tokens, tokens},
                         {dense<float, 3>(s.data(), {1, n, 1}), dense<float, 2>(s_n.data(), {1, 1})});
    if (ranks.is_last()) std::printf("%.6f\\n", s_n[0]);
  }
  MPI_Finalize();
}
"""

folder = tempfile.TemporaryDirectory()
unittest.addModuleCleanup(folder.cleanup)


def setUpModule():
    first, moved = (os.path.join(folder.name, name) for name in ("first", "moved"))
    subprocess.run(["cmake", "--install", os.environ["BUILD"], "--prefix", first], check=True, stdout=subprocess.DEVNULL)
    shutil.move(first, moved)


class Installed(unittest.TestCase):
    folder = folder
    prefix = os.path.join(folder.name, "moved")
    assay = os.path.join(prefix, "bin", "assay")

    def run_assay(self, *arguments):
        return subprocess.run([self.assay, *arguments], cwd=self.folder.name, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env={**os.environ, "ASSAY_PYTHON": "/usr/bin/python3"})

    def gate(self, candidate):
        done = self.run_assay("gate", "--candidate", candidate, "--operation", "heinsen/scan", "--dtype", "f32",
                              "--property", "value", "--family", "mild")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1 checks: 1 passed", done.stdout)

    def test_it_lists(self):
        done = self.run_assay("list", "operations")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("heinsen/scan", done.stdout)

    def test_it_finds_its_own_python_host(self):
        with open(os.path.join(self.folder.name, "users_model.py"), "w") as file:
            file.write(MODEL.replace("PREFIX", repr(self.prefix)))
        self.gate("python:users_model:scan")

    def test_the_examples_run_where_they_were_installed(self):
        example = os.path.join(self.prefix, "share", "doc", "assay", "examples", "numpy_step_loop.py")
        self.gate("process:/usr/bin/python3 " + example)

    def test_the_gates_of_a_ci_server(self):
        for candidate, code in (("builtin:sequential", 0), ("builtin:mutant/drops_nan", 1), ("nothing", 2)):
            done = subprocess.run(["/usr/bin/python3", "-B", "-m", "assay.ci", "--candidates", candidate, "--dtypes=f32",
                                   "--operations=heinsen/scan", "--options=--property=value"],
                                  cwd=self.folder.name, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                  env={**os.environ, "ASSAY": "", "PYTHONPATH": os.path.join(self.prefix, "share", "assay",
                                                                                             "python")})
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.folder.name, "assay-report", "junit.xml")))

    def test_the_gates_of_a_project(self):
        def ci(project, *arguments, **environment):
            with open(os.path.join(self.folder.name, "pyproject.toml"), "w") as file:
                file.write(project)
            return subprocess.run(["/usr/bin/python3", "-B", "-m", "assay.ci", *arguments], cwd=self.folder.name,
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                  env={**os.environ, "ASSAY": "", **environment,
                                       "PYTHONPATH": os.path.join(self.prefix, "share", "assay", "python")})
        project = ('[tool.assay]\ncandidates = ["builtin:sequential", "builtin:mutant/drops_nan"]\ndtypes = ["f32"]\n'
                   'operations = ["heinsen/scan"]\neffort = "smoke"\nseed = 7\n')
        done = ci(project, GITHUB_ACTIONS="true")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("effort smoke, seed 7"), 2)
        self.assertIn("::error title=Assay%3A heinsen/scan in f32::", done.stdout)
        self.assertEqual(ci(project, "--candidates", "builtin:sequential").returncode, 0)
        # Another spelling of the table; an option with a blank.
        self.assertEqual(ci(project.replace("[tool.assay]", "[ tool . assay ]") + 'options = ["--report", "a b"]\n', "--candidates",
                            "builtin:sequential").returncode, 2)  # --report twice
        for wrong, said in (("candidate = 1", "[tool.assay] has no candidate"), ("dtypes = [", "pyproject.toml: "),
                            ("seed = {}", "a text, a number or a list"), ("", "--candidates names none")):
            done = ci("[tool.assay]\n" + wrong + "\n")
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        for wrong, said in (("[tool]\nassay = 3\n", "tool.assay is no table"), ("tool = 3\n", "--candidates names none")):
            done = ci(wrong)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)


class Library(unittest.TestCase):
    """The examples of optimized/README.md, built outside of Assay against what was installed."""
    prefix = Installed.prefix

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=folder.name)
        with open(os.path.join(self.prefix, "lib", "libassay_scan.so.0"), "rb") as file:
            if re.search(rb"__[at]san_init", file.read()):
                self.skipTest("the library was built with a sanitizer, and its users are not")

    def example(self, language, name):
        """The one block of this language in the README, as a file."""
        with open(os.path.join(self.prefix, "share", "doc", "assay", "optimized", "README.md"), encoding="utf-8") as file:
            (block,) = re.findall(rf"^```{language}\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(block)
        return block

    def run_here(self, *command, code=0, **environment):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def assert_prints(self, shown, printed):
        """The example printed what its comment says."""
        self.assertEqual(re.findall(r"(?://|/\*|#) prints ([\d. -]+?)(?: \*/)?$", shown, re.MULTILINE), [printed.strip()])

    def test_c(self):
        shown = self.example("c", "main.c")
        self.run_here("cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "main.c", "-o", "main",
                      f"-I{self.prefix}/include", f"-L{self.prefix}/lib", f"-Wl,-rpath,{self.prefix}/lib", "-lassay_scan")
        self.assert_prints(shown, self.run_here("./main"))

    def test_cmake_and_cpp(self):
        self.example("cmake", "CMakeLists.txt")
        shown = {"arrays": self.example("c", "main.c"), "views": self.example("cpp", "main.cpp")}
        warnings = "-Wall -Wextra -Wpedantic -Werror"
        self.run_here("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                      f"-DCMAKE_CXX_FLAGS={warnings}", f"-DCMAKE_C_FLAGS={warnings}")
        self.run_here("cmake", "--build", "build")
        for program, text in shown.items():
            self.assert_prints(text, self.run_here(f"build/{program}"))

    def test_c_alone_needs_no_package_of_the_cpp_interface(self):
        for components, code, said in (("COMPONENTS scan", 0, ""), ("", 1, "libtbb-dev")):
            with open(os.path.join(self.folder, "CMakeLists.txt"), "w") as file:
                file.write("cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES C)\n"
                           f"find_package(assay 0.2 REQUIRED {components})\nget_target_property(x assay::scan LOCATION)\n")
            self.assertIn(said, self.run_here("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                                              "-DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON", code=code))

    def test_formulas_are_a_component_of_their_own(self):
        """The example, built where headers and archives of this component alone are installed."""
        self.assertFalse(os.path.exists(os.path.join(self.prefix, "lib", "libassay_reference.a")))
        prefix = os.path.join(self.folder, "with_formulas")
        self.run_here("cmake", "--install", os.environ["BUILD"], "--prefix", prefix)
        self.run_here("cmake", "--install", os.environ["BUILD"], "--prefix", prefix, "--component", "formula")
        shutil.copy(os.path.join(self.prefix, "share", "doc", "assay", "examples", "cpp_formula.cpp"), self.folder)
        with open(os.path.join(self.folder, "CMakeLists.txt"), "w") as file:
            file.write(FORMULA_PROJECT)
        self.run_here("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}",
                      "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
        self.run_here("cmake", "--build", "build")
        printed = self.run_here("build/cpp_formula")
        self.assertIn("output logits = 50 * tanh(scores / 50)", printed)
        self.assertIn("output grad_slopes", printed)
        self.assertIn("0 of 1024 elements wrong", printed)
        program = json.loads(self.run_here("build/cpp_formula", "--json"))
        self.assertEqual((program["schema"], program["outputs"][0]["name"]), ("assay-program/1", "logits"))

    def test_mpi_is_a_component_of_its_own(self):
        """Two ranks with 500 tokens each: the state after 1000."""
        build = os.environ["BUILD"]
        if not os.path.exists(os.path.join(build, "optimized", "mpi", "libassay_mpi.a")):
            self.skipTest("built without MPI")
        self.assertFalse(os.path.exists(os.path.join(self.prefix, "lib", "libassay_mpi.a")))
        prefix = os.path.join(self.folder, "with_mpi")
        shutil.copytree(self.prefix, prefix, symlinks=True)
        self.run_here("cmake", "--install", build, "--prefix", prefix, "--component", "mpi")
        for name, text in (("CMakeLists.txt", MPI_PROJECT), ("main.cpp", MPI_PROGRAM)):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.run_here("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Werror")
        self.run_here("cmake", "--build", "build")
        printed = self.run_here("mpirun", "-n", "2", "build/ranks", OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
        self.assertIn("6.908755", printed)

    def test_python(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
            self.skipTest("no torch")
        shown = self.example("python", "example.py")
        self.assert_prints(shown, self.run_here("/usr/bin/python3", "example.py",
                                                PYTHONPATH=os.path.join(self.prefix, "share", "assay", "python")))

    def test_the_candidate_in_c_is_built_where_it_was_installed(self):
        self.run_here("cc", "-std=c99", "-shared", "-fPIC", "-Werror", "-Wall", "-Wextra", f"-I{self.prefix}/include",
                      os.path.join(self.prefix, "share", "doc", "assay", "examples", "c_fused_scan.c"),
                      f"-L{self.prefix}/lib", f"-Wl,-rpath,{self.prefix}/lib", "-lassay_scan", "-o", "candidate.so")
        said = self.run_here(Installed.assay, "gate", "--candidate", "library:./candidate.so", "--operation",
                             "heinsen/scan:vjp", "--dtype", "f32", "--property", "vjp", "--family", "mild")
        self.assertIn("1 checks: 1 passed", said)


if __name__ == "__main__":
    unittest.main()
