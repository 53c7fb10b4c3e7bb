#!/usr/bin/env python3
"""What cmake --install leaves works by itself, in a folder that was moved afterwards.

Run by CTest with BUILD set to the build folder.
"""
import os
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


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        first, cls.prefix = (os.path.join(cls.folder.name, name) for name in ("first", "moved"))
        subprocess.run(["cmake", "--install", os.environ["BUILD"], "--prefix", first], check=True, stdout=subprocess.DEVNULL)
        shutil.move(first, cls.prefix)
        cls.assay = os.path.join(cls.prefix, "bin", "assay")

    def run_assay(self, *arguments):
        return subprocess.run([self.assay, *arguments], cwd=self.folder.name, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=300, env={**os.environ, "ASSAY_PYTHON": "/usr/bin/python3"})

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

    def test_the_recipe_for_plain_shell_gates(self):
        recipe = os.path.join(self.prefix, "share", "doc", "assay", "examples", "ci", "gate.sh")
        for candidate, code in (("builtin:sequential", 0), ("builtin:mutant/drops_nan", 1), ("nothing", 2)):
            done = subprocess.run(["sh", recipe, "--operation", "heinsen/scan", "--dtype", "f32", "--property", "value"],
                                  cwd=self.folder.name, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300,
                                  env={**os.environ, "ASSAY": self.assay, "CANDIDATE": candidate})
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.folder.name, "assay-report", "junit.xml")))


if __name__ == "__main__":
    unittest.main()
