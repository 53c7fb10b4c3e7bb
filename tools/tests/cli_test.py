#!/usr/bin/env python3
"""The command line as users meet it: exit codes, reports, and what it does with wrong input.

Run by CTest with ASSAY set to the program. Exit codes: 0 passed, 1 a check failed, 2 wrong input, 3 the
candidate broke.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ASSAY = os.environ["ASSAY"]
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "transports", "tests", "candidates", "hostile.py")


def run(*arguments, **environment):
    return subprocess.run([ASSAY, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment}, timeout=300)


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

    def read_report(self):
        with open(os.path.join(self.report, "report.json")) as file:
            return json.load(file)


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
        done = self.gate("builtin:mutant/ignores_initial_state")
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
            self.gate("builtin:mutant/global_shift", "--seed", "5")
            with open(os.path.join(self.report, "report.json")) as file:
                texts.append(file.read())
        self.assertEqual(texts[0], texts[1])

    def test_a_new_report_keeps_no_old_counterexample(self):
        self.gate("builtin:mutant/ignores_initial_state")
        self.gate("builtin:sequential")
        self.assertEqual(os.listdir(os.path.join(self.report, "counterexamples")), [])

    def test_require_class(self):
        self.assertEqual(self.gate("builtin:cumsum", "--require-class", "uniform,sequential,tree").returncode, 1)
        self.assertIn("class cumsum", self.read_report()["complaints"][0])
        self.assertEqual(self.gate("builtin:cumsum", "--require-class", "cumsum").returncode, 0)
        self.assertEqual(self.gate("builtin:sequential", "--require-class", "uniform,sequential").returncode, 0)

    def test_anti_oracles_fail(self):
        self.assertEqual(self.gate("builtin:anti/previous_step").returncode, 1)

    def test_an_operation_that_is_not_offered_makes_the_run_red(self):
        done = run("gate", "--candidate", "builtin:optimized", "--report", self.report, "--operation", "heinsen/scan",
                   "--dtype", "bf16")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not offered", " ".join(self.read_report()["complaints"]))


CANDIDATE = """
import sys
sys.path.insert(0, {adapters!r})
import numpy as np
from assay_host import Candidate
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
        done = self.gate(self.candidate("states[:, 2200:] = np.nan"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("4096 tokens", self.read_report()["complaints"][0])

    def test_nothing_is_sent_outside_a_declared_domain(self):
        done = self.gate(self.candidate("assert np.all(abs(h) <= 3) and np.all(abs(s0) <= 3) and np.all(log_p >= -3)",
                                        ", domain={'h': [-3, 3], 's0': [-3, 3], 'log_p': [-3, 0]}"))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_requests_that_are_not_offered(self):
        for more in (["--operation", "heinsen/gated_scan"], ["--operation", "heinsen/scan:vjp"], ["--dtype", "f16"]):
            self.assertEqual(self.gate(self.candidate(), *more).returncode, 1, more)
            self.assertIn("not offered", self.read_report()["complaints"][0])
        self.assertEqual(self.gate(self.candidate()).returncode, 0)

    def test_a_killed_run_leaves_no_earlier_verdict(self):
        self.assertEqual(self.gate("builtin:sequential").returncode, 0)
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
        self.refused(self.gate("builtin:nonsense"), "nonsense", "optimized")
        self.refused(self.gate("process:a | b"), "a | b")
        self.refused(self.gate("builtin:optimized", "--effort", "infinite"), "infinite", "quick")
        self.refused(self.gate("builtin:optimized", "--dtype", "f8"), "f8")
        self.refused(self.gate("builtin:optimized", "--operation", "heinsen/nothing"), "heinsen/nothing")
        self.refused(self.gate("builtin:optimized", "--encoding", "nothing"), "nothing")
        self.refused(self.gate("builtin:optimized", "--require-class", "perfect"), "perfect")
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


class Lists(unittest.TestCase):
    def test_lists(self):
        for what in ("encodings", "operations", "properties", "mutants", "families", "builtins"):
            done = run("list", what)
            self.assertEqual(done.returncode, 0)
            self.assertTrue(done.stdout.strip())
        self.assertIn("heinsen/scan:vjp", run("list", "operations").stdout)
        self.assertIn("mutant/carries_input", run("list").stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
