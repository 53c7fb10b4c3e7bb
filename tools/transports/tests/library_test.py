#!/usr/bin/env python3
"""library:PATH: right and wrong libraries, broken ones, and what is no such library."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests"))
from cli_test import Folder, run  # noqa: E402

HOSTILE, THROWING, OTHER = (os.environ[name + "_LIBRARY_PATH"] for name in ("HOSTILE", "THROWING", "OTHER"))


class Libraries(Folder):
    def behave(self, behaviour, code, *words, arguments=()):
        """The report of a run that must end with this exit code and say these words."""
        os.environ["HOSTILE_LIBRARY"] = behaviour
        self.addCleanup(os.environ.pop, "HOSTILE_LIBRARY", None)
        return self.ends("library:" + HOSTILE, code, *words, arguments=arguments)

    def ends(self, candidate, code, *words, arguments=()):
        done = self.gate(candidate, *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        report = self.read_report()
        self.assertEqual((report["verdict"], report["footer"]), (["passed", "failed", "", "broken"][code], "complete"))
        for word in words:
            self.assertIn(word, done.stdout)
        return report

    def test_prints_do_not_disturb(self):
        self.behave("prints", 0, "# Assay: hostile 1")

    def test_wrong_numbers_fail(self):
        self.behave("wrong", 1, "**value** of `heinsen/scan` in f32")
        self.behave("nothing", 1, "NaN flood")

    def test_errors_on_every_call_are_a_broken_adapter(self):
        self.behave("error", 3, "error reply: the kernel needs d = 64")
        self.behave("silent error", 3, "without a message")
        self.behave("status", 3, "it returned 7, which is no status")
        self.behave("message", 3, "error reply: xxxx")
        self.behave("unsupported", 1, "no check compared")
        self.ends("library:" + THROWING, 3, "error reply: it threw an exception: no device")

    def test_foreign_memory_is_not_written_unnoticed(self):
        self.behave("overrun", 3, "it wrote outside the output 's'")
        self.behave("underrun", 3, "it wrote outside the output 's_n'")
        self.behave("input", 3, "it wrote to the input 'h'")

    def test_the_process_breaks(self):
        self.behave("crash", 3, "signal 11")
        self.behave("abort", 3, "signal 6")
        self.behave("exit", 3, "early exit")
        self.behave("hang", 3, "no answer within", arguments=("--case-timeout", "0.1"))
        self.behave("memory", 3, "resident memory above the limit", arguments=("--memory-limit", "300MiB"))

    def test_libraries_that_cannot_be_used(self):
        self.behave("crash when loaded", 3, "signal 6")
        self.behave("abi", 3, "has the ABI version 2, and this assay takes version 1")
        self.behave("null", 3, "returned NULL")
        self.behave("nameless", 3, "it has no name or no operations")
        self.behave("unknown dtype", 3, "unknown dtype 'float'")
        self.behave("twice", 3, "'heinsen/scan' stands twice")
        self.behave("no function", 3, "'heinsen/scan' has no dtypes or no function")
        self.behave("claims", 3, "claims: byte 15")
        self.behave("own claims", 3, "claims must not have the member 'name'")
        self.behave("domain claims", 3, "low must not exceed high")

    def test_what_is_no_candidate_library(self):
        self.ends("library:" + OTHER, 3, "does not export assay_candidate_v1")
        self.ends("library:" + os.path.join(self.folder.name, "none.so"), 3, "cannot open shared object file")
        self.ends("library:" + os.path.abspath(__file__), 3, "invalid ELF header")
        # A bare name is a file in this folder, not one of the system's libraries.
        self.ends("library:libm.so.6", 3, "cannot open shared object file")

    def test_the_command_line(self):
        self.assertEqual(self.gate("library:").returncode, 2)
        done = run("host-library", HOSTILE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("assay gate --candidate library:", done.stderr)
        self.assertNotIn("host-library", run("--help").stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
