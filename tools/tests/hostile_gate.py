"""`assay gate` on candidates that misbehave: what it leaves behind, and what its report says."""
import concurrent.futures
import glob
import json
import os
import subprocess
import tempfile
import time
import unittest
import uuid
import xml.etree.ElementTree

ASSAY = os.environ["ASSAY"]
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "transports", "tests", "candidates", "hostile.py")


class HostileGate(unittest.TestCase):
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

    def at_once(self, cases, check):
        """check(test, case) for each, in folders of their own. They run side by side, since most of their time is waiting."""
        def alone(case):
            test = type(self)(self._testMethodName)
            test.setUp()
            try:
                check(test, case)
            finally:
                test.tearDown()
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            checks = [(case, threads.submit(alone, case)) for case in cases]
        for case, checked in checks:
            with self.subTest(case):
                checked.result()

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
        """The kinds of all faults but wrong results."""
        faults = [*report["adapter_faults"], *report["horizon_faults"], *filter(None, [report["start_fault"]]),
                  *(c["counterexample"] for c in report["checks"] if "counterexample" in c)]
        return {f["kind"] for f in faults} - {"wrong_result"}

    def kinds_in_junit(self):
        root = xml.etree.ElementTree.parse(os.path.join(self.report, "junit.xml"))
        return {e.get("type") for name in ("failure", "error") for e in root.iter(name)} - {"wrong_result", "run"}
