"""The command `assay` of a wheel, and `python -m assay`: the program beside this package. Candidates that are Python
functions get this interpreter, not the first python3 on PATH, which may lack their packages."""
import os
import sys

from assay.installed import PACKAGE, beside, environment


def main():
    program = beside("bin", "assay")  # not $ASSAY, nor what PATH has: either may be this command
    if program is None:
        sys.exit(f"the program 'assay' is missing beside {PACKAGE}: install its wheel again")
    os.execve(program, ["assay", *sys.argv[1:]], environment())


if __name__ == "__main__":
    main()
