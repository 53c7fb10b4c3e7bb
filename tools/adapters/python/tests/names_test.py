"""What may be imported, in an interpreter of its own: names of the package, and modules by their former names."""
import glob
import inspect
import os
import subprocess
import sys

import pytest

import assay

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FORMER = sorted(os.path.basename(path)[:-len(".py")] for path in glob.glob(os.path.join(FOLDER, "assay_*.py")))


def python(program, *options):
    done = subprocess.run([sys.executable, "-B", *options, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": FOLDER})
    assert done.returncode == 0, done.stderr
    return done


def test_every_name_of_the_package_is_there():
    assert {"Candidate", "candidate", "check", "program", "scan"} <= set(assay.__all__) <= set(dir(assay))
    for name in assay.__all__:
        found = getattr(assay, name)
        assert callable(found) or inspect.ismodule(found)
    with pytest.raises(AttributeError, match="module 'assay' has no attribute 'chek'"):
        assay.chek


def test_the_package_alone_needs_no_other():
    assert python("import sys, assay, assay.installed\nprint('numpy' in sys.modules)").stdout == "False\n"


def test_there_are_former_names():
    assert FORMER == ["assay_adapters", "assay_claims", "assay_host", "assay_scan", "assay_scan_library"]


@pytest.mark.parametrize("old", FORMER)
def test_a_former_name_is_the_module_and_says_so(old):
    done = python(f"import sys\nimport {old} as module\nprint(module.__name__, module is sys.modules[module.__name__])")
    new, same = done.stdout.split()
    assert same == "True" and new.startswith("assay.")
    assert f"<string>:2: FutureWarning: {old} is now {new}" in done.stderr


def test_what_was_documented_is_still_written():
    python("from assay_adapters import from_cos_sin, heads_first\nfrom assay_host import Candidate, Unsupported\n"
           "from assay_claims import WORDS\nimport assay\nassert Candidate is assay.Candidate", "-Wignore::FutureWarning")
