#!/usr/bin/env python3
"""Gates in shards, and the report that merging them gives: that of one run, byte for byte but for the times.

Run by CTest with ASSAY set to the program.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ASSAY = os.environ["ASSAY"]
SELECTED = ("--operation", "heinsen/scan", "--operation", "heinsen/gated_scan", "--dtype", "f32",
            "--dtype", "bf16", "--property", "value", "--property", "vjp", "--property", "repeat")
TIMES = re.compile(r'"(?:started|seconds)": [^,\n]*|\d{4}-\d\d-\d\d[T ][\d:]+(?:Z| UTC)?|[\d.]+ s\b|(?:time|timestamp)="[^"]*"')


def run(*arguments):
    return subprocess.run([ASSAY, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)


class Shards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.candidate = "builtin:mutant/ignores_initial_state"
        cls.report = os.path.join(cls.folder, "report")
        cls.exit_code = cls.gate("--report", cls.report).returncode
        cls.whole = cls.take_report()
        cls.shards = {n: [cls.make_shard(k, n) for k in range(1, n + 1)] for n in (1, 2, 7)}

    @classmethod
    def gate(cls, *arguments):
        return run("gate", "--candidate", cls.candidate, *SELECTED, *arguments)

    @classmethod
    def make_shard(cls, k, n):
        name = os.path.join(cls.folder, f"shard-{k}-of-{n}")
        cls.gate("--shard", f"{k}/{n}", "--report", name)
        return name

    @classmethod
    def take_report(cls):
        """All files of the report, without times; removes it."""
        files = {}
        for parent, _, names in os.walk(cls.report):
            for name in names:
                with open(os.path.join(parent, name), encoding="utf-8") as file:
                    files[os.path.relpath(os.path.join(parent, name), cls.report)] = TIMES.sub("", file.read())
        shutil.rmtree(cls.report)
        return files

    def test_merged_shards_are_one_run(self):
        self.assertEqual(self.exit_code, 1)
        self.assertIn("summary.md", self.whole)
        for n, shards in self.shards.items():
            with self.subTest(shards=n):
                merged = run("merge", *reversed(shards), "--report", self.report)
                self.assertEqual(merged.returncode, 1, merged.stderr)
                self.assertEqual(self.take_report(), self.whole)

    def test_a_shard_has_a_report_of_its_parts(self):
        parts = []
        for shard in self.shards[2]:
            with open(os.path.join(shard, "report.json"), encoding="utf-8") as file:
                report = json.load(file)
            self.assertEqual(report["footer"], "complete")
            parts.append({(c["operation"], c["dtype"]) for c in report["checks"]})
        self.assertFalse(parts[0] & parts[1])
        self.assertTrue(parts[0] and parts[1])

    def test_pins_belong_to_the_merge(self):
        baseline = os.path.join(self.shards[2][0], "report.json")
        refused = self.gate("--shard", "1/2", "--baseline", baseline, "--report", os.path.join(self.folder, "unused"))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("assay merge", refused.stderr)
        known = os.path.join(self.folder, "known.txt")
        with open(known, "w", encoding="utf-8") as file:
            file.write("value heinsen/scan f32 # known\nvalue heinsen/scan bf16 # known\n"
                       "vjp heinsen/scan:vjp f32 # known\nvjp heinsen/scan:vjp bf16 # known\n")
        merged = run("merge", *self.shards[2], "--known-failures", known, "--report", self.report)
        self.assertNotIn("was not run", merged.stdout)
        self.assertIn("known", self.take_report()["summary.md"])

    def test_each_shard_has_a_patience_of_its_own(self):
        """One run gives up after three hangs; two shards of two parts each find all four."""
        script = os.path.join(self.folder, "silent.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import json, sys, time\nsys.stdin.readline()\n"
                       "print(json.dumps({'hello': {'protocol': 1, 'name': 'silent', 'operations': "
                       "{'heinsen/scan': ['f64', 'f32', 'f16', 'bf16']}}}), flush=True)\ntime.sleep(60)\n")
        silent = ("gate", "--candidate", f"process:/usr/bin/python3 {script}", "--operation", "heinsen/scan",
                  "--case-timeout", "0.25")

        def hangs_in(report):
            with open(os.path.join(report, "report.json"), encoding="utf-8") as file:
                found = json.load(file)
            return ([f["kind"] for f in found["adapter_faults"]].count("hang"),
                    sum("was not tried any more: it hung 3 times" in c for c in found["complaints"]))

        whole, *shards = [os.path.join(self.folder, f"impatient-{k}") for k in (0, 1, 2)]
        with concurrent.futures.ThreadPoolExecutor() as threads:  # all that they do is wait
            threads.submit(run, *silent, "--report", whole)
            for k, shard in enumerate(shards):
                threads.submit(run, *silent, "--shard", f"{k + 1}/2", "--report", shard)
        self.assertEqual(hangs_in(whole), (3, 1))
        merged = os.path.join(self.folder, "patient")
        self.assertEqual(run("merge", *shards, "--report", merged).returncode, 3)
        self.assertEqual(hangs_in(merged), (4, 0))

    def test_refusals_and_parts_that_never_answer_are_merged(self):
        script = os.path.join(self.folder, "partly.py")
        adapters = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "adapters", "python")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"import sys\nsys.path.insert(0, {adapters!r})\nimport numpy\nfrom assay import Candidate\n"
                       "candidate = Candidate('partly')\n"
                       "@candidate.numpy('fox/gated_decay', dtypes=['f32', 'bf16'])\n"
                       "def gated(g, dtype):\n    raise ValueError('no device')\n"
                       "@candidate.numpy('fox/decay', dtypes=['f64', 'f32'])\n"
                       "def decay(log_f):\n"
                       "    assert log_f.size, 'nothing to do'\n"
                       "    sums = numpy.cumsum(log_f.astype(float), 1).transpose(0, 2, 1)\n"
                       "    later = numpy.triu(numpy.full(2 * log_f.shape[1:2], -numpy.inf), 1)\n"
                       "    return {'D': (numpy.tril(sums[..., None] - sums[:, :, None]) + later).astype(log_f.dtype)}\n"
                       "candidate.serve()\n")
        gate = ("gate", "--candidate", f"process:/usr/bin/python3 {script}", "--encoding", "fox", "--property", "empty_axes",
                "--property", "lanes", "--max-elements", "2000")
        whole = os.path.join(self.folder, "whole-partly")
        self.assertEqual(run(*gate, "--report", whole).returncode, 1)
        shards = [os.path.join(self.folder, f"partly-{k}") for k in (1, 2)]
        for k, shard in enumerate(shards):
            run(*gate, "--shard", f"{k + 1}/2", "--report", shard)
        merged = os.path.join(self.folder, "merged-partly")
        self.assertEqual(run("merge", *shards, "--report", merged).returncode, 1)
        texts = []
        for report in (whole, merged):
            with open(os.path.join(report, "report.json"), encoding="utf-8") as file:
                texts.append(TIMES.sub("", file.read()).replace(report, ""))
        self.assertEqual(*texts)
        self.assertIn("does not take B = 0, nor h = 0, nor n = 0: AssertionError: nothing to do", texts[0])
        self.assertIn("fox/gated_decay in f32, bf16 gives no outputs in any of", texts[0])

    def refuse(self, why, *shards):
        done = run("merge", *shards, "--report", self.report)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, why)
        self.assertFalse(os.path.exists(self.report))

    def test_what_does_not_belong_together(self):
        self.refuse("shard 2/2 is missing", self.shards[2][0])
        self.refuse("is there twice", self.shards[2][0], self.shards[2][0])
        self.refuse("the number of shards differs", self.shards[2][0], self.shards[7][1])
        other = os.path.join(self.folder, "other")
        self.gate("--shard", "2/2", "--seed", "9", "--report", other)
        self.refuse("the seed differs", self.shards[2][0], other)

    def test_what_is_no_shard(self):
        broken = os.path.join(self.folder, "broken")
        os.makedirs(broken, exist_ok=True)
        self.refuse("cannot be opened", broken)
        with open(os.path.join(self.shards[1][0], "shard.json"), encoding="utf-8") as file:
            whole = file.read()
        for text, why in (("", "byte"), ("{}", "is no assay-shard/1"), (whole[:-20], "byte"),
                          (whole.replace('"heinsen/scan"', '"heinsen/scam"'), "unknown operation"),
                          (whole.replace('"planned"', '"plammed"'), "'planned' is missing"),
                          (whole.replace('"version":"', '"version":"9'), "another version"),
                          (re.sub(r'"shape":\[[^\]]*\]', '"shape":[99]', whole), "size of its shape"),
                          (re.sub(r'"shape":\[[^\]]*\]', '"shape":[4294967296,4294967296]', whole), "too large"),
                          (whole.replace('"operation":"heinsen/scan:jvp"', '"operation":"heinsen/scan:vjp"'), "missing|unknown|lacks a part"),
                          (whole.replace('"parts":[', '"parts":[],"more":['), "lacks a part")):
            with open(os.path.join(broken, "shard.json"), "w", encoding="utf-8") as file:
                file.write(text)
            with self.subTest(why=why):
                self.refuse(why, broken)

    def test_a_report_without_shards_keeps_none_of_an_earlier_run(self):
        folder = self.make_shard(1, 1)
        self.gate("--report", folder)
        self.assertFalse(os.path.exists(os.path.join(folder, "shard.json")))
        self.make_shard(1, 1)

    def test_parts_of_another_run(self):
        other = os.path.join(self.folder, "foreign")
        shutil.copytree(self.shards[2][1], other, dirs_exist_ok=True)
        shutil.copy(os.path.join(self.shards[2][0], "shard.json"), other)
        path = os.path.join(other, "shard.json")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace('"index":1', '"index":2'))
        self.refuse("lacks a part|parts of another run", self.shards[2][0], other)

    def test_shards_that_there_are_not(self):
        for text in ("0/2", "3/2", "1", "1/", "/2", "a/b", "1/0", "-1/2", "1/2/3"):
            with self.subTest(text=text):
                self.assertEqual(self.gate("--shard", text, "--report", os.path.join(self.folder, "unused")).returncode, 2)


if __name__ == "__main__":
    unittest.main()
