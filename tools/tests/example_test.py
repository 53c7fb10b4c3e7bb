#!/usr/bin/env python3
"""A worked example passes the gate. Arguments: a shared library, and an operation if
it is not heinsen/scan; or a Python program and the encoding that it computes; or
the specification of a candidate (python:..., library:...) and options of the gate.
Ends with status 77 (skipped, in CTest's words) where the library was not built or Python has no torch."""
import os
import subprocess
import sys
import tempfile

example = sys.argv[1]
is_candidate = example.startswith(("python:", "library:"))
if not is_candidate and not os.path.exists(example):
    print(f"skipped: {example} was not built (Debian: rustc)")
    sys.exit(77)
if example.endswith(".py") or example.startswith("python:"):
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode != 0:
        print(f"skipped: {sys.executable} has no torch (Debian: python3-torch)")
        sys.exit(77)
if is_candidate:
    what = sys.argv[1:]
elif example.endswith(".py"):
    what = ["process:" + sys.executable + " " + example, "--encoding", sys.argv[2], "--dtype", "f32"]
elif len(sys.argv) > 2:
    what = ["library:" + example, "--operation", sys.argv[2]]
else:
    what = ["library:" + example, "--operation", "heinsen/scan", "--dtype", "f32", "--require-class",
            "uniform,sequential"]
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([os.environ["ASSAY"], "gate", "--candidate", *what, "--report", folder], capture_output=True,
                          text=True, env={"ASSAY_PYTHON": sys.executable, **os.environ})
print(done.stdout)
if done.returncode != 0:
    sys.exit(f"assay gate ended with status {done.returncode}\n{done.stderr}")
