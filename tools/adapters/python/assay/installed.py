"""Where the program and libassay_scan lie: beside this package, as a wheel has them, or in the prefix whose
share/assay/python it is in."""
import json
import os
import shutil
import subprocess
import sys

IS_HOST = "ASSAY_IMPORTS_FOR_A_CHECK"  # in the environment of a process that imports a user's file for a check
PACKAGE = os.path.dirname(os.path.abspath(__file__))


def beside(*parts):
    """The path of what is installed together with this package, such as bin/assay; None where it is not."""
    prefixes = (PACKAGE, os.path.normpath(os.path.join(PACKAGE, "..", "..", "..", "..")))
    paths = (os.path.join(prefix, *parts) for prefix in prefixes)
    return next(filter(os.path.isfile, paths), None)


def program():
    """The path of the program `assay`: $ASSAY, beside this package, or on PATH.

        >>> import subprocess
        >>> listed = subprocess.run([assay.program(), "list", "operations"], check=True, capture_output=True, text=True)
        >>> [line.split()[0] for line in listed.stdout.splitlines() if line.startswith("alibi/slopes")]
        ['alibi/slopes']
    """
    __tracebackhide__ = True  # of pytest
    found = os.environ.get("ASSAY") or beside("bin", "assay") or shutil.which("assay")
    if not found:
        raise FileNotFoundError("the program 'assay' was not found: name it in the environment variable ASSAY")
    if not shutil.which(found):
        named = "ASSAY names" if os.environ.get("ASSAY") else "beside this package there is"
        raise FileNotFoundError(f"{named} {found}, which is no program that can be started: name the program 'assay' in the "
                                "environment variable ASSAY, or unset it where the wheel is installed")
    return found


def declarations(formula=None):
    """The declarations of all operations, as the program lists them; with a formula, "python:MODULE:FUNCTION", only that of
    the formula."""
    __tracebackhide__ = True
    listed = subprocess.run([program(), "list", "operations", "--json", *(["--formula", formula] if formula else [])],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment())
    if formula and listed.returncode != 0:
        raise ValueError(listed.stderr.removeprefix("assay: ").strip())
    try:
        return json.loads(listed.stdout)
    except ValueError:
        raise RuntimeError(f"{program()} does not answer as Assay does: `assay list operations --json` ended with status "
                           f"{listed.returncode}. {listed.stderr[-500:]}".strip()) from None


def environment():
    """The environment of a program started from here: candidates in Python run in this interpreter, unless ASSAY_PYTHON
    names another."""
    return {**os.environ, "ASSAY_PYTHON": os.environ.get("ASSAY_PYTHON") or sys.executable}
