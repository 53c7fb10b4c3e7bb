#!/usr/bin/env python3
"""The command line as users meet it: exit codes, reports, and what it does with wrong input.

Run by CTest with ASSAY set to the program. Exit codes: 0 passed, 1 a check failed, 2 wrong input, 3 the
candidate broke.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ASSAY = os.environ["ASSAY"]
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "transports", "tests", "candidates", "hostile.py")


def run(*arguments, **environment):
    return subprocess.run([ASSAY, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment})


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.report = os.path.join(self.folder.name, "report")

    def tearDown(self):
        self.folder.cleanup()

    def gate(self, candidate, *arguments):
        # One operation in one dtype: these tests are about the command, not the checks.
        return run("gate", "--candidate", candidate, "--report", self.report, "--operation", "heinsen/scan",
                   "--dtype", "f32", *arguments)

    SMALL = ("--max-elements", "2000")  # no large sizes, where a test is not about them
    VALUE = ("--property", "value", *SMALL)  # one check, where a test needs no more
    VALUE_OF_ALL_SIZES = ("--property", "value")

    def read_report(self):
        with open(os.path.join(self.report, "report.json")) as file:
            return json.load(file)

    def known(self, text):
        """The path of a list of known failures."""
        path = os.path.join(self.folder.name, "known.txt")
        with open(path, "w") as file:
            file.write(text)
        return path


class Gate(Folder):
    def test_a_right_implementation_passes(self):
        done = self.gate("builtin:sequential")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = self.read_report()
        self.assertEqual(report["schema"], "assay-report/1")
        self.assertEqual(report["verdict"], "passed")
        self.assertEqual(report["footer"], "complete")
        self.assertEqual(list(report)[-1], "footer")
        classes = {(c["operation"], c["class"]) for c in report["accuracy_class"]}
        self.assertIn(("heinsen/scan", "sequential"), classes)
        self.assertTrue(all(check["cases"] > 0 for check in report["checks"]))
        self.assertTrue(report["horizon"][0]["marks"])
        with open(os.path.join(self.report, "summary.md")) as file:
            self.assertIn("passed", file.readline())

    def test_a_mutant_fails_and_its_counterexample_replays(self):
        done = self.gate("builtin:mutant/ignores_initial_state", *self.VALUE, "--property", "continuation")
        self.assertEqual(done.returncode, 1)
        report = self.read_report()
        failed = [c for c in report["checks"] if c["verdict"] == "failed"]
        self.assertTrue(failed)
        for check in failed:
            case = os.path.join(self.report, check["counterexample"]["replay"].split()[2])
            self.assertEqual(run("replay", case, "--candidate", "builtin:mutant/ignores_initial_state").returncode, 1)
            self.assertEqual(run("replay", case, "--candidate", "builtin:reference").returncode, 0)

    def test_the_same_seed_gives_the_same_report(self):
        texts = []
        for _ in range(2):
            self.gate("builtin:mutant/global_shift", "--seed", "5", *self.VALUE, "--property", "lanes")
            report = self.read_report()
            del report["run"]  # when, and for how long: the rest is compared in the order in which it was written
            texts.append(json.dumps(report))
        self.assertEqual(texts[0], texts[1])

    def test_a_new_report_keeps_no_old_counterexample(self):
        self.gate("builtin:mutant/ignores_initial_state", *self.VALUE)
        self.gate("builtin:sequential", *self.VALUE)
        self.assertEqual(os.listdir(os.path.join(self.report, "counterexamples")), [])

    def test_require_class(self):
        self.assertEqual(self.gate("builtin:cumsum", *self.VALUE, "--require-class", "uniform,sequential,tree").returncode, 1)
        self.assertIn("class cumsum", self.read_report()["complaints"][0])
        self.assertEqual(self.gate("builtin:cumsum", *self.VALUE, "--require-class", "cumsum").returncode, 0)
        self.assertEqual(self.gate("builtin:sequential", *self.VALUE, "--require-class", "uniform,sequential").returncode, 0)

    def test_anti_oracles_fail(self):
        self.assertEqual(self.gate("builtin:anti/previous_step", *self.VALUE).returncode, 1)

    def test_an_operation_that_is_not_offered_makes_the_run_red(self):
        done = run("gate", "--candidate", "builtin:optimized", "--report", self.report, "--operation", "rope/rotate",
                   "--dtype", "bf16")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not offered", " ".join(self.read_report()["complaints"]))

    def test_digits_of_means_are_told_of_wide_rows(self):
        # A row of one number may cancel: the report would say 1 digit of every right attention.
        done = run("gate", "--candidate", "builtin:sequential", "--report", self.report, "--operation", "attention/output",
                   "--dtype", "f32", *self.VALUE_OF_ALL_SIZES)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"digits of attention/output, mild inputs, in f32: [3-7] up to m = \d{5}")

    def test_integers_have_no_digits(self):
        done = run("gate", "--candidate", "builtin:optimized", "--report", self.report, "--operation", "t5_bias/bucket",
                   "--dtype", "f32", *self.VALUE)
        self.assertEqual(done.returncode, 0)
        self.assertIn("correct: every integer is the right one (t5_bias/bucket)", done.stdout)
        self.assertNotIn("none in some cases", done.stdout)

    def test_a_property_that_the_operation_lacks_is_named(self):
        done = run("gate", "--candidate", "builtin:optimized", "--report", self.report, "--operation", "heinsen/scan:vjp",
                   "--dtype", "f32", *self.VALUE)
        self.assertEqual(done.returncode, 1)
        complaint = " ".join(self.read_report()["complaints"])
        self.assertIn("heinsen/scan:vjp has none of the selected properties; there are", complaint)
        self.assertIn(" vjp", complaint)


class Findings(Folder):
    def findings(self, candidate, *arguments):
        self.gate(candidate, *arguments)
        findings = self.read_report()["findings"]
        with open(os.path.join(self.report, "summary.md")) as file:
            summary = file.read()
        for sentence in findings:
            self.assertIn(sentence, summary)
        return findings

    def test_one_sentence_for_one_fault(self):
        few = (*self.VALUE, "--property", "repeat", "--family", "mild")
        self.assertEqual(self.findings("builtin:mutant/first_token_does_not_decay", *few),
                         ["the first token does not decay s0 (heinsen/scan in f32)"])
        rounding, digits = self.findings("builtin:sequential", *few)
        self.assertRegex(rounding, r"^correct; .*: class (sequential|uniform) \(heinsen/scan in f32\)$")
        self.assertRegex(digits, r"^digits of heinsen/scan, mild inputs, in f32: \d up to n = \d+(, \d up to n = \d+)?$")

    def test_right_with_few_digits(self):
        self.assertIn("correct, but loses digits as the length grows, as prefix sums do: class cumsum",
                      " ".join(self.findings("builtin:cumsum", *self.VALUE, "--family", "gates_near_zero")))

    def test_nothing_is_called_right_under_a_failed_verdict(self):
        findings = self.findings("builtin:cumsum", *self.VALUE, "--family", "gates_near_zero",
                                 "--require-class", "uniform")
        self.assertIn("loses digits as the length grows, as prefix sums do", " ".join(findings))
        self.assertFalse([f for f in findings if f.startswith("correct")])


class Smoke(Folder):
    def smoke(self, candidate, operation, *arguments):
        done = run("gate", "--candidate", candidate, "--operation", operation, "--effort", "smoke", "--report", self.report,
                   *arguments)
        return done, {(c["operation"], c["dtype"], c["property"]) for c in self.read_report()["checks"]}

    def test_values_in_one_dtype(self):
        done, checks = self.smoke("builtin:sequential", "rope/rotate")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(checks, {("rope/rotate", "f32", "value"), ("rope/rotate:vjp", "f32", "vjp")})
        self.assertIn("A smoke run", done.stdout)
        checks = self.smoke("builtin:sequential", "rope/rotate", "--dtype", "bf16", "--property", "repeat")[1]
        self.assertEqual({dtype for _, dtype, _ in checks}, {"bf16"})
        self.assertNotIn("value", {name for _, _, name in checks})

    def test_it_finds_faults(self):
        for mutant, operation in (("rope_wrong_layout", "rope/rotate"), ("carries_input", "heinsen/scan")):
            with self.subTest(mutant):
                self.assertEqual(self.smoke(f"builtin:mutant/{mutant}", operation)[0].returncode, 1)


class Annotations(Folder):
    def test_each_fault_is_an_error_of_a_job(self):
        done = self.gate("builtin:mutant/carries_input", *self.VALUE, "--output-format", "github")
        faults = self.read_report()["findings"]
        errors = re.findall(r"^::error title=(.*?)::(.*)$", done.stdout, re.M)
        self.assertTrue(errors and faults, done.stdout)
        for title, text in errors:
            self.assertEqual(title, "Assay%3A heinsen/scan in f32")
            self.assertTrue(any(fault.startswith(text) for fault in faults), (text, faults))
        self.assertEqual(self.gate("builtin:sequential", *self.VALUE, "--output-format", "gitlab").returncode, 2)

    def test_they_name_the_file_of_the_candidate(self):
        with open(os.path.join(self.folder.name, "model.py"), "w") as file:
            file.write("def scan(log_p, h, s0):\n    raise ValueError('100% wrong,\\nor so')\n")
        done = subprocess.run([ASSAY, "gate", "--candidate", "python:model:scan", "--report", self.report, "--operation",
                               "heinsen/scan", "--dtype", "f32", "--output-format", "github", *self.VALUE],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=self.folder.name)
        errors = re.findall(r"^::error (.*?)::(.*)$", done.stdout, re.M)
        self.assertTrue(errors, done.stdout)
        self.assertTrue(all(where.startswith("file=model.py,title=Assay%3A ") for where, _ in errors), errors)
        self.assertTrue(any("100%25 wrong" in text for _, text in errors), errors)


class Snippets(Folder):
    def test_every_snippet_runs_and_shows_the_difference(self):
        self.gate("builtin:mutant/unguarded_infinite_prefix", "--dtype", "f64", *self.SMALL)
        failed = [c for c in self.read_report()["checks"] if "counterexample" in c]
        self.assertTrue(failed)
        for check in failed:
            path = os.path.join(self.report, check["counterexample"]["replay"].split()[2])[:-5] + ".py"
            with open(path) as file:
                self.assertEqual(file.read(), check["counterexample"]["snippet"])
            done = subprocess.run([sys.executable, path], capture_output=True, text=True)
            self.assertIn(done.returncode, (1,) if check["property"] in ("value", "vjp", "jvp") else (1, 2), done.stderr)
            if check["property"] == "value":
                self.assertIn("s expected", done.stdout)
                self.assertIn("nan", done.stdout)
            # The program returns the truth in place of the candidate's outputs: it passes, or its property needs other
            # calls.
            with open(path, "w") as file:
                file.write(check["counterexample"]["snippet"].replace("return recorded", "return expected"))
            mended = subprocess.run([sys.executable, path], capture_output=True, text=True)
            self.assertEqual(mended.returncode, 0 if check["property"] in ("value", "vjp", "jvp") else 2, mended.stdout)
            self.assertEqual("assay replay" in mended.stdout, mended.returncode == 2)

    def test_a_user_pastes_a_call(self):
        self.gate("builtin:mutant/ignores_initial_state", *self.VALUE)
        snippet = self.read_report()["checks"][0]["counterexample"]["snippet"]
        placeholder = "return recorded"
        self.assertIn(placeholder, snippet)
        path = os.path.join(self.folder.name, "pasted.py")
        right = """states = [s0]
    for i in range(h.shape[1]):
        states.append(np.logaddexp(log_p[:, i] + states[-1], h[:, i]))
    s, s_n = np.stack(states[1:], 1), states[-1]
    return """
        for answer, code, said in (
                ("{'s': s, 's_n': s_n}", 0, "s: 0 of "),
                ("{'s': s * 1.00002 + 0.00002, 's_n': s_n}", 1, "s_n: 0 of "),
                ("{'s': s * np.nan, 's_n': s_n}", 1, "s largest difference nan"),
                ("{'s': s[:, :-1], 's_n': s_n}", 1, "s: there is no output of the shape"),
                ("{'s': s}", 1, "s_n: there is no output of the shape")):
            with open(path, "w") as file:
                file.write(snippet.replace(placeholder, right + answer))
            done = subprocess.run([sys.executable, path], capture_output=True, text=True)
            self.assertEqual(done.returncode, code, answer + done.stdout + done.stderr)
            self.assertIn(said, done.stdout)
            self.assertIn("s_n", done.stdout)


class Selection(Folder):
    def test_only_the_named_properties_and_families_are_run(self):
        self.assertEqual(self.gate("builtin:sequential", "--property", "value", "--property", "repeat", "--family", "mild",
                                   "--family", "gap").returncode, 0)
        report = self.read_report()
        self.assertEqual({c["property"] for c in report["checks"]}, {"value", "repeat"})
        self.assertEqual({f for c in report["checks"] for f in c["families"]}, {"mild", "gap"})
        self.assertEqual(report["only"], {"properties": ["value", "repeat"], "families": ["mild", "gap"]})
        with open(os.path.join(self.report, "summary.md")) as file:
            self.assertIn("Only part", file.read())

    def test_lists_with_commas(self):
        run("gate", "--candidate", "builtin:sequential", "--operation", "heinsen/scan,heinsen/gated_scan", "--dtype",
            "f32,f64", "--property", "value,lanes", "--family", "mild,gates_near_one", *self.SMALL, "--report", self.report)
        checks = {(c["operation"], c["dtype"], c["property"], *c["families"]) for c in self.read_report()["checks"]}
        self.assertLessEqual({(operation, dtype, "value", "gates_near_one", "mild")
                              for operation in ("heinsen/scan", "heinsen/gated_scan") for dtype in ("f32", "f64")}, checks)
        self.assertEqual({c[2] for c in checks}, {"value", "lanes"})

    def test_a_filter_changes_no_case(self):
        self.gate("builtin:cumsum", *self.VALUE)
        filtered = self.read_report()["checks"][0]
        self.gate("builtin:cumsum", *self.SMALL)
        self.assertEqual(filtered, self.read_report()["checks"][0])


class Pinning(Folder):
    FEW = (*Folder.VALUE, "--property", "lanes", "--family", "mild", "--family", "gates_near_one")

    def few(self, candidate, *arguments):
        return self.gate(candidate, *self.FEW, *arguments)

    def baseline(self, candidate, change=None, gate=None):
        (gate or self.few)(candidate)
        path = os.path.join(self.folder.name, "baseline.json")
        report = self.read_report()
        if change:
            change(report)
        with open(path, "w") as file:
            json.dump(report, file)
        return path

    def test_nothing_worse_passes(self):
        self.assertEqual(self.few("builtin:sequential", "--baseline", self.baseline("builtin:sequential")).returncode, 0)
        self.assertEqual(self.few("builtin:sequential", "--baseline", self.baseline("builtin:cumsum")).returncode, 0)

    def test_a_worse_class(self):
        self.assertEqual(self.few("builtin:cumsum", "--baseline", self.baseline("builtin:sequential")).returncode, 1)
        self.assertIn("was of class sequential and is of class", " ".join(self.read_report()["complaints"]))

    def test_a_check_that_fails_now(self):
        path = self.baseline("builtin:sequential")
        self.assertEqual(self.few("builtin:mutant/ignores_initial_state", "--baseline", path).returncode, 1)
        self.assertIn("'value' of heinsen/scan in f32 passed and now is failed", " ".join(self.read_report()["complaints"]))

    def test_what_vanished(self):
        def more(report):
            report["candidate"]["operations"]["heinsen/lost"] = ["f32"]
            report["checks"].append({"property": "lost", "operation": "heinsen/scan", "dtype": "f32", "verdict": "passed"})

        path = self.baseline("builtin:sequential", more)
        self.assertEqual(self.gate("builtin:sequential", *self.VALUE, "--baseline", path).returncode, 0)
        self.assertEqual(run("gate", "--candidate", "builtin:sequential", "--report", self.report, "--dtype", "f32",
                             "--encoding", "heinsen", "--family", "mild", *self.SMALL, "--baseline", path).returncode, 1)
        complaints = " ".join(self.read_report()["complaints"])
        self.assertIn("heinsen/lost in f32 is not offered any more", complaints)
        self.assertIn("'lost' of heinsen/scan in f32 passed and was not run", complaints)

    def test_the_newest_list_is_that_of_the_program(self):
        self.few("builtin:sequential")
        self.assertTrue(run("--version").stdout.startswith(self.read_report()["candidate"]["written_for"] + "."))

    def test_a_baseline_of_another_list(self):
        def written_for_list(version):
            def change(report):
                report["candidate"].update(written_for=version)
                for entry in report["accuracy_class"]:  # Such that the error of today is larger.
                    entry.update(largest_error_ulp=-1)
            return change

        def gate(operation):
            return lambda candidate, *more: run("gate", "--candidate", candidate, "--report", self.report, "--operation",
                                                operation, "--dtype", "f32", "--effort", "quick", *self.SMALL, *more)

        for operation, version, is_left_out in (("heinsen/scan", "0.1", False), ("sinusoidal/table", "0.2", False),
                                                ("sinusoidal/table", "0.1", True)):
            with self.subTest(operation, version=version):
                path = self.baseline("builtin:sequential", written_for_list(version), gate(operation))
                done = gate(operation)("builtin:sequential", "--baseline", path)
                self.assertEqual(done.returncode, 0 if is_left_out else 1)
                said = [note for note in self.read_report()["warnings"] if "written for" in note]
                self.assertEqual(bool(said), is_left_out)
        self.assertIn("was written for 0.2 and the baseline's for 0.1: their cases of sinusoidal/table differ", said[0])
        path = self.baseline("builtin:sequential", written_for_list("0.1"))
        self.assertEqual(self.few("builtin:mutant/ignores_initial_state", "--baseline", path).returncode, 1)
        self.assertIn("'value' of heinsen/scan in f32 passed and now is failed", " ".join(self.read_report()["complaints"]))

    def test_a_baseline_that_is_none(self):
        for change in (lambda r: r.pop("footer"), lambda r: r.update(schema="x"), lambda r: r.update(checks=[1])):
            path = self.baseline("builtin:sequential", change)
            done = self.few("builtin:sequential", "--baseline", path)
            self.assertEqual(done.returncode, 2)
            self.assertIn("whole report", done.stderr)
        self.assertEqual(self.few("builtin:sequential", "--baseline", "/nonexistent").returncode, 2)

    def test_known_failures(self):
        mutant = "builtin:mutant/ignores_initial_state"
        self.assertEqual(self.few(mutant).returncode, 1)
        for word in ("", "failed", "wrong_result"):
            listed = f"# what is known\nvalue heinsen/scan f32 {word} # issue 12\n"
            self.assertEqual(self.few(mutant, "--known-failures", self.known(listed)).returncode, 0, word)
            self.assertEqual(self.read_report()["known_failures"][0]["reason"], "issue 12")
        as_json = {"known_failures": [{"property": "value", "operation": "heinsen/scan", "dtype": "f32", "reason": "12"}]}
        self.assertEqual(self.few(mutant, "--known-failures", self.known(json.dumps(as_json))).returncode, 0)

    def test_a_list_of_known_failures_cannot_rot(self):
        for candidate, line, words in (
                ("builtin:sequential", "value heinsen/scan f32 # fixed since", "listed as failed, but it is passed"),
                ("builtin:mutant/ignores_initial_state", "value heinsen/scan f32 crash # x", "listed as crash, but it is failed"),
                ("builtin:mutant/ignores_initial_state", "value heinsen/scan f32 wrong_shape # x", "listed as wrong_shape")):
            self.assertEqual(self.few(candidate, "--known-failures", self.known(line)).returncode, 1, line)
            self.assertIn(words, " ".join(self.read_report()["complaints"]))

    def test_what_is_known_of_what_was_not_asked_for(self):
        listed = self.known("value heinsen/scan f64 # x\nvalue rope/rotate f32 # x\nrepeat heinsen/scan f32 # x\n")
        self.assertEqual(self.few("builtin:sequential", "--known-failures", listed).returncode, 0)
        self.assertEqual(self.read_report()["known_failures"], [])
        done = run("gate", "--candidate", "builtin:sequential", "--report", self.report, "--operation", "heinsen/scan",
                   "--dtype", "f32", "--dtype", "f64", *self.FEW, "--known-failures", self.known("value heinsen/scan f64 # x"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("listed as failed, but it is passed", " ".join(self.read_report()["complaints"]))
        scan_alone = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../examples/numpy_step_loop.py")
        missed = run("gate", "--candidate", "process:/usr/bin/python3 " + scan_alone, "--report", self.report,
                     "--operation", "heinsen/scan", "--operation", "fox/decay", "--dtype", "f32", *self.FEW,
                     "--known-failures", self.known("value fox/decay f32 # x"))
        self.assertEqual(missed.returncode, 1)
        self.assertIn("listed as failed, but was not run", " ".join(self.read_report()["complaints"]))

    def changed(self, *arguments):
        """The complaints of a right program, held against a report of its own that was changed."""
        *more, change = arguments
        done = self.few("builtin:sequential", *more, "--baseline", self.baseline("builtin:sequential", change))
        complaints = " ".join(self.read_report()["complaints"])
        self.assertEqual(done.returncode, 1 if complaints else 0, complaints)
        return complaints

    def test_lost_digits_of_the_same_class(self):
        def value(report):
            return next(check for check in report["checks"] if check["property"] == "value")

        def errors_divided_by(factor):
            def change(report):
                for part in report["accuracy_class"]:
                    part["largest_error_ulp"] /= factor
            return change

        def share_divided_by(factor):
            def change(report):
                shares = value(report)["error_to_allowance"]
                shares["mild"] /= factor
            return change

        def more_digits(number):
            def change(report):
                value(report)["error_along"]["digits"] = [{"digits": 7 + number, "up_to": 1e9}]
            return change

        self.assertRegex(self.changed(errors_divided_by(2.5)),
                         r"the largest error of heinsen/scan in f32 was .* ulp and is .* ulp: more than twice, on the same")
        self.assertEqual(self.changed(errors_divided_by(1.5)), "")
        self.assertEqual(self.changed("--seed", "2", errors_divided_by(2.5)), "")
        self.assertRegex(self.changed(share_divided_by(50)),
                         r"the error of heinsen/scan in f32, family mild, took .* of its allowance and takes")
        self.assertEqual(self.changed(share_divided_by(1.01)), "")
        self.assertRegex(self.changed("--seed", "2", more_digits(1)), r"kept 8 digits up to 1000000000 \(number of tokens\), and keeps [0-6]")

    def test_no_other_seed_is_worse(self):
        baseline = self.baseline("builtin:cumsum")
        for seed in ("2", "3", "4"):
            self.assertEqual(self.few("builtin:cumsum", "--seed", seed, "--baseline", baseline).returncode, 0,
                             self.read_report()["complaints"])

    def test_required_digits(self):
        for candidate, wanted, code in (("tree", "6@1", 0), ("tree", "6@1024", 0), ("cumsum", "2@64", 0), ("cumsum", "7@64", 1),
                                        ("tree", "3@1048576", 1), ("tree", "3@64,6@2", 0), ("tree", "3@64,8@2", 1)):
            done = self.gate("builtin:" + candidate, *self.VALUE, "--family", "mild", "--require-digits", wanted)
            self.assertEqual(done.returncode, code, (candidate, wanted, self.read_report()["complaints"]))
        complaints = " ".join(self.read_report()["complaints"])
        self.assertEqual(complaints, "heinsen/scan in f32 must keep 8 digits up to 2 and keeps fewer everywhere")
        self.gate("builtin:tree", *self.VALUE, "--family", "mild", "--require-digits", "3@1048576")
        self.assertRegex(" ".join(self.read_report()["complaints"]), r"was tried only up to \d+ \(number of tokens\)")
        for wrong in ("6", "@3", "6@", "0@5", "6@0", "6@5x"):
            done = self.gate("builtin:tree", *self.VALUE, "--require-digits", wrong)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn("must be DIGITS@LENGTH", done.stderr)

    def test_a_list_that_is_none(self):
        for text in ("value heinsen/scan f32", "nothing heinsen/scan f32 # x", "value heinsen/x f32 # x", "{}",
                     "value heinsen/scan f8 # x", "value heinsen/scan f32 tired # x", "vjp heinsen/scan f32 # x",
                     "value heinsen/scan f32 unsupported # no failure"):
            done = self.few("builtin:sequential", "--known-failures", self.known(text))
            self.assertEqual(done.returncode, 2, text)
            self.assertIn("known.txt", done.stderr)
        self.assertIn("(there are: failed, error reply, bad output, crash, early exit, protocol, hang, memory limit; "
                      "or more precisely: wrong_result, error_reply, missing_file,", done.stderr)
        for path, words in ((self.folder.name, "cannot be read"), ("/dev/zero", "at most 4194304 bytes")):
            done = self.few("builtin:sequential", "--known-failures", path)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)


CANDIDATE = """
import sys
sys.path.insert(0, {adapters!r})
import numpy as np
from assay import Candidate
candidate = Candidate("test", properties={{"deterministic": True}})

@candidate.numpy("heinsen/scan", dtypes=["f32"]{options})
def scan(log_p, h, s0):
    s, states = s0.astype(float), np.zeros(h.shape)
    with np.errstate(all="ignore"):
        for i in range(h.shape[1]):
            states[:, i] = s = np.logaddexp(log_p[:, i].astype(float) + s, h[:, i].astype(float))
    {fault}
    return {{"s": states.astype(h.dtype), "s_n": s.astype(h.dtype)}}

candidate.serve()
"""


class OutsideCandidates(Folder):
    def candidate(self, fault="pass", options=""):
        path = os.path.join(self.folder.name, "candidate.py")
        adapters = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "adapters", "python")
        with open(path, "w") as file:
            file.write(CANDIDATE.format(adapters=adapters, fault=fault, options=options))
        return "process:/usr/bin/python3 " + path

    def test_a_fault_of_long_sequences_alone(self):
        # One row of 4096 tokens: the report gives the digits of this length, and no check has this size.
        done = self.gate(self.candidate("states[:] = np.nan if h.shape[:2] == (1, 4096) else states"), *self.SMALL)
        self.assertEqual(done.returncode, 1)
        self.assertIn("4096 tokens", self.read_report()["complaints"][0])

    def test_state_between_calls(self):
        remembers = "scan.calls = getattr(scan, 'calls', 0) + 1; states = states * (1 + 4e-7 * (scan.calls % 2))"
        done = self.gate(self.candidate(remembers), "--property", "repeat", "--family", "mild", *self.SMALL)
        self.assertEqual(done.returncode, 1)
        self.assertIn("state is kept between calls", self.read_report()["findings"][0])

    def test_lanes_that_mix(self):
        done = self.gate(self.candidate("states[1:] = states[:1]; s[1:] = s[:1]"), "--property", "lanes", *self.SMALL)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(self.read_report()["findings"])

    def test_known_failures_by_kind(self):
        # Short calls are answered.
        candidate = self.candidate("states = states[..., None] if h.shape[1] > 3 else states")
        for word, words in (("wrong_shape", None), ("bad output", None), ("wrong_dtype", "it is bad output (wrong_shape)"),
                            ("crash", "listed as crash, but it is bad output (wrong_shape)"),
                            ("", "listed as failed, but it is bad output (wrong_shape)")):
            done = self.gate(candidate, *self.VALUE, "--family", "mild", "--known-failures",
                             self.known(f"value heinsen/scan f32 {word} # issue 12"))
            self.assertEqual(done.returncode, 1 if words else 0, done.stdout)
            self.assertIn(words or "issue 12", done.stdout)

    EMPTY = (*Folder.VALUE, "--property", "empty_axes")

    def empty_axes_check(self):
        return next(c for c in self.read_report()["checks"] if c["property"] == "empty_axes")

    def test_a_refused_empty_axis_fails_nothing(self):
        done = self.gate(self.candidate("assert h.shape[1] > 0, 'no tokens'"), *self.SMALL)
        self.assertEqual(done.returncode, 0, done.stdout)
        report = self.read_report()
        self.assertRegex(report["findings"][-1], r"^does not take n = 0: AssertionError: no tokens \(candidate.py, line \d+, "
                         r"in scan\); all else was judged; empty=False declares it \(heinsen/scan in f32\)$")
        self.assertIn("does not take n = 0", done.stdout)
        check = self.empty_axes_check()
        self.assertEqual((check["verdict"], [r["axis"] for r in check["refused"]]), ("passed", ["n"]))
        # A candidate that refuses every empty axis is judged elsewhere, so that the run passes.
        done = self.gate(self.candidate("assert h.size > 0, 'nothing'"), *self.EMPTY)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("does not take B = 0, nor d = 0, nor n = 0: AssertionError: nothing", done.stdout)
        self.assertNotIn("all else was judged", done.stdout)
        check = self.empty_axes_check()
        self.assertEqual(check["verdict"], "skipped")
        self.assertIn("unsupported: it does not take B = 0, nor d = 0, nor n = 0: AssertionError: nothing", check["reason"])

    def test_a_list_that_knows_a_refusal_as_a_failure_is_out_of_date(self):
        listed = self.known("empty_axes heinsen/scan f32 error_reply # never")
        done = self.gate(self.candidate("assert h.shape[1] > 0"), *self.EMPTY, "--known-failures", listed)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is listed as error_reply, but it is passed", done.stdout)
        done = self.gate(self.candidate("assert h.shape[1] > 0", ", empty=True"), *self.EMPTY, "--known-failures", listed)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_an_empty_axis_that_is_taken_must_be_right(self):
        for fault, options, kind in (("states = states[..., None] if h.shape[1] == 0 else states", "", "wrong_shape"),
                                     ("s = s + (h.shape[1] == 0)", "", "wrong_result"),
                                     ("h.shape[1] or __import__('os')._exit(3)", "", "crash"),
                                     ("assert h.shape[1] > 0", ", empty=True", "error_reply")):
            with self.subTest(fault):
                self.assertEqual(self.gate(self.candidate(fault, options), *self.EMPTY).returncode, 1)
                self.assertEqual(self.empty_axes_check()["counterexample"]["kind"], kind)
                self.assertIn("n = 0: ", self.empty_axes_check()["counterexample"]["message"])

    def test_a_function_that_needs_width_is_not_broken(self):
        done = self.gate(self.candidate("assert h.shape[2] > 3, 'too narrow'"), *self.SMALL)
        self.assertEqual(done.returncode, 1)
        report = self.read_report()
        self.assertEqual((report["verdict"], report["adapter_faults"]), ("failed", []))
        self.assertRegex(report["findings"][0], r"^it does not survive calls where d is less than 4, such as heinsen/scan f32 "
                         r"B=1 d=[123] n=1 .*: error reply: AssertionError: too narrow .* \(heinsen/scan in f32\)$")

    def test_a_first_call_that_fails_is_told(self):
        # The usual size alone: no check would try it.
        done = self.gate(self.candidate("assert h.shape != (2, 8, 64), 'not this one'"), *self.VALUE)
        self.assertEqual(done.returncode, 1)
        check = self.read_report()["checks"][0]
        self.assertEqual(self.read_report()["complaints"], [])
        self.assertIn("heinsen/scan f32 B=2 d=64 n=8", check["counterexample"]["case"])

    def test_what_never_answers_is_broken_and_can_be_replayed(self):
        candidate = self.candidate("assert False, 'never'")
        done = self.gate(candidate, *self.SMALL)
        self.assertEqual(done.returncode, 3)
        report = self.read_report()
        self.assertRegex(report["complaints"][0], r"^heinsen/scan in f32 gives no outputs in any of \d+ calls, such as "
                         r"heinsen/scan f32 B=2 d=64 n=8 family mild seed 1: error reply: AssertionError: never")
        self.assertEqual([(c["property"], c["verdict"]) for c in report["checks"]], [("value", "failed")])
        counterexample = report["checks"][0]["counterexample"]
        self.assertEqual(counterexample["kind"], "error_reply")
        replayed = subprocess.run(shlex.split(counterexample["replay"].replace("assay ", ASSAY + " ", 1)), capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(replayed.returncode, 1, replayed.stderr)
        self.assertIn("AssertionError: never", replayed.stdout)

    def test_a_family_that_no_gradient_has_is_asked_of_outputs_alone(self):
        done = run("gate", "--candidate", "builtin:sequential", "--report", self.report, "--operation", "shaw/attention",
                   "--dtype", "f32", "--family", "nan_inside")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual({c["operation"] for c in self.read_report()["checks"] if c["verdict"] == "passed"},
                         {"shaw/attention"})

    def test_what_decides_nothing_says_why_and_what_helps(self):
        path = os.path.join(self.folder.name, "undecided.py")
        with open(path, "w") as file:
            file.write("import numpy, assay\n"
                       "ASSAY_DTYPES = ['f32']\n"
                       "@assay.candidate(operation='fox/decay', domain={'n': [1, 1]}, empty=False)\n"
                       "def one_token(log_f):\n"
                       "    return numpy.zeros((log_f.shape[0], log_f.shape[2], 1, 1), log_f.dtype)\n"
                       "@assay.candidate(operation='fox/decay')\n"
                       "def declines(log_f):\n"
                       "    raise assay.Unsupported('not today')\n")
        for function, words in (("one_token", "no check compared fox/decay in f32 with the truth, so that nothing says whether its "
                                 "values are right: in \\d+ cases a trivial answer, such as zeros, would pass, "
                                 "so that they prove nothing: declare a wider domain, or do not offer the operation"),
                                ("declines", "the candidate declined \\d+ cases as unsupported: declare its domain")):
            with self.subTest(function):
                done = run("gate", "--candidate", f"python:{path}:{function}", "--report", self.report,
                           "--max-elements", "2000", ASSAY_PYTHON="/usr/bin/python3")
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertRegex(" ".join(self.read_report()["complaints"]), words)
        self.assertIn("- `fox/decay` declined calls, which were not judged: not today\n", done.stdout)
        value = next(c for c in self.read_report()["checks"] if c["property"] == "value")
        self.assertEqual(value["declined"], [{"reason": "not today", "cases": value["skipped"]}])

    def test_large_cases_and_shapes(self):
        wrong_from_row_200 = "states = states.copy(); states[199:] += 1"
        self.assertEqual(self.gate(self.candidate(wrong_from_row_200), *self.VALUE_OF_ALL_SIZES).returncode, 1)
        wrong_at_one_shape = "states = states + (states.shape[:2] == (200, 44))"
        self.assertEqual(self.gate(self.candidate(wrong_at_one_shape), *self.VALUE_OF_ALL_SIZES).returncode, 0)
        done = self.gate(self.candidate(wrong_at_one_shape), *self.VALUE_OF_ALL_SIZES, "--shape", "B=200,n=44")
        self.assertEqual(done.returncode, 1)
        self.assertIn("B=200", self.read_report()["checks"][0]["counterexample"]["case"])
        wrong_in_large_calls = "states = states + (states.size > 3000 and states.shape[-1] > 4)"
        self.assertEqual(self.gate(self.candidate(wrong_in_large_calls), *self.VALUE_OF_ALL_SIZES).returncode, 1)
        done = self.gate(self.candidate(wrong_in_large_calls), *self.VALUE)
        self.assertEqual(done.returncode, 0)
        words = "usual sizes of kernels with more than 2000 elements were not tried"
        self.assertIn(words, self.read_report()["warnings"])
        self.assertIn(words, done.stdout)

    def test_wrong_shapes(self):
        for shape, word in (("B", "no size"), ("B=0", "no size"), ("B=2,B=3", "no size"), ("heads=3", "no selected operation"),
                            ("B=100000,n=100000", "--max-elements")):
            done = self.gate("builtin:sequential", "--operation", "heinsen/scan", "--shape", shape)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(word, done.stderr)

    def test_a_shape_concerns_what_is_offered(self):
        def gate(shape):
            return run("gate", "--candidate", self.candidate(), *self.VALUE_OF_ALL_SIZES, "--family", "mild", "--shape", shape,
                       "--report", self.report)

        # Other operations of Assay have these axes; the candidate offers the scan alone.
        done = gate("h=8")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("no offered operation has all of these axes (heinsen/scan has B, d, n)", done.stderr)
        # Nor does the size that another operation would have concern it.
        self.assertEqual(gate("n=20000").returncode, 0)
        done = self.gate("builtin:optimized", "--operation", "heinsen/scan", "--operation", "fox/decay", "--property",
                         "value", "--dtype", "f32", "--family", "mild", "--shape", "h=3")
        self.assertEqual(done.returncode, 0, done.stdout)
        warned = [w for w in self.read_report()["warnings"] if "--shape" in w]
        self.assertEqual(warned, ["--shape h=3 was not tried: heinsen/scan has B, d, n"])

    def test_nothing_is_sent_outside_a_declared_domain(self):
        done = self.gate(self.candidate("assert np.all(abs(h) <= 3) and np.all(abs(s0) <= 3) and np.all(log_p >= -3)",
                                        ", domain={'h': [-3, 3], 's0': [-3, 3], 'log_p': [-3, 0]}"), *self.SMALL)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_requests_that_are_not_offered(self):
        for more in (["--operation", "heinsen/gated_scan"], ["--operation", "heinsen/scan:vjp"], ["--dtype", "f16"]):
            done = self.gate(self.candidate(), *self.VALUE, "--property", "vjp", *more)
            self.assertEqual(done.returncode, 1, more)
            self.assertIn("not offered", self.read_report()["complaints"][0])
        self.assertEqual(self.gate(self.candidate(), *self.VALUE).returncode, 0)

    def shares(self, fault, words):
        """The shares in the sentence of the report, for errors at and below the largest one that is no bug."""
        few = (*self.VALUE, "--family", "mild")
        self.assertEqual(self.gate(self.candidate(), *few).returncode, 0)
        right = os.path.join(self.folder.name, "right.json")
        shutil.copy(os.path.join(self.report, "report.json"), right)
        low, high = 0.0, 12.0
        while high - low > 0.1:  # log2 of the error in units of 2^-24
            middle = (low + high) / 2
            passed = self.gate(self.candidate(fault.format(2.0 ** (middle - 24))), *few).returncode == 0
            low, high = (middle, high) if passed else (low, middle)
        self.assertGreater(low, 0.0)
        shares = []
        for size in (low, low - 0.3, low - 1):
            self.assertEqual(self.gate(self.candidate(fault.format(2.0 ** (size - 24))), *few).returncode, 0)
            findings = self.read_report()["findings"]
            shares.append([float(f.split(words)[1].split(" times")[0]) for f in findings if words in f])
        self.gate(self.candidate(fault.format(2.0 ** (low - 24))), *few, "--baseline", right)
        self.assertRegex(" ".join(self.read_report()["complaints"]), r"was of class \w+ and is of no class")
        return shares

    def test_between_the_slack_of_classes_and_of_bugs(self):
        # Between 1.25 and 2 times the widest law: no bug, and no class.
        most, more, little = self.shares("states = states * (1 + {})", "suspicious: its error is ")
        for shares in (most, more):
            self.assertEqual(len(shares), 1)
            self.assertTrue(1.25 < shares[0] <= 2, shares)
        self.assertLess(more[0], most[0])
        self.assertEqual(little, [])

    def test_a_killed_run_leaves_no_earlier_verdict(self):
        self.assertEqual(self.gate("builtin:sequential", *self.VALUE).returncode, 0)
        with self.assertRaises(subprocess.TimeoutExpired):
            subprocess.run([ASSAY, "gate", "--candidate", self.candidate(), "--report", self.report, "--effort", "full"],
                           capture_output=True, stdin=subprocess.DEVNULL, timeout=2)
        self.assertEqual(os.listdir(self.report), ["counterexamples"])


class WrongInput(Folder):
    def refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(os.path.exists(self.report))

    def test_command_line(self):
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run("gate").returncode, 2)
        self.assertEqual(run("list", "nonsense").returncode, 2)
        self.assertEqual(run("--help").returncode, 0)
        self.refused(self.gate("nonsense"), "nonsense", "builtin:NAME")
        self.refused(self.gate("builtin:sequentiel"), "sequentiel", "near: sequential", "list builtins")
        self.refused(self.gate("process:a | b"), "a | b")
        self.refused(self.gate("builtin:optimized", "--effort", "infinite"), "infinite", "quick")
        self.refused(self.gate("builtin:optimized", "--dtype", "f8"), "f8")
        self.refused(self.gate("builtin:optimized", "--operation", "heinsen/nothing"), "heinsen/nothing")
        self.refused(self.gate("builtin:optimized", "--encoding", "nothing"), "nothing")
        self.refused(self.gate("builtin:optimized", "--require-class", "perfect"), "perfect")
        self.refused(self.gate("builtin:optimized", "--property", "beauty"), "beauty", "value")
        self.refused(self.gate("builtin:optimized", "--family", "royal"), "royal", "mild")
        for option, written, near in (("--operation", "heinsen/scn", "heinsen/scan"), ("--encoding", "hensen", "heinsen"),
                                      ("--property", "valu", "value"), ("--family", "mildd", "mild"),
                                      ("--effort", "ful", "full"), ("--require-class", "sequental", "sequential")):
            self.refused(run("gate", "--candidate", "builtin:optimized", option, written, "--report", self.report),
                         f"near: {near}")
        self.refused(self.gate("builtin:optimised"), "near: optimized;")
        for words, near in ((["gat"], "'gat': near: gate"), (["golden", "mak"], "'mak': near: make"),
                            (["gate", "--candidte=builtin:optimized"], "'--candidte': near: --candidate")):
            self.refused(run(*words), near)
        self.assertNotIn("near:", run("gate").stderr)
        for words in ((), ("gate",), ("golden", "make")):
            helped, own_help = run("help", *words), run(*words, "--help")
            self.assertEqual((helped.returncode, helped.stdout), (0, own_help.stdout))
        for seed in ("-1", "1.5", "x", "18446744073709551616", "99999999999999999999999"):
            self.refused(self.gate("builtin:optimized", "--seed", seed), "2^64")
        for size in ("0", "-1", "-4GiB", "0GiB", "x", "18446744073709551616", "99999999999999999999KiB"):
            self.refused(self.gate("builtin:optimized", "--memory-limit", size), "2^64")
        for cases in ("0", "-1", "1.5", "x", "18446744073709551616", "99999999999999999999999"):
            self.refused(run("mutants", "mutant/drops_nan", "--cases", cases, "--out", self.report), "--cases")
            self.refused(run("detectability", "--cases", cases), "--cases")
        for timeout in ("-1", "0", "nan", "1e300"):
            self.refused(self.gate("builtin:optimized", "--case-timeout", timeout))
        self.refused(run("gate", "--candidate", "builtin:optimized", "--report", self.report, ASSAY_TARGET="pdp11"), "pdp11")
        self.refused(run("--target", "pdp11", "gate", "--candidate", "builtin:optimized", "--report", self.report), "pdp11")

    def test_a_report_folder_that_cannot_be_made(self):
        occupied = os.path.join(self.folder.name, "file")
        open(occupied, "w").close()
        done = run("gate", "--candidate", "builtin:sequential", "--report", os.path.join(occupied, "report"),
                   "--operation", "heinsen/scan", "--dtype", "f32")
        self.assertEqual(done.returncode, 2)
        self.assertIn(occupied, done.stderr)

    def replayed(self, text, *arguments):
        path = os.path.join(self.folder.name, "case.json")
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else json.dumps(text).encode())
        return run("replay", path, "--candidate", "builtin:reference", *arguments)

    def valid_case(self):
        return {"schema": "assay-case/1", "property": "value", "operation": "heinsen/scan", "dtype": "f32",
                "inputs": {"log_p": {"shape": [1, 1, 1], "values": ["-0x1p+0"]},
                           "h": {"shape": [1, 1, 1], "values": ["-inf"]},
                           "s0": {"shape": [1, 1], "values": ["0.5"]}}}

    def test_replay_refuses_what_is_no_case(self):
        self.assertEqual(self.replayed(self.valid_case()).returncode, 0)
        self.refused(run("replay", os.path.join(self.folder.name, "none.json"), "--candidate", "builtin:reference"), "none.json")
        self.refused(run("replay", self.folder.name, "--candidate", "builtin:reference"), self.folder.name)
        self.refused(self.replayed(b""), "case.json")
        self.refused(self.replayed(b"[]"), "case.json")
        self.refused(self.replayed(b'{"schema": 1, "schema": 2}'), "case.json", "byte")
        self.refused(self.replayed(b'{"schema": "\xff"}'), "case.json", "byte")
        whole = json.dumps(self.valid_case()).encode()
        for length in range(0, len(whole), 7):
            self.refused(self.replayed(whole[:length]), "case.json")

    def test_replay_names_what_is_wrong(self):
        def changed(change):
            case = self.valid_case()
            change(case)
            return self.replayed(case)

        self.refused(changed(lambda c: c.update(schema="assay-case/9")), "assay-case/9")
        self.refused(changed(lambda c: c.update(property="beauty")), "beauty")
        self.refused(changed(lambda c: c.update(property="vjp")), "says nothing about heinsen/scan")
        self.refused(changed(lambda c: c.update(operation="heinsen/none")), "heinsen/none")
        self.refused(changed(lambda c: c.update(dtype="i64")), "i64")
        self.refused(changed(lambda c: c["inputs"].pop("h")), "'h' is missing")
        self.refused(changed(lambda c: c["inputs"].update(x=c["inputs"]["h"])), "unknown input 'x'")
        self.refused(changed(lambda c: c["inputs"]["s0"].update(shape=[1, 2])), "s0", "2 values, 1 came")
        self.refused(changed(lambda c: c["inputs"].update(s0={"shape": [1, 2], "values": ["0", "0"]})), "'s0'", "d = 1")
        self.refused(changed(lambda c: c["inputs"]["s0"].update(values=[0.5])), "s0", "0.5")
        self.refused(changed(lambda c: c["inputs"]["s0"].update(values=["half"])), "s0", "half")
        self.refused(changed(lambda c: c["inputs"]["s0"].update(values=["0.1"])), "s0", "no value of f32")
        self.refused(changed(lambda c: c["inputs"]["s0"].update(shape=[2 ** 40, 2 ** 40])), "too large")
        self.refused(changed(lambda c: c["inputs"]["h"].update(shape=[0, 2 ** 64 - 1, 1], values=[])), "too large")

    def test_strict_names_tensor_and_index(self):
        case = self.valid_case()
        case["inputs"]["log_p"]["values"] = ["0x1p+0"]  # log p > 0: the IEEE-consistent result, unless strict
        self.assertEqual(self.replayed(case).returncode, 0)
        self.refused(self.replayed(case, "--strict"), "'log_p'", "[0, 0, 0]")
        case["inputs"]["log_p"]["values"] = ["nan"]
        self.assertEqual(self.replayed(case).returncode, 0)
        self.refused(self.replayed(case, "--strict"), "'log_p'")


class BrokenCandidates(Folder):
    def broken(self, command, *arguments):
        done = self.gate("process:" + command, *arguments)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        report = self.read_report()
        self.assertEqual((report["verdict"], report["footer"]), ("broken", "complete"))
        return report

    def test_never_started(self):
        report = self.broken("/nonexistent/program")
        self.assertIn("/nonexistent/program", report["complaints"][0])

    def test_speaks_no_protocol(self):
        self.broken("/bin/echo hello")
        self.broken("/bin/true")

    def test_keeps_crashing(self):
        self.broken("/usr/bin/python3 " + HOSTILE + " crash")

    def test_hangs(self):
        self.broken("/usr/bin/python3 " + HOSTILE + " hang", "--case-timeout", "0.1")


class Mutants(unittest.TestCase):
    def test_who_kills_one_and_what_is_not_modelled(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("mutants", "mutant/alibi_wrong_sign", "--cases", "2", "--out", folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(folder, "kills.json")) as file:
                kills = json.load(file)
            with open(os.path.join(folder, "kills.md")) as file:
                table = file.read()
        self.assertEqual([m["mutant"] for m in kills["mutants"]], ["mutant/alibi_wrong_sign"])
        self.assertIn("value", [kill["property"] for kill in kills["mutants"][0]["kills"]])
        self.assertTrue(kills["not_modelled"])
        for report in kills["not_modelled"]:
            self.assertIn("| %s | %s | %s |" % (report["encoding"], report["report"], report["reason"]), table)


class Find(unittest.TestCase):
    def test_code_is_found_by_its_name(self):
        for words, wanted in {"Llama 3.1": 'scaling = "llama3"', "gemma-3": "window_left = 1023", "qwen3": "base = 1e+06",
                              "DeepSeek V3": "mscale_all_dim", "gpt_oss": "attention/sinks", "t5": "t5_bias/bias",
                              "bert": "learned/embed", "ViT": "learned/embed", "dinov3": "coordinates/rotate",
                              "whisper": "sinusoidal/table", "flash attention": "attention/lse", "SDPA": "attention/output",
                              "flex_attention": "attention/output", "xformers": "attention/output", "vllm": "rope/rotate",
                              "flashinfer": 'base = "2"', "fla": "fox/attention", "cudnn": "attention/output",
                              "apply_rotary_pos_emb": "rope/rotate", "inv_freq": "rope/frequencies",
                              "alibi_slopes": "alibi/slopes", "compute_bias": "t5_bias/bias"}.items():
            with self.subTest(words):
                done = run("find", *words.split())
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(wanted, done.stdout.split("\n\n")[0])  # the first that is found

    def test_what_is_printed_is_python(self):
        checks = re.findall(r"^ +(assay\.check.*)$", run("find", "attention").stdout, re.M)
        self.assertTrue(checks)
        for check in checks:
            compile(check, "found", "eval")

    def test_words_of_a_setting_find_operations(self):
        self.assertIn("assay list operations deberta/scores", run("find", "p2c_index").stdout)

    def test_what_nobody_knows_is_said(self):
        for words in (["xyzzy"], [], ["..."]):
            with self.subTest(words):
                done = run("find", *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(done.stderr.startswith("assay: "))


class Lists(unittest.TestCase):
    def test_lists(self):
        for what in ("encodings", "operations", "properties", "mutants", "families", "builtins"):
            done = run("list", what)
            self.assertEqual(done.returncode, 0)
            self.assertTrue(done.stdout.strip())
        self.assertIn("heinsen/scan:vjp", run("list", "operations").stdout)
        self.assertIn("mutant/carries_input", run("list").stdout)

    def test_an_operation_says_what_each_input_and_setting_is(self):
        done = run("list", "operations", "rope/rotate", "alibi")
        self.assertRegex(done.stdout, r"(?m)^    layout +which coordinates .*\n +\"interleaved\", \"half_split\"$")
        self.assertRegex(done.stdout, r"(?m)^alibi/attention$")
        for operation in json.loads(run("list", "operations", "--json").stdout):
            for named in operation["attributes"] + operation["inputs"] + operation["outputs"]:
                self.assertTrue(named["meaning"], (operation["name"], named["name"]))
        wrong = run("list", "operations", "rope/turn")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("unknown operation 'rope/turn'", wrong.stderr)
        self.assertEqual(run("list", "families", "mild").returncode, 2)

    def test_encodings_say_what_they_are(self):
        settings = {d["name"]: {a["name"] for a in d["attributes"] + d["inputs"]}
                    for d in json.loads(run("list", "operations", "--json").stdout)}
        encodings = {operation.split("/")[0] for operation in settings}
        text, table, page = (run("list", "encodings", *form).stdout for form in ((), ("--markdown",), ("--page",)))
        self.assertEqual({line.split()[0] for line in text.splitlines() if not line.startswith(" ")}, encodings)
        self.assertEqual(len(table.splitlines()), 2 + len(encodings))
        sections = {section.splitlines()[0].strip("`"): section for section in page.split("\n## ")[1:]}
        self.assertEqual(set(sections), encodings)
        for encoding, section in sections.items():
            with self.subTest(encoding):
                self.assertIn(re.search(r"^    (.+)$", section, re.MULTILINE)[1], text)
                self.assertIn(f"(../golden/sets/{encoding})", section)
                for other in re.findall(r"^- \*\*has also\*\*: (.+)$", section, re.MULTILINE):
                    operation = re.findall(rf"{encoding}/\w+", other)
                    self.assertTrue(operation, other)
                    self.assertLessEqual(set(re.findall(r"`(\w+)`", other)), set().union(*map(settings.get, operation)))

    def test_a_form_that_a_list_has_not_is_refused(self):
        for words in (("encodings", "--json"), ("operations", "--page"), ("mutants", "--markdown"), ("--page",)):
            with self.subTest(words):
                done = run("list", *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("--page for: assay list encodings", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
