#!/usr/bin/env python3
"""Every way in which a candidate may misbehave, through `assay gate`: the verdict, a whole report, nothing left over.

Run by CTest with ASSAY set to the program.
"""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
import xml.etree.ElementTree

ASSAY = os.environ["ASSAY"]
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "transports", "tests", "candidates", "hostile.py")
LARGE = os.path.join(os.path.dirname(HOSTILE), "large.py")
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report", "report.schema.json")

# behaviour: the kind of the fault in report.json (None: no fault), words that the complaints must have.
BROKEN = {
    "crash": ("crash", "crash: ended by signal 11"),
    "orphan holds stdout": ("crash", "crash: ended with status 7"),
    "hang": ("hang", "hang: no answer within"),
    "early exit": ("early_exit", "early exit: ended with status 0"),
    "goodbye": ("early_exit", "early exit: ended with status 0"),
    "close stdout": ("closed_stdout", "closed its stdout but went on running"),
    "malformed reply": ("malformed_reply", "malformed answer: byte 16: must be valid JSON"),
    "duplicate keys": ("malformed_reply", "malformed answer: byte 8: keys must not repeat"),
    "reply without ok": ("malformed_reply", "malformed answer: ok must be true or false"),
    "wrong id": ("wrong_id", "answer to call 2 where call 1 was asked"),
    "wrong shape": ("wrong_shape", "output 's' must have shape"),
    "wrong size": ("wrong_shape", "output 's_n' must have shape [2, 64] but has [3, 65]"),
    "wrong dtype": ("wrong_dtype", "output 's' must be f32 but is f64"),
    "missing output": ("missing_output", "output 's_n' is missing"),
    "extra output": ("unknown_output", "unknown output 't'"),
    "no file": ("missing_file", "cannot be opened: No such file"),
    "truncated file": ("truncated_file", "must lie within the file"),
    "oversized header": ("oversized_file", "header must have at most"),
    "oversized file": ("oversized_file", "every byte behind the header must belong to a tensor"),
    "symlink output": ("bad_file", "not a symbolic link"),
    "fifo output": ("bad_file", "must be a regular file"),
    "directory output": ("bad_file", "must be a regular file"),
    "error reply": ("error_reply", "error reply: the kernel needs d = 64"),
    "endless line": ("malformed_reply", "a message longer than"),
    "memory hog": ("memory_limit", "memory limit: resident memory above"),
    "grandchild hog": ("memory_limit", "memory limit: resident memory above"),
    "silent hello": ("silent_hello", "hang: before its hello"),
    "no json hello": ("malformed_hello", "malformed hello: byte 1: must be valid JSON"),
    "wrong protocol": ("malformed_hello", "malformed hello: hello.protocol must be 1"),
    "nameless": ("malformed_hello", "malformed hello: hello.name"),
    "unknown dtype": ("malformed_hello", "malformed hello: hello.operations['heinsen/scan']: unknown dtype 'float32'"),
    "domain of nothing": ("malformed_hello", "malformed hello: hello.domain['heinsen/scam']"),
    "unknown input": ("malformed_hello", "['logp'] is no input, setting or axis of heinsen/scan; known: log_p, h, s0, state, B, d, n"),
    "no candidate": ("error_reply", "error reply: it needs the package 'kernel'"),
    "crash at hello": ("crash", "crash: before its hello: ended with status 1"),
}
FAILED = {
    "crash once": ("crash", "failed in a first call, and no check met that again: crash: ended with status 3"),
    "nan flood": ("nan_flood", "NaN flood: heinsen/scan in f32 gives NaN"),
    "crash on long": ("crash", "the candidate kept breaking"),
    "ignores the end": ("hang", ""),  # the first call is answered: a check says it
    "unsupported": (None, "executed no core check"),
}
# The outputs are zeros, so that numerics fail and nothing else does.
NO_FAULT = ["correct", "banners", "stderr flood", "grandchild", "everything", "unknown operation"]


class Hostile(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.temporary = os.path.join(self.folder.name, "tmp")
        self.start = os.path.join(self.folder.name, "cwd")
        self.report = os.path.join(self.folder.name, "report")
        os.mkdir(self.temporary)
        os.mkdir(self.start)
        self.marker = "ASSAY_HOSTILE_TEST=" + uuid.uuid4().hex

    def tearDown(self):
        self.folder.cleanup()

    def left_over(self):
        """Living processes that carry this test's mark in their environment."""
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as file:
                    marked = self.marker.encode() in file.read()
                with open(os.path.dirname(path) + "/stat") as file:
                    alive = file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
            except OSError:
                continue
            if marked and alive:
                found.append(path)
        return found

    def start_gate(self, behaviour, *arguments, case_timeout="0.25", memory="200MiB"):
        name, value = self.marker.split("=")
        candidate = behaviour if behaviour.startswith("python:") else f"process:/usr/bin/python3 {HOSTILE} '{behaviour}'"
        return subprocess.Popen(
            [ASSAY, "gate", "--candidate", candidate, "--operation",
             "heinsen/scan", "--dtype", "f32", "--report", self.report, "--case-timeout", case_timeout,
             "--memory-limit", memory, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.start,
            env={"ASSAY_PYTHON": "/usr/bin/python3", **os.environ, "TMPDIR": self.temporary, name: value,
                 "PYTHONDONTWRITEBYTECODE": "1"})

    def gate(self, behaviour, *arguments, **options):
        began = time.monotonic()
        process = self.start_gate(behaviour, *arguments, **options)
        out, err = process.communicate(timeout=120)
        self.seconds = time.monotonic() - began
        self.assertEqual(self.left_over(), [], out + err)
        self.assertEqual(os.listdir(self.temporary), [])
        self.assertEqual(os.listdir(self.start), [])
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["cwd", "report", "tmp"])
        return process.returncode

    def read_report(self):
        with open(os.path.join(self.report, "report.json")) as file:
            report = json.load(file)
        self.assertEqual(report["footer"], "complete")
        return report

    def kinds(self, report):
        """Of the faults, whatever else is wrong."""
        faults = [*report["adapter_faults"], *report["horizon_faults"], *filter(None, [report["start_fault"]]),
                  *(c["counterexample"] for c in report["checks"] if "counterexample" in c)]
        return {f["kind"] for f in faults} - {"wrong_result"}

    def kinds_in_junit(self):
        root = xml.etree.ElementTree.parse(os.path.join(self.report, "junit.xml"))
        return {e.get("type") for name in ("failure", "error") for e in root.iter(name)} - {"wrong_result", "run"}

    def check(self, behaviour, code, verdict, kind, words):
        # A hang at the start is waited for as long as a user allows; elsewhere Python needs its time.
        start = "1" if behaviour == "silent hello" else "20"
        # On a busy machine a hog takes a while to reach its limit.
        case = {"case_timeout": "2"} if "hog" in behaviour else {}
        self.assertEqual(self.gate(behaviour, "--start-timeout", start, **case), code)
        report = self.read_report()
        self.assertEqual(report["verdict"], verdict)
        self.assertIn(words, " ".join(report["complaints"]))
        self.assertEqual(self.kinds(report), {kind} - {None})
        self.assertEqual(self.kinds_in_junit(), {kind} - {None})
        self.assertNotIn(self.temporary, json.dumps(report))
        self.assertLess(self.seconds, 30)

    def test_broken(self):
        for behaviour, (kind, words) in BROKEN.items():
            with self.subTest(behaviour):
                self.check(behaviour, 3, "broken", kind, words)

    def test_failed(self):
        for behaviour, (kind, words) in FAILED.items():
            with self.subTest(behaviour):
                self.check(behaviour, 1, "failed", kind, words)

    def test_every_kind_in_the_schema_has_a_behaviour(self):
        with open(SCHEMA) as file:
            documented = {k["const"] for k in json.load(file)["$defs"]["fault_kind"]["oneOf"]}
        self.assertEqual(documented, {kind for kind, _ in (*BROKEN.values(), *FAILED.values())} - {None})

    def test_no_fault(self):
        for behaviour in NO_FAULT:
            with self.subTest(behaviour):
                self.assertEqual(self.gate(behaviour, "--property", "value", case_timeout="10"), 1)
                report = self.read_report()
                self.assertEqual(self.kinds(report), set())
                self.assertEqual(report["checks"][0]["counterexample"]["kind"], "wrong_result")
                self.assertIn("s", report["checks"][0]["counterexample"]["actual"])

    def test_unknown_offers_are_reported(self):
        self.gate("unknown operation", "--property", "value")
        warnings = " ".join(self.read_report()["warnings"])
        self.assertIn("heinsen/scam", warnings)
        self.assertIn("i32", warnings)

    def test_a_broken_adapter_costs_no_further_checks(self):
        self.gate("wrong shape")
        report = self.read_report()
        self.assertEqual([(c["property"], c["cases"]) for c in report["checks"]], [("value", 1)])
        self.assertEqual(report["adapter_faults"][0]["operation"], "heinsen/scan")

    def large(self, function, code, *arguments, case_timeout="1"):
        self.assertEqual(self.gate(f"python:{LARGE}:{function}@heinsen/scan", *arguments, "--property", "value",
                                   case_timeout=case_timeout, memory="1GiB"), code, function)
        self.assertLess(os.path.getsize(os.path.join(self.report, "report.json")), 200_000)
        return self.read_report()

    @staticmethod
    def time_to(function, otherwise):
        return "10" if function.startswith("eats") else otherwise  # it takes a while to reach the limit

    def test_slow_and_large_are_not_wrong(self):
        for function, words in {"computes_if_large": "no answer within 1 s of computing (--case-timeout",
                                "sleeps_if_large": "no answer within 10 s, of which it computed less than 1 s",
                                "eats_if_large": "resident memory above the limit of 1024 MiB (--memory-limit",
                                "runs_out_if_large": "no memory: not enough memory: "}.items():
            with self.subTest(function):
                report = self.large(function, 0, case_timeout=self.time_to(function, "1"))
                self.assertEqual((report["verdict"], self.kinds(report)), ("passed", set()))
                said = [w for w in report["warnings"] if "not tried" in w]
                self.assertEqual(len(said), 1, said)
                self.assertRegex(said[0], "heinsen/scan in f32 was not tried beyond n = [0-9]+: at .*n = 6[0-9]{4} there was")
                self.assertIn(words, said[0])

    def test_what_meets_a_limit_at_small_sizes_is_at_fault(self):
        for function, kind in {"computes_if_small": "hang", "sleeps_if_small": "hang", "eats_if_small": "memory_limit",
                               "runs_out_if_small": "error_reply"}.items():
            with self.subTest(function):
                code, verdict = (1, "failed") if kind == "error_reply" else (3, "broken")
                report = self.large(function, code, case_timeout=self.time_to(function, "0.5"))
                self.assertEqual((report["verdict"], self.kinds(report)), (verdict, {kind}))
                self.assertNotIn("not tried", " ".join(report["warnings"]))

    def test_other_programs_on_the_machine_make_no_call_slower(self):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3 * (os.cpu_count() or 1))]
        try:
            report = self.large("slow", 0)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.assertNotIn("no answer", " ".join(report["warnings"]))

    def interrupt(self, behaviour, number):
        process = self.start_gate(behaviour, case_timeout="60")
        deadline = time.monotonic() + 20
        while not glob.glob(os.path.join(self.temporary, "*", "*", "*.in.safetensors")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        began = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + number, err)
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(self.left_over(), [])
        self.assertEqual(os.listdir(self.temporary), [])
        report = self.read_report()
        failed = any(check["verdict"] == "failed" for check in report["checks"])
        self.assertEqual(report["verdict"], "failed" if failed else "broken")
        self.assertIn(f"interrupted by signal {int(number)} in part 1 of", " ".join(map(str, report["complaints"])))

    def test_interruption(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for behaviour in ("hang", "correct", "grandchild"):
                with self.subTest(behaviour=behaviour, signal=number):
                    self.interrupt(behaviour, number)

    def test_a_reader_who_goes_costs_no_report(self):
        for stream in ("stdout", "stderr"):
            with self.subTest(stream):
                process = self.start_gate("correct", case_timeout="60")
                getattr(process, stream).close()
                process.communicate(timeout=120)
                self.assertEqual(process.returncode, -signal.SIGPIPE)
                self.assertEqual(self.read_report()["footer"], "complete")
                self.assertEqual((self.left_over(), os.listdir(self.temporary)), ([], []))

    def test_interruption_before_hello(self):
        process = self.start_gate("silent hello")
        while not self.left_over():
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 143)
        self.assertEqual(self.left_over(), [])
        self.assertEqual(os.listdir(self.temporary), [])


if __name__ == "__main__":
    unittest.main()
