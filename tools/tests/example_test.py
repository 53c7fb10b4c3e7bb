#!/usr/bin/env python3
"""A worked example in a shared library passes the gate. Argument: the library. Ends with status 77 (skipped, in
CTest's words) where it was not built."""
import os
import subprocess
import sys
import tempfile

library = sys.argv[1]
if not os.path.exists(library):
    print(f"skipped: {library} was not built (Debian: rustc)")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([os.environ["ASSAY"], "gate", "--candidate", "library:" + library, "--operation",
                           "heinsen/scan", "--dtype", "f32", "--require-class", "uniform,sequential",
                           "--report", folder], capture_output=True, text=True, timeout=300)
print(done.stdout)
if done.returncode != 0:
    sys.exit(f"assay gate ended with status {done.returncode}\n{done.stderr}")
