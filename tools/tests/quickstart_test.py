"""tools/quickstart in a folder of its own, where nothing is installed or built: the program of this build, asked for few
checks, stands in place of the one that it would build.

Run by CTest with ASSAY set to the program.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
FEW = '#!/bin/sh\nexec "{}" "$@" --operation heinsen/scan --dtype f32 --property value --family mild --max-elements 2000\n'
NOTHING = "#!/bin/sh\n"
CMAKE = '#!/bin/sh\necho "$*" >> cmake.log\ncase "$*" in *assay_bench*) : > build/release/bin/assay-bench ;; esac\n'


class Quickstart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="with a space ")
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)
        self.write("tools/install_dependencies", NOTHING)
        self.write("build/release/bin/assay", FEW.format(os.environ["ASSAY"]))
        self.write("programs/cmake", CMAKE)
        shutil.copy(os.path.join(TOOLS, "quickstart"), os.path.join(self.root, "tools"))
        os.symlink(os.path.join(os.path.realpath(TOOLS), "examples"), os.path.join(self.root, "tools", "examples"))

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def run_it(self, *words, code=0):
        path = os.path.join(self.root, "programs") + ":" + os.environ["PATH"]
        done = subprocess.run([os.path.join(self.root, "tools", "quickstart"), *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env={**os.environ, "PATH": path})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def built(self):
        with open(os.path.join(self.root, "cmake.log")) as file:
            return re.findall("--target (.*)", file.read())

    def test_it_says_how_to_call_the_program(self):
        said = self.run_it()
        self.assertEqual(said.count("# Assay: "), 3)
        self.assertEqual(self.built(), ["assay"])
        self.assertIn("not built yet: tools/quickstart bench", said)
        (line,) = re.findall(r"^    (export PATH=.*)$", said, re.MULTILINE)
        found = subprocess.run(["bash", "-c", line + "; command -v assay"], capture_output=True, text=True, check=True)
        self.assertEqual(found.stdout.strip(), os.path.join(self.root, "build", "release", "bin", "assay"))

    def test_what_bench_starts_is_built_where_it_is_asked_for(self):
        said = self.run_it("bench")
        self.assertEqual(self.built(), ["assay assay_bench"])
        self.assertNotIn("not built yet", said)
        self.assertIn("usage: tools/quickstart [bench]", self.run_it("benchmark", code=2))


if __name__ == "__main__":
    unittest.main()
