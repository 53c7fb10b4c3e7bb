"""Report folders that the tests of the reports share: one run of the gate per kind of outcome."""
import json
import os
import subprocess

ASSAY = os.environ["ASSAY"]
HERE = os.path.dirname(os.path.abspath(__file__))
ADAPTERS = os.path.join(HERE, "..", "adapters", "python")

# One operation with its derivatives in one dtype: these tests are about the reports, not the checks.
ONE = ("--operation", "heinsen/scan", "--dtype", "f32")
SMALL = (*ONE, "--max-elements", "2000")  # no large sizes, where a report is not about them
# What is drawn: the checks that decide a class.
DRAWN = ("value", "vjp", "jvp")

# All that a name may do to a document: Markdown, HTML, XML, a terminal, a shell, other languages' direction.
HOSTILE_NAME = "a|b `c` ``d`` <script>alert(1)</script> </title> ]]> *e* [f](http://g) @h & \"i\" 'j' $(k)\n\x01\x1b[31m\u202el"

CANDIDATE = """
import sys
sys.path.insert(0, {adapters!r})
import numpy as np
from assay import Candidate
candidate = Candidate({name!r}, properties={{"deterministic": True}})

@candidate.numpy("heinsen/scan", dtypes=["f32"]{options})
def scan(log_p, h, s0):
    s, states = s0.astype(float), np.zeros(h.shape)
    with np.errstate(all="ignore"):
        for i in range(h.shape[1]):
            states[:, i] = s = np.logaddexp(log_p[:, i].astype(float) + s, h[:, i].astype(float))
    {fault}
    return {{"s": states.astype(h.dtype), "s_n": s.astype(h.dtype)}}

candidate.serve()
"""


HOSTILE = "process:/usr/bin/python3 " + os.path.join(HERE, "..", "transports", "tests", "candidates", "hostile.py")


class Reports:
    def __init__(self, folder):
        self.folder = folder

    def candidate(self, file, **parts):
        path = os.path.join(self.folder, file)
        with open(path, "w") as out:
            out.write(CANDIDATE.format(**{"adapters": ADAPTERS, "name": file, "options": "", "fault": "pass", **parts}))
        return "process:/usr/bin/python3 " + path

    def gate(self, name, candidate, *arguments, expect):
        """Runs the gate from the folder of the reports, as a user would; returns the folder of this report."""
        done = subprocess.run([ASSAY, "gate", "--candidate", candidate, "--report", name, *arguments],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=self.folder)
        if done.returncode != expect:
            raise AssertionError(f"{name}: exit code {done.returncode} instead of {expect}\n{done.stderr[-3000:]}")
        return os.path.join(self.folder, name)

    def make(self):
        """By name: the folders of one run of each kind."""
        nan = "states[:, 2:] = np.nan"
        return {
            "passing": self.gate("passing", "builtin:optimized", *ONE, expect=0),
            "failing": self.gate("failing one's report", "builtin:mutant/ignores_initial_state", *SMALL, expect=1),
            "broken": self.gate("broken", "process:/nonexistent/program", *SMALL, expect=3),
            "crashing": self.gate("crashing", self.candidate("crashing.py", fault="sys.exit(7)"), *SMALL, expect=3),
            "last words": self.gate("last words", HOSTILE + " 'last words'", *SMALL, expect=1),
            "not starting": self.gate("not starting", HOSTILE + " 'crash at hello'", *SMALL, expect=3),
            "narrow": self.gate("narrow", self.candidate(
                "narrow.py", options=", domain={'h': [-3, 3], 's0': [-3, 3], 'log_p': [-3, 0]}"), *SMALL, expect=0),
            "nan": self.gate("nan", self.candidate("nan.py", fault=nan), *SMALL, expect=1),
            "wide": self.gate("wide", self.candidate("wide.py", fault="states[:, :, 64:] += 1"), *ONE, "--property", "value",
                              expect=1),
            "hostile": self.gate("hostile", self.candidate(
                "hostile.py", name=HOSTILE_NAME, fault="if states.shape[1] > 3: raise ValueError(" + repr(HOSTILE_NAME) + ")"), *SMALL,
                expect=1),
        }


def drawn_checks(report):
    return [c for c in report["checks"] if c["property"] in DRAWN and "error_along" in c]


def text_of(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def report_of(folder):
    return json.loads(text_of(folder, "report.json"))


def failures_of(report):
    """The failed checks that are no consequence of another one."""
    return [(c["property"], c["operation"], c["dtype"]) for c in report["checks"]
            if c["verdict"] == "failed" and "by_fault_of" not in c]


def consequences_of(report):
    """For each check that found a fault: the names of the checks that fail by the same fault."""
    found = {}
    for c in report["checks"]:
        if "by_fault_of" in c:
            found.setdefault((c["by_fault_of"], c["operation"], c["dtype"]), []).append(c["property"])
    return found
