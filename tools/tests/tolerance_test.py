#!/usr/bin/env python3
"""What tools/README.md prints in place of a tolerance runs as it is printed, and says what stands below it.

Run by CTest with ASSAY set to the program; status 77 without torch.
"""
import os
import re
import sys
import tempfile
import unittest

import frameworks

frameworks.needs("torch", "Debian: python3-torch")

with open(os.path.join(frameworks.HERE, "..", "README.md"), encoding="utf-8") as file:
    SECTION = file.read().split("## In place of a tolerance")[1].split("\n## ")[0]
BLOCKS = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


class InPlaceOfATolerance(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_block(self, block, behind=""):
        with open(os.path.join(self.folder.name, "block.py"), "w", encoding="utf-8") as file:
            file.write(block)
        return frameworks.run([sys.executable, "-B", "-c", f"import block{behind}"], self.folder.name)

    def test_there_are_three(self):
        self.assertEqual(len(BLOCKS), 3)

    def test_those_that_pass(self):
        for block in BLOCKS[:2]:
            done = self.run_block(block)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_one_that_fails_says_what_is_printed(self):
        printed = re.search(r"^    (- \*\*value.*)$", SECTION, re.MULTILINE)[1]
        done = self.run_block(BLOCKS[2], "; block.test_kernel()")
        self.assertEqual(done.returncode, 1)
        self.assertIn(printed, done.stderr)

    def test_a_check_of_a_file_that_checks_itself_ends(self):
        done = self.run_block(BLOCKS[2] + "\ntest_kernel()\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("while this file is imported for a check that runs already", done.stderr)


if __name__ == "__main__":
    unittest.main()
