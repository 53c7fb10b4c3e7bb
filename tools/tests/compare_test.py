#!/usr/bin/env python3
"""`assay compare`: several reports in one table, in Markdown and as a page.

Run by CTest with ASSAY set to the program.
"""
import html
import json
import os
import re
import subprocess
import tempfile
import unittest

ASSAY = os.environ["ASSAY"]
SELECTED = ("--operation", "heinsen/scan", "--dtype", "f32", "--family", "mild", "--property", "value")


def run(*arguments, **options):
    return subprocess.run([ASSAY, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.reports = []
        for name in ("tree", "cumsum", "mutant/ignores_initial_state"):
            cls.reports.append(os.path.join(cls.folder, name.replace("/", "_")))
            run("gate", "--candidate", "builtin:" + name, *SELECTED, "--report", cls.reports[-1])
        cls.page = os.path.join(cls.folder, "page.html")
        cls.done = run("compare", *cls.reports[:2], os.path.join(cls.reports[2], "report.json"), "--page", cls.page)

    def test_each_candidate_is_a_column(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        head, rule, row = self.done.stdout.splitlines()
        self.assertEqual(head, "| | tree 1: **passed** | cumsum 1: **passed** | "
                               "mutant/ignores_initial_state 1: **failed** |")
        self.assertEqual(rule, "|---|---|---|---|")
        part, tree, cumsum, mutant = [cell.strip() for cell in row.strip("|").split("|")]
        self.assertEqual(part, "heinsen/scan in f32")
        self.assertRegex(tree, r"^passed<br>class \w+<br>7 digits up to \d+.* \(number of tokens\)<br>sizes tried, up to B \d+, d \d+, n \d+$")
        self.assertIn("class cumsum", cumsum)
        self.assertEqual(mutant, "failed: value")

    def test_the_page_says_the_same(self):
        with open(self.page, encoding="utf-8") as file:
            page = file.read()
        cells = [html.unescape(cell) for cell in re.findall(r"<td>(.*?)</td>", page)]
        told = [cell.strip() for cell in self.done.stdout.splitlines()[2].strip("|").split("|")][1:]
        self.assertEqual(cells, told)

    def test_members_of_other_kinds_tell_nothing(self):
        with open(os.path.join(self.reports[0], "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        for check in report["checks"]:
            check["error_along"] = 5
        for part in report["accuracy_class"]:
            part["largest_sizes"] = part["share_of_law"] = [{}]
        path = os.path.join(self.folder, "strange.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        done = run("compare", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("digits", done.stdout)

    def test_what_is_no_report_is_refused(self):
        cut = os.path.join(self.folder, "cut.json")
        with open(os.path.join(self.reports[0], "report.json"), encoding="utf-8") as whole, open(cut, "w") as file:
            file.write(whole.read().replace('"footer": "complete"', '"footer": "cut"'))
        for wrong in (cut, self.folder, os.path.join(self.folder, "none")):
            done = run("compare", self.reports[0], wrong)
            self.assertEqual(done.returncode, 2)
            self.assertIn(wrong, done.stderr)


if __name__ == "__main__":
    unittest.main()
