#!/usr/bin/env python3
"""The recipes for CI servers: their steps, run as the servers run them, where apt-get and curl do nothing.

Run by CTest with BUILD set to the build folder. Ends with status 77 (skipped, in CTest's words) without PyYAML.
"""
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ModuleNotFoundError:
    print(f"skipped: {sys.executable} has no yaml (Debian: python3-yaml)")
    sys.exit(77)

RECIPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "ci")
MODEL = """import numpy

def scan(log_p, h, s0):
    s, last = numpy.empty_like(h), s0
    with numpy.errstate(all="ignore"):
        for i in range(h.shape[1]):
            last = s[:, i] = numpy.logaddexp(log_p[:, i] + last, h[:, i])
    return s, last
"""
# Less than the recipes ask for, so that the test is quick.
ASSAY = '#!/bin/sh\nexec "{}" "$@" --operation heinsen/scan --dtype f32 --property value --family mild\n'
RECORDER = '#!/bin/sh\necho "${0##*/} $*" >> "$RECORD"\n'


def read(name):
    with open(os.path.join(RECIPES, name)) as file:
        return yaml.safe_load(file)


class Recipe(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work, programs = (os.path.join(folder.name, name) for name in ("work", "programs"))
        os.mkdir(self.work)
        os.mkdir(programs)
        for name, text in (("assay", ASSAY.format(os.path.join(os.environ["BUILD"], "assay"))), ("apt-get", RECORDER),
                           ("curl", RECORDER)):
            with open(os.path.join(programs, name), "w") as file:
                file.write(text)
            os.chmod(file.name, 0o755)
        with open(os.path.join(self.work, "model.py"), "w") as file:
            file.write(MODEL)
        self.record = os.path.join(folder.name, "record")
        self.summary = os.path.join(folder.name, "summary")
        self.environment = {**os.environ, "PATH": programs + ":" + os.environ["PATH"], "RECORD": self.record,
                            "GITHUB_STEP_SUMMARY": self.summary, "ASSAY_DEB_URL": "https://example.org/assay.deb",
                            "ASSAY_PYTHON": "/usr/bin/python3"}

    def run_step(self, text, **environment):
        done = subprocess.run(["sh", "-e", "-u", "-c", text], cwd=self.work, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env={**self.environment, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def read_back(self, path):
        with open(path) as file:
            return file.read()


class GitHub(Recipe):
    def setUp(self):
        super().setUp()
        self.steps = read("github.yml")["jobs"]["gate"]["steps"]
        self.named = {step["name"]: step for step in self.steps if "name" in step}

    def test_git_is_there_before_the_checkout(self):
        uses = [step.get("uses", "") for step in self.steps]
        (checkout,) = (i for i, name in enumerate(uses) if name.startswith("actions/checkout@"))
        for step in self.steps[:checkout]:
            self.run_step(step["run"])
        self.assertIn(" git\n", self.read_back(self.record))

    def test_the_gate_and_its_summary(self):
        self.run_step(self.named["Gate"]["run"])
        self.run_step(self.named["Summary"]["run"])
        self.assertIn("# Assay: scan - passed", self.read_back(self.summary))

    def test_a_run_without_a_report_is_summed_up_too(self):
        self.assertEqual(self.named["Summary"]["if"], "always()")
        self.run_step(self.named["Summary"]["run"])
        self.assertIn("no report", self.read_back(self.summary))


class GitLab(Recipe):
    def test_its_commands_leave_what_it_keeps(self):
        job = read("gitlab.yml")["assay"]
        self.run_step("\n".join(job["before_script"] + job["script"]))
        self.assertIn("install", self.read_back(self.record))
        self.assertEqual(job["artifacts"]["when"], "always")
        for kept in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]):
            self.assertTrue(os.path.exists(os.path.join(self.work, kept)), kept)


class Shell(Recipe):
    def test_it_installs_the_package_and_gates(self):
        package = os.path.join(self.work, "assay.deb")
        open(package, "w").close()
        script = os.path.join(RECIPES, "gate.sh")
        self.run_step(f'exec sh "{script}"', ASSAY_DEB="assay.deb", CANDIDATE="python:model:scan")
        self.assertIn(os.path.realpath(package), self.read_back(self.record))
        self.assertTrue(os.path.exists(os.path.join(self.work, "assay-report", "summary.md")))


if __name__ == "__main__":
    unittest.main()
