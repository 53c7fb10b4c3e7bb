#!/usr/bin/env python3
"""The wheels that tools/wheel/pack makes: the same bytes twice, what their tag promises, and the README's tour in a fresh
environment, without a compiler, in a folder that is not the repository.

Run by CTest with BUILD set to the build folder. Ends with status 77 (skipped, in CTest's words) without its tools.
"""
import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ["BUILD"]
# What manylinux_2_34 promises of libraries that are not in a wheel (auditwheel's manylinux-policy.json, x86_64).
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}
OUTSIDE = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}

work = tempfile.TemporaryDirectory()
unittest.addModuleCleanup(work.cleanup)


def within(*parts):
    return os.path.join(work.name, *parts)


def pack(name, **options):
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **options.pop("env", {})}
    subprocess.run([os.path.join(ROOT, "tools", "wheel", "pack"), BUILD, within(name)], check=True, env=environment, **options)


def wheel(pattern):
    (path,) = glob.glob(within("first", pattern))
    return path


def setUpModule():
    pack("first")


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = zipfile.ZipFile(wheel("assay-*.whl"))
        cls.golden = zipfile.ZipFile(wheel("assay_golden-*.whl"))
        cls.program.extractall(within("unpacked"))
        cls.elf = [path for path in glob.glob(within("unpacked", "assay", "*", "*")) if read(path)[:4] == b"\x7fELF"]

    def test_the_same_bytes_in_another_folder_zone_and_mask_and_older_wheels_go(self):
        os.mkdir(within("second"))
        for name in ("assay-0.0.1-py3-none-manylinux_2_31_x86_64.whl", "other-1-py3-none-any.whl"):
            open(within("second", name), "w").close()
        pack("second", cwd=work.name, umask=0o077, env={"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"})
        made = sorted(os.listdir(within("first")))
        self.assertEqual(sorted(os.listdir(within("second"))), [*made, "other-1-py3-none-any.whl"])
        for name in made:
            self.assertEqual(read(within("first", name)), read(within("second", name)), name)

    def test_entries_are_sorted_and_have_one_time_and_fixed_modes(self):
        for archive in (self.program, self.golden):
            described = {True: [], False: []}
            for entry in archive.infolist():
                described[".dist-info/" in entry.filename].append(entry.filename)
                self.assertEqual(entry.date_time, (2023, 11, 14, 22, 13, 20))
                wanted = {"assay/bin/assay": 0o755}.get(entry.filename, 0o644)
                if not entry.filename.endswith("/RECORD"):  # by the tool
                    self.assertEqual(entry.external_attr >> 16 & 0o777, wanted, entry.filename)
            self.assertNotIn("pyc", " ".join(archive.namelist()))
            self.assertEqual(archive.namelist(), [*sorted(described[False], key=folders_last), *described[True]])

    def test_the_size(self):
        self.assertLess(os.path.getsize(wheel("assay-*.whl")), 25e6)

    def test_the_tag_is_what_the_symbols_need(self):
        needed = {}
        for path in self.elf:
            listed = output("objdump", "--private-headers", path).partition("Version References:")[2]
            for kind, version in re.findall(r" ([A-Z]+)_([\d.]+)$", listed, re.MULTILINE):
                version = tuple(map(int, version.split(".")))
                needed[kind] = max(needed.get(kind, ()), version)
        for kind, newest in NEWEST.items():
            self.assertLessEqual(needed[kind], newest, f"{kind}: tools/README.md says how to see which symbols need it")
        major, minor = needed["GLIBC"]
        self.assertIn(f"-py3-none-manylinux_{major}_{minor}_x86_64.whl", wheel("assay-*.whl"))

    def test_every_library_is_in_the_wheel_or_on_every_system(self):
        self.assertGreater(len(self.elf), 8)
        bundled = os.listdir(within("unpacked", "assay", "lib"))
        for path in self.elf:
            dynamic = output("readelf", "--dynamic", path)
            needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
            self.assertLessEqual(needed - OUTSIDE, set(bundled), path)
            self.assertNotIn("/", "".join(needed))
            self.assertEqual(re.findall(r"PATH\).*\[(.+)\]", dynamic),
                             ["$ORIGIN/../lib" if "/bin/" in path else "$ORIGIN"], path)
            if "/lib/" in path:
                self.assertEqual(re.findall(r"\(SONAME\).*\[(.+)\]", dynamic), [os.path.basename(path)])

    def test_every_licence_is_there(self):
        (folder,) = glob.glob(within("unpacked", "assay-*.dist-info", "licenses"))
        there = os.listdir(folder)
        for name in ("LICENSE", "libgmp10", "libmpfr6", "libmpfi0", "libtbb12", "libopenblas-openmp-dev"):
            self.assertIn(name, there)
        bundled = set(os.listdir(within("unpacked", "assay", "lib"))) - {"libassay_scan.so.0"}
        self.assertEqual(len(bundled), len([name for name in there if re.match(r"lib.*\d$", name)]))
        for name in there:
            for text in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", read(os.path.join(folder, name)).decode()):
                self.assertIn(text, there)

    def test_the_golden_sets_are_whole(self):
        sets = [path for path in glob.glob(os.path.join(ROOT, "golden", "sets", "**"), recursive=True)
                if os.path.isfile(path) and not path.endswith(".partial")]
        self.assertGreater(len(sets), 1000)
        for path in sets:
            name = "assay_golden/" + os.path.relpath(path, os.path.join(ROOT, "golden"))
            self.assertEqual(self.golden.read(name), read(path), name)


class Environment(unittest.TestCase):
    """Installed, used and removed. Another python3 comes first on PATH, which has no numpy; there is no compiler."""

    @classmethod
    def setUpClass(cls):
        cls.home, cls.folder = within("environment"), within("elsewhere")
        for folder in (cls.folder, within("decoy")):
            os.mkdir(folder)
        decoy = within("decoy", "python3")
        with open(decoy, "w") as file:
            file.write("#!/bin/sh\nexec /usr/bin/python3 -I -S \"$@\"\n")
        os.chmod(decoy, 0o755)
        output("/usr/bin/python3", "-m", "venv", "--system-site-packages", cls.home)
        cls.before = cls.files()
        output(os.path.join(cls.home, "bin", "pip"), "install", "--no-index", "--quiet", wheel("assay-*.whl"),
               wheel("assay_golden-*.whl"))
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            cls.readme = file.read()
        (model,) = re.findall(r"^```python\n# model\.py\n(.*?)^```", cls.readme, re.DOTALL | re.MULTILINE)
        with open(os.path.join(cls.folder, "model.py"), "w") as file:
            file.write(model)

    @classmethod
    def files(cls):
        return {os.path.join(parent, name) for parent, folders, names in os.walk(cls.home) for name in [*folders, *names]}

    def ends(self, code, program, *arguments, **more):
        done = subprocess.run([os.path.join(self.home, "bin", program), *arguments], cwd=self.folder, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL,
                              env={"PATH": f"{within('decoy')}:{self.home}/bin", "HOME": self.folder, **more})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_1_the_tour(self):
        said = self.ends(1, "assay", "gate", "--candidate", "python:model:rotate")
        self.assertIn('asked for layout = "interleaved", behaves as layout = "half_split"', said)
        shown = re.search(r"^    \$ assay (replay .*)$", self.readme, re.MULTILINE).group(1)
        self.assertIn("rope/rotate", self.ends(1, "assay", *shown.split()))
        self.assertIn("growth", self.ends(0, "assay", "explore", "list"))
        self.assertIn(" assay", self.ends(0, "python3", "-m", "assay", "--help"))

    def test_2_the_report_is_that_of_the_built_program(self):
        reports = {}
        arguments = ("gate", "--candidate", "python:model:rotate", "--property", "value", "--report")
        self.ends(1, "assay", *arguments, "wheel")
        subprocess.run([os.path.join(BUILD, "assay"), *arguments, "built"], cwd=self.folder, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "ASSAY_PYTHON": os.path.join(self.home, "bin", "python3")})
        for name in ("wheel", "built"):
            reports[name] = [json.dumps(without_times(json.loads(read(os.path.join(self.folder, name, "report.json"))))),
                             read(os.path.join(self.folder, name, "summary.md")).decode()]
            reports[name] = [text.replace(f'"{name}', '"REPORT').replace(f"{name}/", "REPORT/") for text in reports[name]]
        self.assertEqual(reports["wheel"], reports["built"])

    def test_3_python(self):
        """The library, the golden sets with the README's assertion, and the pytest plugin."""
        (golden,) = re.findall(r"^tensors, metadata = golden_reader.*?\n(t = .*?\n)x, y = .*?\n(assert .*?)$", self.readme,
                               re.DOTALL | re.MULTILINE)
        program = ("import assay, assay_golden, numpy, os\n"
                   "tensors, metadata = assay_golden.read('heinsen/scan-mild.f32')\n" + golden[0] +
                   "x, y = assay.scan(t['log_p'], t['h'], t['s0'])[0], t['s']\n" + golden[1] + "\n"
                   "assert os.path.isdir(os.path.join(assay_golden.SETS, 'rope'))\n")
        self.ends(0, "python3", "-c", program)
        test = "def test_scan(assay):\n    assay.check(assay.scan, 'heinsen/scan', ['f32'], options=['--property=value'])\n"
        with open(os.path.join(self.folder, "test_scan.py"), "w") as file:
            file.write(test)
        if importlib.util.find_spec("pytest"):
            self.assertIn("1 passed", self.ends(0, "python3", "-m", "pytest", "test_scan.py"))
            self.ends(0, "python3", "-m", "pytest", "-p", "assay.pytest_plugin", "--collect-only", "test_scan.py")

    def test_4_an_interpreter_that_is_named_goes_first(self):
        said = self.ends(3, "assay", "gate", "--candidate", "python:model:rotate", ASSAY_PYTHON=within("decoy", "python3"))
        self.assertIn("has no numpy: install it there, or name another interpreter in ASSAY_PYTHON", said)

    def test_5_nothing_is_left(self):
        self.assertTrue(self.files() - self.before)
        self.ends(0, "pip", "uninstall", "--yes", "--quiet", "assay", "assay-golden")
        left = {path for path in self.files() - self.before if not os.path.isdir(path)}
        # pytest compiles the modules of every plugin for itself, and pip does not know of that.
        self.assertEqual({path for path in left if not re.search(r"-pytest-[\d.]+\.pyc$", path)}, set())


def folders_last(path):
    """The order of os.walk: the files of a folder, then its folders."""
    *folders, name = path.split("/")
    return [part for folder in folders for part in (1, folder)] + [0, name]


def without_times(value):
    if isinstance(value, dict):
        return {name: without_times(item) for name, item in value.items() if name not in ("started", "seconds")}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL).stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    if not shutil.which("patchelf") or not all(map(importlib.util.find_spec, ("wheel", "ensurepip", "numpy"))):
        print("skipped: no patchelf, wheel, ensurepip or numpy (tools/install_dependencies package python)")
        sys.exit(77)
    if b"san_init" in read(os.path.join(BUILD, "bin", "assay")):
        print("skipped: built with a sanitizer")
        sys.exit(77)
    unittest.main()
