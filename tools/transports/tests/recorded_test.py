#!/usr/bin/env python3
"""assay cases --export and recorded:DIR: right outputs pass, wrong and missing ones fail, hostile folders are
refused."""
import json
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests"))
from cli_test import Folder, run  # noqa: E402

sys.path.insert(0, os.path.join(HERE, "..", "..", "adapters", "python"))
import numpy  # noqa: E402
from assay.host import Candidate, read_safetensors, write_safetensors  # noqa: E402

candidate = Candidate("elsewhere")


@candidate.numpy("heinsen/scan", dtypes=["f32"])
def scan(log_p, h, s0):
    s, last = numpy.empty_like(h), s0
    with numpy.errstate(all="ignore"):
        for i in range(h.shape[1]):
            last = s[:, i] = numpy.logaddexp(log_p[:, i] + last, h[:, i])
    return {"s": s, "s_n": last}


def export(folder, *arguments, operation="heinsen/scan"):
    return run("cases", "--export", folder, "--operation", operation, "--dtype", "f32", *Folder.SMALL, *arguments)


class Recordings(Folder):
    def gate(self, candidate, *arguments):
        return super().gate(candidate, *self.SMALL, *arguments)

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.shared.cleanup)
        cls.answered = os.path.join(cls.shared.name, "answered")
        done = export(cls.answered)
        assert done.returncode == 0, done.stderr
        with open(os.path.join(cls.answered, "cases.jsonl")) as file:
            cls.lines = file.read().splitlines()
        here = os.getcwd()
        os.chdir(cls.answered)  # the paths are relative to the folder
        for line in cls.lines:
            if json.loads(line)["operation"] == "heinsen/scan":
                assert candidate.answer(json.loads(line))["ok"], line
        os.chdir(here)

    def setUp(self):
        super().setUp()
        self.cases = os.path.join(self.folder.name, "cases")
        shutil.copytree(self.answered, self.cases, copy_function=os.link)

    def write(self, name, text):
        path = os.path.join(self.cases, name)
        if os.path.lexists(path):
            os.remove(path)  # a hard link of the shared folder
        with open(path, "w") as file:
            file.write(text)

    def ends(self, code, *words, arguments=()):
        done = self.gate("recorded:" + self.cases, *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stdout + done.stderr)
        if code == 2:
            return None
        report = self.read_report()
        self.assertEqual(report["footer"], "complete")
        return report

    def test_settings_are_exported_with_their_calls(self):
        folder = os.path.join(self.folder.name, "rotations")
        done = export(folder, operation="rope/rotate")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(folder, "cases.jsonl")) as file:
            calls = [json.loads(line) for line in file]
        layouts = {call["attributes"]["layout"] for call in calls if call["operation"] == "rope/rotate"}
        self.assertEqual(layouts, {"interleaved", "half_split"})

    def largest_case(self):
        """The output file of the long case of which every accuracy class is made."""
        return max((json.loads(line) for line in self.lines), key=lambda call: os.path.getsize(
            os.path.join(self.cases, call["inputs"])) if call["operation"] == "heinsen/scan" else 0)["outputs"]

    def test_right_outputs_pass(self):
        report = self.ends(0, "# Assay: recorded", "| `heinsen/scan` | f32 | sequential |")
        checks = {check["property"]: check for check in report["checks"]}
        # These ask nothing that depends on an answer, so that all of their cases were exported.
        for name in ("value", "causality", "lanes", "sandwich"):
            self.assertEqual(checks[name]["skipped"], 0, checks[name])
        # And these cannot be told from a recording.
        self.assertGreater(checks["continuation"]["skipped"], 0)
        self.assertEqual(checks["repeat"]["cases"], 0, checks["repeat"])

    def test_the_hello_may_be_given(self):
        self.write("hello.json", json.dumps({"protocol": 1, "name": "cluster", "version": "9", "operations": {
            "heinsen/scan": ["f32", "f64"], "heinsen/gated_scan": ["f32"]}}))
        self.ends(0, "# Assay: cluster 9")
        self.write("hello.json", json.dumps({"hello": {"protocol": 1, "name": "cluster", "operations": {
            "heinsen/scan": ["f32"], "heinsen/scan:vjp": ["f32"]}}}))
        self.ends(1, "bad output", "No such file")  # the derivatives were promised
        self.write("hello.json", json.dumps({"protocol": 1, "name": "cluster"}))
        self.ends(2, "hello.json", "hello.operations is missing")

    def test_what_needs_a_running_candidate_is_said_to(self):
        report = self.ends(0)
        reasons = {check["property"]: check.get("reason", "") for check in report["checks"]}
        self.assertIn("it needs a candidate that runs", reasons["repeat"])
        self.assertEqual(reasons["value"], "")
        shards = [os.path.join(self.folder.name, f"shard-{k}") for k in (1, 2)]
        for k, shard in enumerate(shards):
            run("gate", "--candidate", "recorded:" + self.cases, "--operation", "heinsen/scan", "--dtype", "f32",
                *self.SMALL, "--shard", f"{k + 1}/2", "--report", shard)
        merged = run("merge", *shards, "--report", self.report)
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertEqual({check["property"]: check.get("reason", "") for check in self.read_report()["checks"]}, reasons)

    def test_wrong_outputs_fail(self):
        path = os.path.join(self.cases, self.largest_case())
        outputs = read_safetensors(path)
        outputs["s"][1][0, -1, 0] += 1e-2
        write_safetensors(path, outputs)
        self.ends(1)

    def test_malformed_outputs_fail(self):
        path = os.path.join(self.cases, self.largest_case())
        right = read_safetensors(path)
        write_safetensors(path, {"s": right["s"]})
        self.ends(1, "'s_n' is missing")
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(content[:-1])
        self.ends(1, "must lie within the file")
        os.remove(path)
        self.ends(1, "No such file")
        os.symlink("/etc/passwd", path)
        self.ends(1, "not a symbolic link")

    def test_without_outputs_nothing_is_offered(self):
        shutil.rmtree(os.path.join(self.cases, "outputs"))
        self.ends(1, "heinsen/scan was requested and is not offered")

    def test_another_seed_asks_other_cases(self):
        self.ends(1, "no check compared", arguments=("--seed", "2"))

    def test_hostile_folders_are_refused(self):
        first = json.loads(self.lines[0])

        def with_line(**changes):
            self.write("cases.jsonl", json.dumps({**first, **changes}) + "\n")
        self.write("cases.jsonl", "{\n")
        self.ends(2, "cases.jsonl: line 1: byte")
        self.write("cases.jsonl", "")
        self.ends(2, "there are no cases")
        self.write("cases.jsonl", self.lines[0] + "\n" + self.lines[0] + "\n")
        self.ends(2, "line 2: an earlier line is the same case")
        with_line(more=1)
        self.ends(2, "line 1: unknown member 'more'")
        with_line(operation="heinsen/scam")
        self.ends(2, "unknown operation 'heinsen/scam'")
        with_line(operation="heinsen/gated_scan")
        self.ends(2, "inputs/1.safetensors: ")
        with_line(dtype="i64")
        self.ends(2, "unknown dtype 'i64'")
        with_line(attributes={"block": 1})
        self.ends(2, "has no attribute 'block'")
        with_line(outputs="outputs/../../outside")
        self.ends(2, "must not have '..'")
        with_line(outputs="/etc/passwd")
        self.ends(2, "must be relative")
        os.symlink("/etc", os.path.join(self.cases, "etc"))
        with_line(outputs="etc/passwd")
        self.ends(2, "must not leave the folder")
        with_line(inputs="cases.jsonl")
        self.ends(2, "cases.jsonl: byte")
        os.remove(os.path.join(self.cases, "cases.jsonl"))
        self.ends(2, "cases.jsonl")
        self.assertEqual(self.gate("recorded:").returncode, 2)


half_split = Candidate("half split alone")


@half_split.numpy("rope/rotate", dtypes=["f32"])
def rotate(x, position, layout, rotary, base, position_scale):
    r, wide = rotary or x.shape[-1] // 2, numpy.longdouble
    angle = (position[..., None] / wide(position_scale) * wide(base) ** (-numpy.arange(r) / wide(max(r, 1))))[:, :, None]
    a, b, rest = x[..., :r], x[..., r:2 * r], x[..., 2 * r:]
    cos, sin = numpy.cos(angle), numpy.sin(angle)
    with numpy.errstate(all="ignore"):
        first, second = a * cos - b * sin, a * sin + b * cos
    return {"y": numpy.concatenate([first.astype(x.dtype), second.astype(x.dtype), rest], -1)}


class Narrowed(Folder):
    def test_settings_that_the_hello_leaves_out_are_not_asked_for(self):
        """The cases were exported with all settings, before the candidate said which it knows."""
        cases = os.path.join(self.folder.name, "cases")
        self.assertEqual(export(cases, "--property", "value", operation="rope/rotate").returncode, 0)
        with open(os.path.join(cases, "cases.jsonl")) as file:
            calls = [json.loads(line) for line in file]
        for call in calls:
            if call["operation"] == "rope/rotate" and call["attributes"]["layout"] == "half_split":
                paths = {name: os.path.join(cases, call[name]) for name in ("inputs", "outputs")}
                answer = half_split.answer({**call, **paths})
                self.assertTrue(answer["ok"], answer)
        with open(os.path.join(cases, "hello.json"), "w") as file:
            json.dump({"protocol": 1, "name": "cluster", "operations": {"rope/rotate": ["f32"]},
                       "domain": {"rope/rotate": {"layout": ["half_split"]}},
                       "parameters": {"rope/rotate": ["layout", "rotary", "base", "position_scale"]}}, file)
        done = run("gate", "--candidate", "recorded:" + cases, "--report", self.report, "--operation", "rope/rotate",
                   "--dtype", "f32", "--property", "value", *self.SMALL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (check,) = (c for c in self.read_report()["checks"] if c["operation"] == "rope/rotate")
        self.assertEqual(check["verdict"], "passed")
        self.assertEqual(check["counts"]["unsupported"], 0)
        self.assertGreater(check["counts"]["outside_domain"], 0)
        self.assertGreater(check["cases"], 0)


class Exports(Folder):
    def test_the_same_seed_gives_the_same_cases(self):
        one, other = (os.path.join(self.folder.name, name) for name in ("one", "other"))
        os.mkdir(other)  # an empty folder will do
        for folder in (one, other):
            self.assertEqual(export(folder, "--seed", "3", operation="heinsen/scan:jvp").returncode, 0)
        with open(os.path.join(one, "cases.jsonl")) as file, open(os.path.join(other, "cases.jsonl")) as again:
            self.assertEqual(file.read(), again.read())
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["one", "other"])

    def test_what_cannot_be_exported(self):
        full = os.path.join(self.folder.name, "full")
        os.makedirs(os.path.join(full, "of things"))
        for done, words in ((export(full), "not an empty folder"), (export(full, "--effort", "heroic"), "heroic"),
                            (export(full, "--operation", "heinsen/scam"), "heinsen/scam"),
                            (export("/proc/no/folder"), "/proc/no/folder")):
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(words, done.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["full"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
