"""Where the program and libassay_scan lie: beside this package, as a wheel has them, or in the prefix whose
share/assay/python it is in."""
import os
import shutil
import sys

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def beside(*parts):
    """The path of what is installed together with this package, such as bin/assay; None where it is not."""
    prefixes = (PACKAGE, os.path.normpath(os.path.join(PACKAGE, "..", "..", "..", "..")))
    paths = (os.path.join(prefix, *parts) for prefix in prefixes)
    return next(filter(os.path.isfile, paths), None)


def program():
    """The path of the program `assay`: $ASSAY, beside this package, or on PATH."""
    found = os.environ.get("ASSAY") or beside("bin", "assay") or shutil.which("assay")
    if not found:
        raise FileNotFoundError("the program 'assay' was not found: name it in the environment variable ASSAY")
    return found


def environment():
    """That of a program started from here: candidates are Python functions of this interpreter, if nothing else is
    said."""
    return {**os.environ, "ASSAY_PYTHON": os.environ.get("ASSAY_PYTHON") or sys.executable}
