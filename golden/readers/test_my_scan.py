"""A test of your scan against Assay's golden set, for pytest. CC0: copy it with golden_reader.py, put your function
into my_scan, and name the folder of the set in GOLDEN.

    GOLDEN=golden/sets/heinsen python3 -m pytest -rs test_my_scan.py

For other operations change OPERATION, the call and the outputs; `assay list operations` and the files' metadata have
their names.
"""
import glob
import os

import numpy
import pytest

import golden_reader

OPERATION = "heinsen/scan"
OUTPUTS = ("s", "s_n")
FOLDER = os.environ.get("GOLDEN", ".")
LARGEST_EXPONENT = {"f64": 1023, "f32": 127, "bf16": 127, "f16": 15}


LEFT_OUT = []  # files of other operations


def files():
    for path in sorted(glob.glob(FOLDER + "/*.safetensors")):
        tensors, about = golden_reader.read(path)
        if about.get("operation") == OPERATION:
            yield pytest.param(path, tensors, about, id=os.path.basename(path))
        else:
            LEFT_OUT.append(path)


FILES = list(files())


def my_scan(log_p, h, s0):
    """log_p, h [B, n, d], s0 [B, d] -> all states s [B, n, d] and the last one s_n [B, d]: here goes yours"""
    states = [s0]
    for i in range(h.shape[1]):
        states.append(numpy.logaddexp(log_p[:, i] + states[-1], h[:, i]))
    return numpy.stack(states[1:], 1) if states[1:] else h, states[-1]


def right(x, y, allowed, emax):
    """The places where x is right, given the truth y; emax is the exponent of the largest number of the dtype."""
    with numpy.errstate(all="ignore"):
        near = numpy.isfinite(x) & numpy.isfinite(y) & (abs(x - y) <= allowed)
        over = numpy.isinf(allowed) & (x * y > 0) & (numpy.minimum(abs(x), abs(y)) >= 2.0 ** emax)
    return (x == y) | near | over | (numpy.isnan(x) & numpy.isnan(y))


def test_there_are_files():
    assert FILES, f"no file of {OPERATION} in {FOLDER}: name the folder in GOLDEN"


def test_no_file_is_left_out():
    if LEFT_OUT:
        pytest.skip(f"{len(LEFT_OUT)} files of other operations are left out")


@pytest.mark.parametrize("path, tensors, about", FILES)
def test_my_scan(path, tensors, about):
    with numpy.errstate(invalid="ignore"):  # some inputs are NaN
        results = my_scan(*(tensors[name].values for name in ("log_p", "h", "s0")))
    for name, x in zip(OUTPUTS, results):
        y = tensors[name].values
        # The reader returns bf16 as float32, so my_scan computes in float32.
        bug = tensors[name + (":bug.f32" if tensors[name].dtype == "BF16" else ":bug")].values
        assert x.shape == y.shape, f"{path}: {name} has the shape {x.shape}, not {y.shape}"
        x, y = x.astype("f8"), y.astype("f8")
        bad = ~right(x, y, bug, LARGEST_EXPONENT[about["dtype"]])
        if bad.any():
            index = tuple(int(i) for i in numpy.argwhere(bad)[0])
            pytest.fail(f"{path} ({about['reason']}): {bad.sum()} of {bad.size} elements of {name} are wrong, first "
                        f"{name}{list(index)} = {x[index]}, truth {y[index]}, allowed {bug[index]}", pytrace=False)
