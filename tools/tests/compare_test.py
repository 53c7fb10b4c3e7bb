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
        cls.page = os.path.join(cls.folder, "pages", "page.html")
        os.mkdir(os.path.dirname(cls.page))
        cls.done = run("compare", *cls.reports[:2], os.path.join(cls.reports[2], "report.json"), "--page", cls.page,
                       cwd=cls.folder)

    def test_each_candidate_is_a_column(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        head, rule, row = self.done.stdout.splitlines()
        self.assertEqual(head, "| | [tree 1](tree/index.html): **passed** | [cumsum 1](cumsum/index.html): **passed** | "
                               "[mutant/ignores_initial_state 1](mutant_ignores_initial_state/index.html): **failed** |")
        self.assertEqual(rule, "|---|---|---|---|")
        part, tree, cumsum, mutant = [cell.strip() for cell in row.strip("|").split("|")]
        self.assertEqual(part, "heinsen/scan in f32")
        self.assertRegex(tree, r"^passed<br>class \w+<br>7 digits up to \d+.* \(number of tokens\)<br>sizes tried, up to B \d+, d \d+, n \d+$")
        self.assertIn("class cumsum", cumsum)
        self.assertEqual(mutant, "[failed: value (wrong result)](mutant_ignores_initial_state/index.html"
                                 "#value-heinsen-scan-f32)<br>the initial state is ignored when there is more than one token")

    def test_the_page_says_the_same(self):
        with open(self.page, encoding="utf-8") as file:
            page = file.read()
        cells = [html.unescape(cell) for cell in re.findall(r"<td>(.*?)</td>", page)]
        printed = [re.sub(r"\[(.*?)\]\((.*?)\)", r'<a href="../\2">\1</a>', cell.strip())
                   for cell in self.done.stdout.splitlines()[2].strip("|").split("|")][1:]
        self.assertEqual(cells, printed)

    def test_links_lead_to_the_counterexample(self):
        with open(self.page, encoding="utf-8") as file:
            links = re.findall(r'href="([^"#]+\.html)(#[^"]*)?"', file.read())
        self.assertEqual(len(links), 4)
        for path, place in links:
            with open(os.path.join(os.path.dirname(self.page), path), encoding="utf-8") as file:
                self.assertTrue(not place or f'id="{place[1:]}"' in file.read())

    def test_what_did_not_start_has_a_row_of_its_own(self):
        broken = os.path.join(self.folder, "broken")
        run("gate", "--candidate", "process:/nonexistent/program", *SELECTED, "--report", broken)
        os.rename(os.path.join(broken, "index.html"), os.path.join(broken, "elsewhere.html"))
        done = run("compare", self.reports[0], broken, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        head, _, part, whole = done.stdout.splitlines()
        self.assertTrue(head.endswith("| process:/nonexistent/program: **broken** |"), head)  # no page, no link
        self.assertRegex(part, r"^\| heinsen/scan in f32 \| passed.* \| not tried \|$")
        self.assertRegex(whole, r"^\| the run as a whole \|  \| the candidate did not start: .* \|$")

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
