#!/usr/bin/env python3
"""Candidates that are slow or large, through `assay gate`: that is not wrong, where sizes are large.

Run by CTest with ASSAY set to the program.
"""
import os
import subprocess
import sys
import unittest

import hostile_gate

LARGE = os.path.join(os.path.dirname(hostile_gate.HOSTILE), "large.py")


class Limits(hostile_gate.HostileGate):
    def large(self, function, code, *arguments, case_timeout="1"):
        self.assertEqual(self.gate(f"python:{LARGE}:{function}@heinsen/scan", *arguments, "--property", "value",
                                   case_timeout=case_timeout, memory="1GiB"), code, function)
        self.assertLess(os.path.getsize(os.path.join(self.report, "report.json")), 200_000)
        return self.read_report()

    @staticmethod
    def time_to(function, otherwise):
        return "10" if function.startswith("eats") else otherwise  # it takes a while to reach the limit

    def test_slow_and_large_are_not_wrong(self):
        def check(test, case):
            function, words = case
            report = test.large(function, 0, case_timeout=test.time_to(function, "1"))
            test.assertEqual((report["verdict"], test.kinds(report)), ("passed", set()))
            said = [w for w in report["warnings"] if "not tried" in w]
            test.assertEqual(len(said), 1, said)
            test.assertRegex(said[0], "heinsen/scan in f32 was not tried beyond n = [0-9]+: at .*n = 6[0-9]{4} there was")
            test.assertIn(words, said[0])

        self.at_once([("computes_if_large", "no answer within 1 s of computing (--case-timeout"),
                      ("sleeps_if_large", "no answer within 10 s, of which it computed less than 1 s"),
                      ("eats_if_large", "resident memory above the limit of 1024 MiB (--memory-limit"),
                      ("runs_out_if_large", "no memory: not enough memory: ")], check)

    def test_what_meets_a_limit_at_small_sizes_is_at_fault(self):
        def check(test, case):
            function, kind = case
            code, verdict = (1, "failed") if kind == "error_reply" else (3, "broken")
            report = test.large(function, code, case_timeout=test.time_to(function, "0.25"))
            test.assertEqual((report["verdict"], test.kinds(report)), (verdict, {kind}))
            test.assertNotIn("not tried", " ".join(report["warnings"]))

        self.at_once([("computes_if_small", "hang"), ("sleeps_if_small", "hang"), ("eats_if_small", "memory_limit"),
                      ("runs_out_if_small", "error_reply")], check)

    def test_a_large_counterexample_leaves_the_report_small(self):
        report = self.large("aborts_if_huge", 3, case_timeout="20")
        self.assertEqual(self.kinds(report), {"crash"})
        (check,) = report["checks"]
        self.assertEqual(check["counterexample"]["inputs"], {})
        batch, tokens, width = check["counterexample"]["left_out"]["inputs"]["h"]
        self.assertGreater(tokens, 60000)
        for name in os.listdir(os.path.join(self.report, "counterexamples")):
            if name.endswith(".py"):
                path = os.path.join(self.report, "counterexamples", name)
                done = subprocess.run([sys.executable, path], text=True, stdout=subprocess.PIPE)
                self.assertIn("assay replay", done.stdout)
                self.assertEqual(done.returncode, 2)  # it does not know

    def test_other_programs_on_the_machine_make_no_call_slower(self):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3 * (os.cpu_count() or 1))]
        try:
            report = self.large("slow", 0)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.assertNotIn("no answer", " ".join(report["warnings"]))


if __name__ == "__main__":
    unittest.main()
