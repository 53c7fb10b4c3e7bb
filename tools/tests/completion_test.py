#!/usr/bin/env python3
"""Completion in bash: what a user gets who presses the key.

Run by CTest with ASSAY set to the program.
"""
import os
import subprocess
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "completion", "assay.bash")


def completed(*words):
    """The completions of the last word."""
    script = '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _assay; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "--norc", "-c", script, SCRIPT, os.environ["ASSAY"], *words], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    return done.stdout.split(), done.stderr


class Completion(unittest.TestCase):
    def test_commands_options_and_names(self):
        for words, wanted in ((["ga"], "gate"), ([""], "find"), (["--th"], "--threads"), (["gate", "--op"], "--operation"),
                              (["--threads", "2", "gate", "--str"], "--strict"), (["golden", "ch"], "check"),
                              (["gate", "--operation", "rope/ro"], "rope/rotate:vjp"), (["gate", "--effort", ""], "smoke"),
                              (["gate", "--encoding", "al"], "alibi"), (["gate", "--family", "mi"], "mild"),
                              (["list", "operations", "alibi"], "alibi/bias"), (["truth", "attention/s"], "attention/sinks"),
                              (["mutants", "mutant/rope_w"], "mutant/rope_wrong_layout")):
            with self.subTest(words):
                found, errors = completed(*words)
                self.assertIn(wanted, found)
                self.assertTrue(all(one.startswith(words[-1]) for one in found), found)
                self.assertEqual(errors, "")

    def test_nothing_where_there_is_nothing(self):
        for words in (["gate", "--operation", "nothing"], ["gate", "--encoding", "rope", "--nothing"], ["nothing"]):
            with self.subTest(words):
                self.assertEqual(completed(*words), ([], ""))


if __name__ == "__main__":
    unittest.main()
