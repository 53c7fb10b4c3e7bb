#!/usr/bin/env python3
"""tools/new_encoding --kind: what it writes for kinds but the first compiles, and a copy with all of them can be built.

Run by CTest with BUILD set to the build folder; tools/new_encoding --kind KIND --rehearse dummy builds and gates.
"""
import os
import shutil
import subprocess
import tempfile
import unittest

import skeletons
from skeletons import KINDS, SOURCE, run_tool


class Kinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = skeletons.copy_of_sources(folder.name)
        cls.names = {"dummy_" + kind: run_tool(cls.root, "--kind", kind, "dummy_" + kind) for kind in KINDS}

    def test_each_is_written(self):
        self.assertEqual({name: (done.returncode, done.stderr) for name, done in self.names.items()},
                         dict.fromkeys(self.names, (0, "")))

    def test_each_compiles(self):
        compiler = skeletons.Compiler(self.root)
        for name in list(self.names)[1:]:
            with self.subTest(name):
                self.assertEqual(compiler.errors_of_formula(name), "")
                self.assertEqual(compiler.errors_of_checks(name), "")

    def test_all_can_be_configured(self):
        index = os.path.join("golden", "sets", "index.json")
        os.makedirs(os.path.join(self.root, "golden", "sets"))
        shutil.copy(os.path.join(SOURCE, index), os.path.join(self.root, index))
        done = subprocess.run(["cmake", "--preset", "release", "-DASSAY_ONLY=" + ";".join(self.names)], cwd=self.root,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
