#!/usr/bin/env python3
"""The action of GitHub and the template of GitLab: what their servers ask of such files, and their steps, run as the servers
run them, with the wheel of this build in a fresh environment.

Run by CTest with BUILD set to the build folder. Ends with status 77 (skipped, in CTest's words) without its tools.
"""
import copy
import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
MODEL = """import numpy

def scan(log_p, h, s0):
    s, last = numpy.empty_like(h), s0
    with numpy.errstate(all="ignore"):
        for i in range(h.shape[1]):
            last = s[:, i] = numpy.logaddexp(log_p[:, i] + last, h[:, i])
    return s, last

def forgets(log_p, h, s0):
    return scan(log_p, h, 0 * s0)
"""
FEW = "--property=value --family=mild --max-elements=2000"  # these tests are not about checks

# What GitHub says of the metadata of an action (docs.github.com, "Metadata syntax reference"), as far as it concerns a
# composite one: the keys that are known, of which those with * are required.
TOP = "name* author description* inputs outputs runs* branding"
INPUT = "description* required default deprecationMessage"
OUTPUT = "description* value*"
RUNS = "using* steps*"
RUN_STEP = "run* shell* name id if env working-directory continue-on-error"
USES_STEP = "uses* with name id if env continue-on-error"
# And GitLab of a job ("CI/CD YAML syntax reference"), those that a template may need.
JOB = "image variables before_script script* artifacts rules stage tags extends needs"
ARTIFACTS = "paths* when reports name expire_in exclude expose_as untracked"

work = tempfile.TemporaryDirectory()
unittest.addModuleCleanup(work.cleanup)


def within(*parts):
    return os.path.join(work.name, *parts)


def setUpModule():
    subprocess.run([os.path.join(TOOLS, "wheel", "pack"), os.environ["BUILD"], within("dist")], check=True,
                   env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--system-site-packages", within("environment")], check=True)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def parsed(name):
    return yaml.safe_load(read(os.path.join(TOOLS, "action", name)))


def misfits(mapping, known, where):
    known = known.split()
    required = {name[:-1] for name in known if name.endswith("*")}
    allowed = {name.rstrip("*") for name in known}
    return [f"{where}: unknown {name}" for name in mapping if name not in allowed] + [
        f"{where}: no {name}" for name in sorted(required - set(mapping))]


def expressions(value):
    """The expressions `${{ }}` in a value."""
    return re.findall(r"\$\{\{\s*(.*?)\s*\}\}", json.dumps(value))


def faults_of(action):
    """The parts of an action that GitHub would refuse, or accept and leave empty."""
    found = misfits(action, TOP, "action") + misfits(action["runs"], RUNS, "runs")
    inputs, steps = action.get("inputs", {}), action["runs"].get("steps", [])
    for name, described in inputs.items():
        found += misfits(described, INPUT, name)
        found += [f"{name}: default is no text"] * (not isinstance(described.get("default", ""), str))
    for name, described in action.get("outputs", {}).items():
        found += misfits(described, OUTPUT, name)
    found += [f"{name}: no name of an input or output" for name in [*inputs, *action.get("outputs", {})]
              if not re.fullmatch(r"[A-Za-z_][\w-]*", name)]
    found += ["using is not composite"] * (action["runs"]["using"] != "composite")
    known = {f"inputs.{name}" for name in inputs}
    used = set()
    for number, step in enumerate(steps):
        where = step.get("name", f"step {number}")
        found += misfits(step, RUN_STEP if "run" in step else USES_STEP, where)
        found += [f"{where}: an expression in the text of a script, which an input could end"] * bool(
            expressions(step.get("run", "")))
        found += [f"{where}: its action has no version"] * ("@" not in step.get("uses", "@"))
        found += [f"{where}: unknown {name}" for name in expressions(step) if name not in known]
        used.update(expressions(step))
        known |= {f"steps.{step.get('id')}.outputs.{name}"
                  for name in re.findall(r'echo "(\w+)=.*>> "\$GITHUB_OUTPUT"', step.get("run", ""))}
    found += [f"outputs: unknown {name}" for name in expressions(action.get("outputs", {})) if name not in known]
    return found + [f"{name}: is not used" for name in inputs if f"inputs.{name}" not in used]


class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = folder.name
        with open(self.path("model.py"), "w") as file:
            file.write(MODEL)
        shutil.copytree(within("dist"), self.path("dist"))
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY", "PYTHON"))}
        self.environment.update(PIP_NO_INDEX="1", PATH=within("environment", "bin") + ":" + os.environ["PATH"])

    def path(self, *parts):
        return os.path.join(self.work, *parts)

    def run_script(self, text, environment):
        return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text], cwd=self.work, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**self.environment, **environment})


class GitHub(Steps):
    def setUp(self):
        super().setUp()
        self.action = parsed("action.yml")

    def act(self, **given):
        """The exit code of the action with these inputs, its output, the summary of the job, and the files that it keeps."""
        values = {f"inputs.{name}": described.get("default", "") for name, described in self.action["inputs"].items()}
        values.update({"inputs." + name.replace("_", "-"): value for name, value in given.items()})
        summary, outputs, said, kept, code = self.path("summary"), self.path("outputs"), "", None, 0

        def filled(text):
            return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda found: values[found.group(1)], text)
        for step in self.action["runs"]["steps"]:
            if code and step.get("if") != "always()":
                continue
            if "uses" in step:
                self.assertEqual(step["uses"].partition("@")[0], "actions/upload-artifact")
                folder = self.path(filled(step["with"]["path"]))
                kept = sorted(os.path.relpath(os.path.join(parent, name), folder)
                              for parent, _, names in os.walk(folder) for name in names)
                continue
            done = self.run_script(step["run"], {"GITHUB_STEP_SUMMARY": summary, "GITHUB_OUTPUT": outputs, **{
                name: filled(text) for name, text in step.get("env", {}).items()}})
            said, code = said + done.stdout, code or done.returncode
            if os.path.exists(outputs):
                values.update({f"steps.{step['id']}.outputs.{name}": value for name, value in (
                    line.split("=", 1) for line in read(outputs).splitlines()) if "id" in step})
        return code, said, read(summary) if os.path.exists(summary) else "", kept

    def test_the_metadata_is_what_github_asks_for(self):
        self.assertEqual(faults_of(self.action), [])

    def test_what_github_would_refuse_is_found(self):
        def changed(change):
            action = copy.deepcopy(self.action)
            change(action, action["runs"]["steps"])
            return faults_of(action)
        for change, fault in ((lambda action, steps: action.pop("description"), "action: no description"),
                              (lambda action, steps: action.update(on="push"), "action: unknown on"),
                              (lambda action, steps: action["runs"].update(using="node20"), "using is not composite"),
                              (lambda action, steps: steps[0].pop("shell"), "Install: no shell"),
                              (lambda action, steps: steps[0].update(timeout="1"), "Install: unknown timeout"),
                              (lambda action, steps: steps[0]["env"].update(A="${{ inputs.whel }}"),
                               "Install: unknown inputs.whel"),
                              (lambda action, steps: steps[0].update(run="echo ${{ inputs.wheel }}"),
                               "Install: an expression in the text of a script, which an input could end"),
                              (lambda action, steps: action["inputs"].update(more={"description": "x"}), "more: is not used"),
                              (lambda action, steps: action["inputs"]["seed"].update(default=1), "seed: default is no text"),
                              (lambda action, steps: steps[1].update(run="true"), "Verdict: unknown steps.gate.outputs.code")):
            with self.subTest(fault):
                self.assertIn(fault, changed(change))

    def test_a_right_candidate_passes_by_the_wheel(self):
        code, said, summary, kept = self.act(wheel="dist/assay-*.whl", candidates="python:model:scan", dtypes="f32",
                                             operations="heinsen/scan", options=FEW, seed="7")
        self.assertEqual(code, 0, said)
        self.assertIn("# Assay: scan - passed", summary)
        self.assertIn("junit.xml", kept)
        report = json.loads(read(self.path("assay-report", "report.json")))
        self.assertEqual((report["seed"], {check["dtype"] for check in report["checks"]}), ("7", {"f32"}))

    def test_of_several_candidates_each_has_a_report_and_the_worst_code_counts(self):
        code, said, summary, kept = self.act(wheel="dist/assay-*.whl", dtypes="f32,f64", options=FEW, report="kept",
                                             candidates="# ours\npython:model:scan\n\npython:model:forgets\n")
        self.assertEqual(code, 1, said)
        for words in ("# Assay: scan - passed", "# Assay: forgets - failed", "\n| | scan: **passed** | forgets: **failed** |\n"):
            self.assertIn(words, summary)
        self.assertLessEqual({"1-python-model-scan/report.json", "2-python-model-forgets/report.json"}, set(kept))

    def test_known_failures_and_wrong_options(self):
        with open(self.path("known.txt"), "w") as file:
            file.write("value heinsen/scan f32  # issue 1\n")
        options_of_one = {"wheel": "dist/assay-*.whl", "candidates": "python:model:forgets", "dtypes": "f32", "options": FEW}
        code, said, summary, _ = self.act(**options_of_one, known_failures="known.txt")
        self.assertEqual(code, 0, said)
        code, said, summary, _ = self.act(**{**options_of_one, "options": "--famly=mild"})
        self.assertEqual(code, 2)
        self.assertIn("# Assay: no report of `python:model:forgets`\n\n`assay gate` ended with exit code 2: see the log.",
                      summary)
        code, said, _, _ = self.act(**{**options_of_one, "candidates": "python:model:scan\npython:model:forgets"},
                                    baseline="report.json")
        self.assertEqual(code, 2)
        self.assertIn("are of one candidate: give each a job of its own", said)
        self.assertIn("--candidates names none", self.act(**{**options_of_one, "candidates": "# none"})[1])


class GitLab(Steps):
    def test_its_job_is_one_and_leaves_what_it_keeps(self):
        (name, job), = parsed("gitlab.yml").items()
        self.assertTrue(name.startswith("."), "a template is no job of its own")
        self.assertEqual(misfits(job, JOB, name) + misfits(job["artifacts"], ARTIFACTS, "artifacts"), [])
        self.assertEqual(job["artifacts"]["when"], "always")
        script = "\n".join(job["script"])
        self.assertEqual(set(re.findall(r"\$(\w+)", script)), set(job["variables"]))
        given = {"ASSAY_WHEEL": "dist/assay-*.whl", "ASSAY_DTYPES": "f32", "ASSAY_OPTIONS": FEW}
        self.assertLessEqual(set(given), set(job["variables"]))
        for candidates, code in (("python:model:scan", 0), ("python:model:scan\npython:model:forgets", 1)):
            done = self.run_script(script, {**job["variables"], **given, "ASSAY_CANDIDATES": candidates})
            self.assertEqual(done.returncode, code, done.stdout)
        for kept in (*job["artifacts"]["paths"], *job["artifacts"]["reports"]["junit"]):
            self.assertTrue(glob.glob(self.path(kept)), kept)


if __name__ == "__main__":
    missing = [name for name in ("yaml", "wheel", "ensurepip", "numpy") if importlib.util.find_spec(name) is None]
    if missing or not shutil.which("patchelf"):
        print(f"skipped: no patchelf, or no {', '.join(missing)} (tools/install_dependencies package python lint)")
        sys.exit(77)
    with open(os.path.join(os.environ["BUILD"], "bin", "assay"), "rb") as program:
        if b"san_init" in program.read():
            print("skipped: built with a sanitizer")
            sys.exit(77)
    import yaml
    unittest.main()
