#!/usr/bin/env python3
"""The reports of `assay gate`: valid by their schemas, one verdict in all four files, and harmless text.

Run by CTest with ASSAY set to the program.
"""
import html
import html.parser
import json
import os
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import jsonschema

from reports import ASSAY, HERE, HOSTILE, HOSTILE_NAME, ONE, Reports, consequences_of, drawn_checks, failures_of, report_of, text_of

SCHEMAS = os.path.join(HERE, "..", "report")


def setUpModule():
    global FOLDER, REPORTS
    FOLDER = tempfile.TemporaryDirectory()
    REPORTS = Reports(FOLDER.name).make()


def tearDownModule():
    FOLDER.cleanup()


class Page(html.parser.HTMLParser):
    """Collects the text of a page by element, and checks that every element is closed in order."""
    VOID = {"meta", "link", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.failures, self.text = [], [], [], {}
        self.feed(text)
        self.close()
        if self.open:
            raise AssertionError("not closed: " + str(self.open))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag not in self.VOID:
            self.open.append((tag, attributes.get("class", "")))

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            raise AssertionError(f"</{tag}> closes {self.open[-1:]}")
        self.open.pop()

    def handle_data(self, data):
        tags = [tag for tag, _ in self.open]
        for key in ("title", "h1"):
            if key in tags and "svg" not in tags:
                self.text[key] = self.text.get(key, "") + data
        if ("p", "counts") in self.open:
            self.text["counts"] = data
        if "summary" in tags and ("details", "failure") in self.open:
            if tags[-1] == "b":
                self.failures.append("")
            self.failures[-1] += data


class Schemas(unittest.TestCase):
    def test_report_json(self):
        with open(os.path.join(SCHEMAS, "report.schema.json")) as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for name, folder in REPORTS.items():
            errors = [(list(e.path), e.message[:200]) for e in validator.iter_errors(report_of(folder))]
            self.assertEqual(errors, [], name)
        changed = report_of(REPORTS["failing"])
        for spoil in (lambda r: r.update(more=1), lambda r: r.pop("footer"), lambda r: r.update(verdict="fine"),
                      lambda r: r["checks"][0].update(more=1), lambda r: r["checks"][0].pop("counterexample")):
            spoiled = json.loads(json.dumps(changed))
            spoil(spoiled)
            self.assertFalse(validator.is_valid(spoiled))

    def test_infinities_are_strings(self):
        report = report_of(REPORTS["nan"])
        ratios = [c["worst"]["allowance_ratio"] for c in report["checks"] if "worst" in c]
        self.assertIn("inf", ratios)
        for name, folder in REPORTS.items():
            json.loads(text_of(folder, "report.json"), parse_constant=lambda c: self.fail(f"{name}: {c}"))

    def test_junit(self):
        for name, folder in REPORTS.items():
            done = subprocess.run(["xmllint", "--noout", "--schema", os.path.join(SCHEMAS, "junit.xsd"),
                                   os.path.join(folder, "junit.xml")], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, name + done.stderr)

    def test_the_wrong_element_is_in_the_table(self):
        page = text_of(REPORTS["wide"], "index.html")
        self.assertIn("more are in the file", page)
        self.assertRegex(page, r'<tr class="wrong"><th scope="row">\[0, 0, 64\]')

    def test_pages_are_well_formed_and_load_nothing(self):
        for name, folder in REPORTS.items():
            page = Page(text_of(folder, "index.html"))
            for tag, attributes in page.elements:
                self.assertNotIn(tag, ("script", "img", "iframe", "object", "embed"), name)
                self.assertFalse([a for a in attributes if a.startswith("on")], name)
                for reference in ("src", "href"):
                    self.assertIn(attributes.get(reference, "data:,"), ("data:,",), name)
            ids = [a["id"] for _, a in page.elements if "id" in a]
            self.assertEqual(len(ids), len(set(ids)), name)


class Agreement(unittest.TestCase):
    def junit(self, folder):
        root = xml.etree.ElementTree.parse(os.path.join(folder, "junit.xml")).getroot()
        cases = [(c, s) for s in root for c in s if s.get("name") != "assay"]
        wrong = [(c.get("name"), *s.get("name").split()) for c, s in cases
                 if c.find("failure") is not None or c.find("error") is not None]
        for suites in (root, *root):
            for attribute, element in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"),
                                       ("skipped", "skipped")):
                if suites.get(attribute) is not None:
                    self.assertEqual(int(suites.get(attribute)), len(list(suites.iter(element))))
        return {"verdict": root.get("name").rsplit(": ", 1)[1], "failures": wrong, "checks": len(cases),
                "skipped": sum(c.find("skipped") is not None for c, _ in cases),
                "complaints": sum(len(list(s.iter(e))) for s in root if s.get("name") == "assay" for e in ("failure", "error"))}

    def test_the_four_files_agree(self):
        for name, folder in REPORTS.items():
            with self.subTest(name):
                report, junit = report_of(folder), self.junit(folder)
                page, summary = Page(text_of(folder, "index.html")), text_of(folder, "summary.md")
                failed, counts = failures_of(report), report["check_counts"]
                words = f"{counts['checks']} checks: {counts['passed']} passed, {counts['failed']} failed"
                self.assertEqual(len(report["checks"]), counts["checks"])
                consequences = consequences_of(report)
                hidden = sum(map(len, consequences.values()))
                self.assertEqual(hidden, counts["by_fault_of_another"])
                self.assertEqual(len(failed), counts["failed"] - hidden)
                # the verdict
                self.assertEqual(junit["verdict"], report["verdict"])
                self.assertTrue(page.text["h1"].lower().startswith(report["verdict"] + ":"))
                self.assertTrue(page.text["title"].endswith(", " + report["verdict"]))
                self.assertTrue(summary.splitlines()[0].endswith(" - " + report["verdict"]))
                # the failures
                self.assertEqual(junit["failures"], failed)
                self.assertEqual([tuple(re.fullmatch(r"(\S+) of (\S+) in (\S+)", f).groups()) for f in page.failures], failed)
                self.assertEqual(re.findall(r"^- \*\*(\w+)\*\* of `([^`]+)` in (\w+):", summary, re.M), failed)
                # the checks that fail by the fault of another, once in each file
                self.assertLessEqual(set(consequences), set(failed))
                for names in consequences.values():
                    said = f"This fault also fails {len(names)} other check{'s' * (len(names) > 1)}: {', '.join(names)}."
                    for file in ("summary.md", "index.html", "junit.xml"):
                        self.assertIn(said, text_of(folder, file).replace("\\_", "_"), file)
                # the counts
                self.assertTrue(page.text["counts"].startswith(words), page.text["counts"])
                self.assertIn("\n" + words, summary)
                self.assertEqual(junit["checks"], counts["checks"])
                self.assertEqual(junit["skipped"], counts["skipped"] + counts["uninformative"] + hidden)
                self.assertEqual(junit["complaints"], len(report["complaints"]))

    def test_expected_verdicts(self):
        verdicts = {name: report_of(folder)["verdict"] for name, folder in REPORTS.items()}
        self.assertEqual(verdicts, {"passing": "passed", "failing": "failed", "broken": "broken", "crashing": "broken",
                                    "last words": "failed", "not starting": "broken",
                                    "narrow": "passed", "nan": "failed", "wide": "failed", "hostile": "failed"})
        self.assertTrue(all(e.find("failure") is None for e in
                            xml.etree.ElementTree.parse(os.path.join(REPORTS["crashing"], "junit.xml")).iter("testcase")))
        self.assertTrue(report_of(REPORTS["narrow"])["check_counts"]["skipped"] > 0)

    def test_the_page_draws_what_the_report_says(self):
        for name, folder in REPORTS.items():
            drawn = drawn_checks(report_of(folder))
            points = [(int(a["data-from"]), float(a["data-ulp"])) for _, a in Page(text_of(folder, "index.html")).elements
                      if "data-from" in a]
            self.assertEqual(points, [(e["from"], e["largest_error_ulp"]) for c in drawn for e in c["error_along"]["steps"]], name)
            for c in drawn:
                if c["verdict"] == "failed" and not c["counterexample"]["actual"]:
                    continue  # no answer: nothing to draw
                # The law that comes nearest counts: an element beyond one law may be explained by another class.
                ratios = [min(float(r) for r in e["ratio_to_law"].values()) for e in c["error_along"]["steps"]]
                self.assertEqual(any(r * 1.25 > 2 for r in ratios), c["verdict"] == "failed")
                self.assertEqual(any(e["failed"] for e in c["error_along"]["steps"]), c["verdict"] == "failed")
                # the law at the element with the largest error explains it wherever it explains all elements
                for e in c["error_along"]["steps"]:
                    for law, allowed in e["law_ulp"].items():
                        if e["ratio_to_law"][law] != "inf" and e["ratio_to_law"][law] <= 1 and allowed != "inf":
                            self.assertLessEqual(e["largest_error_ulp"], allowed * (1 + 1e-12))

    def test_the_law_lines_never_fall_and_bound_what_their_law_explains(self):
        """In a picture y points down: larger coordinates are smaller errors."""
        drawn_lines = 0
        for name, folder in REPORTS.items():
            charts = text_of(folder, "index.html").split('<svg class="chart"')[1:]
            for chart, check in zip(charts, drawn_checks(report_of(folder))):
                points = [(float(x), float(y)) for x, y in re.findall(r'<circle class="point" .*?cx="(.*?)" cy="(.*?)"', chart)]
                for k, path in re.findall(r'<path class="law law(\d)" d="M([^"]*?)(?:h24)?"/>', chart.split("</g>")[0]):
                    line = [tuple(map(float, point.split())) for point in path.split("L")]
                    drawn_lines += len(line) > 1
                    self.assertEqual(line, sorted(line, key=lambda point: (point[0], -point[1])), name)
                    self.assertEqual([y for _, y in line], sorted((y for _, y in line), reverse=True), name)
                    law = ("uniform", "sequential", "tree", "linear", "cumsum")[int(k)]
                    if all(e["ratio_to_law"][law] != "inf" and e["ratio_to_law"][law] <= 1 for e in check["error_along"]["steps"]):
                        level = dict(line)
                        self.assertTrue(all(y >= level[x] - 0.1 for x, y in points if x in level), (name, law))
        self.assertGreaterEqual(drawn_lines, 8)


class JUnit(unittest.TestCase):
    def cases(self, name):
        root = xml.etree.ElementTree.parse(os.path.join(REPORTS[name], "junit.xml")).getroot()
        return root, list(root.iter("testcase"))

    def test_a_failure_says_what_is_wrong(self):
        """The sentence that stands at the head of the report, and not only the first wrong element."""
        for name in ("failing", "wide", "last words", "crashing"):
            report = report_of(REPORTS[name])
            checks = {(f"{c['operation']} {c['dtype']}", c["property"]): c for c in report["checks"]}
            said = 0
            for case in self.cases(name)[1]:
                check = checks.get((case.get("classname"), case.get("name")), {})
                found = case.find("failure") if case.find("failure") is not None else case.find("error")
                if found is None or not check:
                    continue
                self.assertEqual(found.get("message"), "; ".join(check.get("faults", [check["counterexample"]["message"]])))
                self.assertIn(" ".join(check["counterexample"]["message"].split()), " ".join(found.text.split()))
                for fault in check.get("faults", []):
                    self.assertTrue([f for f in report["findings"] if f.startswith(fault + " (") and check["operation"] in f])
                    said += 1
            self.assertTrue(said > 0 or name == "crashing", name)  # where no call is answered, the run as a whole says it
        said = [c.find("failure").get("message") for c in self.cases("failing")[1] if c.find("failure") is not None]
        self.assertEqual(said[0], "the initial state is ignored when there is more than one token")

    def test_each_case_has_its_time(self):
        for name, folder in REPORTS.items():
            root, cases = self.cases(name)
            times = [float(c.get("time")) for c in cases]
            self.assertAlmostEqual(sum(times), float(root.get("time")), delta=0.001 * (len(times) + 1))
            for suite in root:
                self.assertAlmostEqual(sum(float(c.get("time")) for c in suite), float(suite.get("time")),
                                       delta=0.001 * (len(suite) + 1))
            self.assertLessEqual(sum(times), report_of(folder)["run"]["seconds"] + 0.1, name)
        slow = self.cases("passing")[1]
        self.assertGreater(sum(float(c.get("time")) for c in slow), 0.0)


class Determinism(unittest.TestCase):
    def test_only_the_run_block_differs(self):
        def files(candidate):
            folder = Reports(FOLDER.name).gate("again", candidate, *ONE, expect=1)
            text = text_of(folder, "report.json")
            block = re.search(r'\n "run": \{[^}]*\},', text)
            page = text_of(folder, "index.html")
            line = re.search(r'<p id="run">.*?</p>', page)
            return text.replace(block[0], ""), page.replace(line[0], ""), re.sub(r' time="[\d.]+"', "", text_of(folder, "junit.xml")), text_of(folder, "summary.md")
        for candidate in ("builtin:mutant/global_shift", HOSTILE + " 'last words'"):
            self.assertEqual(files(candidate), files(candidate))


class Stderr(unittest.TestCase):
    """The last words of a candidate that broke stand in all four files and nowhere else."""

    def test_of_a_crash_in_a_check(self):
        folder = REPORTS["last words"]
        report, page, summary = report_of(folder), text_of(folder, "index.html"), text_of(folder, "summary.md")
        crashed = [c["counterexample"] for c in report["checks"] if c.get("counterexample", {}).get("kind") == "crash"]
        self.assertTrue(crashed)
        junit = xml.etree.ElementTree.parse(os.path.join(folder, "junit.xml"))
        for shown in (crashed[0]["stderr"], html.unescape(page), summary, junit.find(".//system-err").text):
            # The private folder, which differs from run to run, is gone; escape sequences are harmless.
            self.assertRegex(shown, r"(?m)^ *(<pre.*>)?</pre><script> `k` ``` \| in [0-9]+\.out\.safetensors\n *out of shared memory$")
            self.assertIn("\n", shown)
            self.assertNotIn("\x1b", shown)
        self.assertEqual(len(crashed[0]["stderr"].splitlines()), 20)
        self.assertNotIn("<script", page)
        # Within a fence that the text cannot close.
        self.assertRegex(summary, r"(?m)^  ````text\n(  .*\n)*?  </pre><script> .*\n  out of shared memory\n  ````$")
        wrong = [c["counterexample"] for c in report["checks"] if c.get("counterexample", {}).get("kind") == "wrong_result"]
        self.assertTrue(wrong)
        self.assertFalse([c for c in wrong if "stderr" in c])

    def test_of_a_replayed_crash(self):
        report = report_of(REPORTS["last words"])
        command = next(c["counterexample"]["replay"] for c in report["checks"]
                       if c.get("counterexample", {}).get("kind") == "crash")
        path = os.path.dirname(ASSAY) + ":" + os.environ["PATH"]
        done = subprocess.run(["sh", "-c", command], cwd=FOLDER.name, env={**os.environ, "PATH": path},
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, command + done.stderr)
        self.assertRegex(done.stdout, r"crash: ended with status 9\nits stderr ends:\n(.*\n){19}out of shared memory\n")
        self.assertNotIn("\x1b", done.stdout)

    def test_of_a_candidate_that_does_not_start(self):
        folder = REPORTS["not starting"]
        fault = report_of(folder)["start_fault"]
        self.assertEqual((fault["kind"], fault["stderr"]), ("crash", "cannot import name 'kernel'"))
        junit = xml.etree.ElementTree.parse(os.path.join(folder, "junit.xml"))
        self.assertEqual([(e.get("type"), e.get("message")) for e in junit.iter("error")],
                         [("crash", "the candidate did not start: crash: before its hello: ended with status 1")])
        for shown in (html.unescape(text_of(folder, "index.html")), text_of(folder, "summary.md"),
                      junit.find(".//system-err").text):
            self.assertIn("cannot import name 'kernel'", shown)

    def test_is_not_shown_where_it_does_not_help(self):
        for name in ("passing", "failing", "narrow", "nan", "hostile"):
            for file in ("report.json", "index.html", "summary.md", "junit.xml"):
                self.assertNotRegex(text_of(REPORTS[name], file).split("</style>")[-1], "(?i)stderr|system-err")


class Text(unittest.TestCase):
    def test_a_candidate_cannot_write_markup(self):
        folder = REPORTS["hostile"]
        report = report_of(folder)
        self.assertTrue(report["candidate"]["name"].startswith(HOSTILE_NAME.split("\n")[0]))
        page, summary, junit = (text_of(folder, f) for f in ("index.html", "summary.md", "junit.xml"))
        for text in (page, summary, junit):
            self.assertNotIn("<script", text)
            self.assertFalse(set(text) & {"\x01", "\x1b", "\u202e"})
        self.assertIn("&lt;script&gt;alert(1)&lt;/script&gt;", page)
        # Blocks end with the fence that they begin with; then spans of code go.
        summary = re.sub(r"^ *(```+)\w*\n(.*\n)*? *\1\n", "", summary, flags=re.M)
        outside_code = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", re.sub(r"\\.", "", summary))
        self.assertFalse(re.search(r"[`<]|@h|\*e\*|\[f\]", outside_code.replace("<details>", "").replace("</details>", "")
                                   .replace("<summary>", "").replace("</summary>", "")), outside_code[:500])
        message = xml.etree.ElementTree.fromstring(junit).find(".//failure").get("message")
        self.assertIn("a|b `c` ``d`` <script>alert(1)</script>", message)

    def rendered(self, markdown):
        """A summary in HTML as GitHub shows it: its own renderer, with its extensions."""
        done = subprocess.run(["cmark-gfm", "-e", "table", "-e", "strikethrough", "-e", "autolink", "-e", "tasklist"],
                              input=markdown, capture_output=True, text=True, check=True)
        return done.stdout

    def test_a_name_stays_the_name_in_rendered_markdown(self):
        """Headings, findings, complaints and lists of failures show the text of a candidate and nothing made of it."""
        name = "a|b*c_<img src=x> `d` ``e`` www.example.org [f][g] ![h](i) ~~j~~ &amp; \\ k@example.org\n- l"
        plain = name.replace("\n", " ")
        fault = "if states.shape[1] == 7: raise ValueError(" + repr(name) + ")"
        folder = Reports(FOLDER.name).gate("markdown", Reports(FOLDER.name).candidate("markdown.py", name=name, fault=fault),
                                           *ONE, "--property", "value", expect=1)
        page = self.rendered(text_of(folder, "summary.md"))
        heading = re.search(r"<h1>(.*?)</h1>", page)[1]
        said = [t for t in re.findall(r"<li>(.*?)\n", page) if "example" in t]
        self.assertGreaterEqual(len(said), 1, page[:2000])  # a finding, which a failure need not say again
        for text in (heading, *said):
            # A word with an @ is a code span: outside of one, GitHub notifies somebody.
            self.assertIn("<code>k@example.org</code>", text)
            text = re.sub(r"^<p>|</?strong>|<code>heinsen/scan</code>", "", text)
            text = text.replace("<code>k@example.org</code>", "k@example.org")
            self.assertNotRegex(text, r"<\w", text)
            self.assertIn(plain, html.unescape(text))

    def test_the_replay_command_works_where_the_gate_ran(self):
        report = report_of(REPORTS["failing"])
        commands = [c["counterexample"]["replay"] for c in report["checks"]
                    if "counterexample" in c and "by_fault_of" not in c]
        self.assertIn("'failing one'\\''s report/counterexamples/", commands[0])
        path = os.path.dirname(ASSAY) + ":" + os.environ["PATH"]
        for command in commands[:3]:
            done = subprocess.run(["sh", "-c", command], cwd=FOLDER.name, env={**os.environ, "PATH": path},
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, command + done.stderr)
        junit = xml.etree.ElementTree.parse(os.path.join(REPORTS["failing"], "junit.xml"))
        self.assertEqual([f.text.split("Replay: ")[1] for f in junit.iter("failure")], commands)

    def test_the_replay_command_can_be_pasted_from_every_file(self):
        """A report folder and a candidate with blanks and what a shell, a table or code would take for its own."""
        reports = Reports(FOLDER.name)
        candidate = reports.candidate("my  |file`s.py", fault="states += 1.0").replace(
            os.path.join(FOLDER.name, "my  |file`s.py"), "'my  |file`s.py'")
        folder = reports.gate("a report of $HOME", candidate, *ONE, "--property", "value", "--case-timeout", "7.5",
                              "--memory-limit", "1GiB", expect=1)
        command = report_of(folder)["checks"][0]["counterexample"]["replay"]
        self.assertTrue(command.endswith(" --case-timeout 7.5 --memory-limit 1073741824"), command)
        in_summary = re.findall(r"^  ```sh\n  (.*)\n  ```$", text_of(folder, "summary.md"), re.M)
        page = re.findall(r'<pre class="replay"><code>(.*?)</code></pre>', text_of(folder, "index.html"))
        junit = xml.etree.ElementTree.parse(os.path.join(folder, "junit.xml"))
        self.assertEqual(in_summary, [command])
        self.assertEqual([html.unescape(p) for p in page], [command])
        self.assertEqual([f.text.split("Replay: ")[1] for f in junit.iter("failure")], [command])
        path = os.path.dirname(ASSAY) + ":" + os.environ["PATH"]
        done = subprocess.run(["sh", "-c", command], cwd=FOLDER.name, env={**os.environ, "PATH": path},
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, command + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^value: .* failed$")

    def test_the_summary_of_a_passing_run_is_short(self):
        # All operations, in all their dtypes: how long a summary is depends on these, not on families and sizes.
        folder = Reports(FOLDER.name).gate("whole", "builtin:optimized", "--family", "mild", "--max-elements", "2000",
                                           expect=0)
        visible = re.sub(r"<details><summary>.*?</summary>.*?</details>", "", text_of(folder, "summary.md"), flags=re.S)
        self.assertLessEqual(len(visible.splitlines()), 60)
        self.assertLess(os.path.getsize(os.path.join(folder, "index.html")), 1 << 20)


if __name__ == "__main__":
    unittest.main()
