#!/usr/bin/env python3
"""Every way in which a candidate may misbehave, through `assay gate`: the verdict, a whole report, nothing left over.

Run by CTest with ASSAY set to the program.
"""
import glob
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
import uuid

ASSAY = os.environ["ASSAY"]
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "transports", "tests", "candidates", "hostile.py")

# behaviour: exit code, words that the complaints must have. Each text stands for one verdict.
BROKEN = {
    "crash": "crash: ended by signal 11",
    "crash once": "crash: ended with status 3",
    "orphan holds stdout": "crash: ended with status 7",
    "hang": "hang: no answer within",
    "early exit": "early exit: ended with status 0",
    "goodbye": "early exit: ended with status 0",
    "close stdout": "closed its stdout but went on running",
    "malformed reply": "malformed answer: byte 16: must be valid JSON",
    "duplicate keys": "malformed answer: byte 8: keys must not repeat",
    "reply without ok": "malformed answer: ok must be true or false",
    "wrong id": "answer to call 2 where call 1 was asked",
    "wrong shape": "output 's' must have shape",
    "wrong size": "output 's_n' must have shape [1, 4] but has [2, 5]",
    "wrong dtype": "output 's' must be f32 but is f64",
    "missing output": "output 's_n' is missing",
    "extra output": "unknown output 't'",
    "no file": "cannot be opened: No such file",
    "truncated file": "must lie within the file",
    "oversized header": "header must have at most",
    "oversized file": "every byte behind the header must belong to a tensor",
    "symlink output": "not a symbolic link",
    "fifo output": "must be a regular file",
    "directory output": "must be a regular file",
    "error reply": "error reply: the kernel needs d = 64",
    "endless line": "a message longer than",
    "memory hog": "memory limit: resident memory above",
    "grandchild hog": "memory limit: resident memory above",
    "silent hello": "hang: before its hello",
    "no json hello": "malformed hello: byte 1: must be valid JSON",
    "wrong protocol": "malformed hello: hello.protocol must be 1",
    "nameless": "malformed hello: hello.name",
    "unknown dtype": "malformed hello: hello.operations['heinsen/scan']: unknown dtype 'float32'",
    "domain of nothing": "malformed hello: hello.domain['heinsen/scam']",
    "crash at hello": "cannot import name 'kernel'",
}
FAILED = {
    "nan flood": "NaN flood: heinsen/scan in f32 gives NaN",
    "crash on long": "the candidate kept breaking",
    "ignores the end": "fails on an empty case: hang",
    "unsupported": "executed no core check",
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

    def start_gate(self, behaviour, *arguments, case_timeout="0.25"):
        name, value = self.marker.split("=")
        return subprocess.Popen(
            [ASSAY, "gate", "--candidate", f"process:/usr/bin/python3 {HOSTILE} '{behaviour}'", "--operation",
             "heinsen/scan", "--dtype", "f32", "--report", self.report, "--case-timeout", case_timeout,
             "--memory-limit", "200MiB", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.start,
            env={**os.environ, "TMPDIR": self.temporary, name: value})

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

    def check(self, behaviour, code, verdict, words):
        # A hang at the start is waited for as long as a user allows; elsewhere Python needs its time.
        start = "1" if behaviour == "silent hello" else "20"
        self.assertEqual(self.gate(behaviour, "--start-timeout", start), code)
        report = self.read_report()
        self.assertEqual(report["verdict"], verdict)
        self.assertIn(words, " ".join(report["complaints"]))
        self.assertNotIn(self.temporary, json.dumps(report))
        self.assertLess(self.seconds, 30)

    def test_broken(self):
        for behaviour, words in BROKEN.items():
            with self.subTest(behaviour):
                self.check(behaviour, 3, "broken", words)

    def test_failed(self):
        for behaviour, words in FAILED.items():
            with self.subTest(behaviour):
                self.check(behaviour, 1, "failed", words)

    def test_no_fault(self):
        for behaviour in NO_FAULT:
            with self.subTest(behaviour):
                self.assertEqual(self.gate(behaviour, "--property", "value", case_timeout="10"), 1)
                report = self.read_report()
                self.assertEqual(report["adapter_faults"], [])
                self.assertIn("s", report["checks"][0]["counterexample"]["actual"])

    def test_unknown_offers_are_reported(self):
        self.gate("unknown operation", "--property", "value")
        warnings = " ".join(self.read_report()["warnings"])
        self.assertIn("heinsen/scam", warnings)
        self.assertIn("i32", warnings)

    def test_a_broken_adapter_costs_no_further_checks(self):
        self.gate("wrong shape")
        report = self.read_report()
        self.assertEqual(report["checks"], [])
        self.assertEqual(report["adapter_faults"][0]["operation"], "heinsen/scan")

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
        self.assertFalse(os.path.exists(os.path.join(self.report, "report.json")))

    def test_interruption(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for behaviour in ("hang", "correct", "grandchild"):
                with self.subTest(behaviour=behaviour, signal=number):
                    self.interrupt(behaviour, number)

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
