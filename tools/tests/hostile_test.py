#!/usr/bin/env python3
"""Every way in which a candidate may misbehave, through `assay gate`: the verdict, a whole report, nothing left over.

Run by CTest with ASSAY set to the program.
"""
import glob
import json
import os
import signal
import time
import unittest

import hostile_gate

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
    "crash once": ("crash", "failed in its first call, but in no check: crash: ended with status 3"),
    "nan flood": ("nan_flood", "NaN flood: heinsen/scan in f32 gives NaN"),
    "crash on long": ("crash", "the candidate kept breaking"),
    "ignores the end": ("hang", ""),  # the first call is answered: a check says it
    "unsupported": (None, "no check compared"),
}
# The outputs are zeros, so that numerics fail and nothing else does.
NO_FAULT = ["correct", "banners", "stderr flood", "grandchild", "everything", "unknown operation"]


class Hostile(hostile_gate.HostileGate):
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
        self.at_once(BROKEN, lambda test, behaviour: test.check(behaviour, 3, "broken", *BROKEN[behaviour]))

    def test_failed(self):
        self.at_once(FAILED, lambda test, behaviour: test.check(behaviour, 1, "failed", *FAILED[behaviour]))

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
