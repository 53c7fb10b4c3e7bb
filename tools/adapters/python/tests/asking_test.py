"""Tests of assay.truth and assay.judge, run by pytest with ASSAY set to the program."""
import json
import os
import struct
import threading

import numpy as np
import pytest

import assay
from assay.tensors import bf16_to_f32, read_safetensors

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(2, 5, 3, 8)).astype(np.float32)
POSITION = np.tile(np.arange(5), (2, 1))


def rotate(x, position, half_split):
    theta = 10000.0 ** (-np.arange(4) / 4)
    angle = position[:, :, None, None] * theta
    first, second = (slice(0, 4), slice(4, 8)) if half_split else (slice(0, 8, 2), slice(1, 8, 2))
    y = x.astype(np.float64)
    a, b = y[..., first].copy(), y[..., second].copy()
    y[..., first] = a * np.cos(angle) - b * np.sin(angle)
    y[..., second] = a * np.sin(angle) + b * np.cos(angle)
    return y.astype(x.dtype)


def test_the_truth_is_correctly_rounded_and_says_what_is_allowed():
    expected = assay.truth("rope/rotate", x=X, position=POSITION, layout="half_split")
    y = rotate(X, POSITION, True)
    np.testing.assert_array_equal(expected["y"], y)
    assert list(expected) == list(expected.allowed) == ["y"]
    assert expected.allowed["y"].dtype == np.float64 and (0 < expected.allowed["y"]).all()
    assert (expected.allowed["y"] < 1e-5).all()


def test_right_outputs_pass_and_wrong_ones_say_what_they_are():
    y = rotate(X, POSITION, True)
    assert assay.judge("rope/rotate", y, x=X, position=POSITION, layout="half_split").startswith("right: 240 elements")
    with pytest.raises(AssertionError) as failure:
        assay.judge("rope/rotate", {"y": y}, x=X, position=POSITION)
    text = str(failure.value)
    assert text.startswith("rope/rotate: wrong: y[0, 1, 0, 0]: expected ") and "allowed" in text
    assert text.endswith('asked for layout = "interleaved", behaves as layout = "half_split"')


def test_errors_on_one_side_are_suspicious_and_wrong_where_it_is_strict():
    source = np.random.default_rng(1)
    inputs = {"slopes": np.float32([0.5, 0.25]), "query_position": np.arange(128), "key_position": np.arange(128),
              "grad_bias": source.normal(size=(2, 128, 128)).astype("f4")}
    expected = assay.truth("alibi/bias:vjp", **inputs)
    (name, right), = expected.items()
    off = (right + 0.1 * expected.allowed[name]).astype("f4")
    assert "suspicious" not in assay.judge("alibi/bias:vjp", right, **inputs, strict=True)
    assert "suspicious: " in assay.judge("alibi/bias:vjp", off, **inputs)
    with pytest.raises(AssertionError, match="suspicious: grad_slopes"):
        assay.judge("alibi/bias:vjp", off, **inputs, strict=True)


def test_outputs_of_another_shape_or_dtype_fail():
    y = rotate(X, POSITION, False)
    for wrong, said in ((y[:1], "shape"), (y.astype(float), "f64")):
        with pytest.raises(AssertionError, match=said):
            assay.judge("rope/rotate", wrong, x=X, position=POSITION)


def test_derivatives_several_outputs_and_numbers_of_python():
    gradient = assay.truth("rope/rotate:vjp", x=X, position=POSITION, grad_y=X)["grad_x"]
    assay.judge("rope/rotate:vjp", gradient, x=X, position=POSITION, grad_y=X)
    log_p, h = [[[-1.0]]], [[[0.0]]]
    states = assay.truth("heinsen/scan", log_p=log_p, h=h, s0=[[0.1]], dtype="f64")
    assert states["s"].shape == (1, 1, 1) and states["s"].dtype == np.float64
    assay.judge("heinsen/scan", (states["s"], states["s_n"]), log_p=log_p, h=h, s0=[[0.1]], dtype="f64")
    with pytest.raises(ValueError, match="has the outputs s, s_n, and 1 came"):
        assay.judge("heinsen/scan", states["s"], log_p=log_p, h=h, s0=[[0.1]], dtype="f64")
    assert assay.truth("alibi/slopes", heads=2, dtype="f16")["slopes"].tolist() == [0.0625, 0.00390625]


def test_a_base_outside_of_the_domain_has_what_the_formula_gives():
    theta = assay.truth("rope/extended_frequencies", base=np.array([-1.0, np.nan, np.inf]), pairs=2)["theta"]
    assert np.isnan(theta[:2]).all() and theta[2].tolist() == [1.0, 0.0]


def test_bf16_is_float32_and_wider_where_the_arithmetic_is_less_precise():
    x = (X.view(np.uint32) >> 16 << 16).view(np.float32)
    usual = assay.truth("rope/rotate", x=x, position=POSITION, dtype="bf16")
    assert usual["y"].dtype == np.float32 and not (usual["y"].view(np.uint32) & 0xFFFF).any()
    wide = assay.truth("rope/rotate", x=x, position=POSITION, dtype="bf16", compute={"angle": "bf16"})
    assert (wide.allowed["y"] > 1.5 * usual.allowed["y"]).any()
    with pytest.raises(ValueError, match="'x' holds numbers that are none of bf16"):
        assay.truth("rope/rotate", x=X, position=POSITION, dtype="bf16")


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor(X, requires_grad=True)
    y = torch.tensor(rotate(X, POSITION, False))
    assay.judge("rope/rotate", y, x=x, position=torch.tensor(POSITION, dtype=torch.int32))
    halves = torch.tensor(X).bfloat16()
    expected = assay.truth("rope/rotate", x=halves, position=POSITION)
    assert expected["y"].dtype == torch.bfloat16 and expected.allowed["y"].dtype == torch.float64
    assay.judge("rope/rotate", expected["y"], x=halves, position=POSITION)
    expected = assay.truth("rope/rotate", x=x, position=POSITION)
    assert torch.equal(expected["y"], y) and bool(((y - expected["y"]).abs() <= expected.allowed["y"]).all())


def test_settings_are_numbers_of_numpy_too():
    plain = dict(layout="half_split", rotary=2, base=100.0)
    y = assay.truth("rope/rotate", x=X, position=POSITION, **plain)["y"]
    own = dict(layout=np.str_("half_split"), rotary=np.int64(2), base=np.float32(100))
    assert assay.judge("rope/rotate", y, x=X, position=POSITION, compute=None, **own).startswith("right: ")
    assert assay.truth("alibi/slopes", heads=np.array(2))["slopes"].shape == (2,)


@pytest.mark.parametrize("arguments, said", [
    (dict(operation="rope/rotat"), "unknown operation 'rope/rotat' .near: rope/rotate"),
    (dict(z=1), "rope/rotate has no input or setting 'z'; inputs: x, position; settings: layout, rotary, base"),
    (dict(layout="half"), "attribute 'layout' must be one of"),
    (dict(x=X.astype(float)), "f64"),
    (dict(x=X[:1]), "B"),
    (dict(x=X.astype(complex)), "complex128, which Assay does not know"),
    (dict(position=POSITION.astype(float)), "i64"),
    (dict(dtype="f8"), "unknown dtype 'f8'"),
    (dict(compute="f16"), "must not be less precise than f32"),
    (dict(accuracy_class="best"), "unknown accuracy class 'best'")])
def test_a_call_that_is_none(arguments, said):
    call = {"operation": "rope/rotate", "x": X, "position": POSITION, "dtype": "f32", **arguments}
    with pytest.raises(ValueError, match=said):
        assay.truth(call.pop("operation"), **call)


def test_calls_come_from_several_threads_and_leave_no_files():
    from assay import serving
    found = []
    def ask(k):
        found.append(assay.truth("rope/rotate", x=X[:, k:k + 1], position=POSITION[:, k:k + 1])["y"])
    threads = [threading.Thread(target=ask, args=(k,)) for k in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 5
    assert os.listdir(serving.running().folder) == []


def test_a_process_that_was_killed_is_started_again():
    from assay import serving
    assay.truth("alibi/slopes", heads=2)
    process = serving.running().process
    process.kill()
    process.wait()
    assert assay.truth("alibi/slopes", heads=2)["slopes"].shape == (2,)


GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "golden", "sets")


def golden_files():
    """The smallest file of every operation in every dtype; allowances stand there with few digits and a margin."""
    with open(os.path.join(GOLDEN, "index.json"), encoding="utf-8") as file:
        files = json.load(file)["files"]
    smallest = {}
    for f in files:
        key, size = (f["operation"], f["dtype"]), os.path.getsize(os.path.join(GOLDEN, f["file"]))
        if "nan" not in f["flags"] and size < smallest.get(key, (1 << 16, None))[0]:
            smallest[key] = (size, f)
    return [f for _, f in smallest.values()]


def test_every_operation_has_the_truth_and_the_allowance_of_the_golden_sets():
    operations = set()
    for f in golden_files():
        path = os.path.join(GOLDEN, f["file"])
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            roles = json.loads(json.loads(file.read(length))["__metadata__"]["roles"])
        tensors = {name: bf16_to_f32(array) if stored == "BF16" else array
                   for name, (stored, array) in read_safetensors(path).items()}
        call = {**{name: tensors[name] for name, role in roles.items() if role not in ("output", "low", "allowance")}, **f["settings"]}
        call.update(dtype=f["dtype"], compute=f["dtype"])
        found = assay.truth(f["operation"], **call)
        for name, array in found.items():
            np.testing.assert_array_equal(array, tensors[name], f["file"])
            if name + ":bug" in tensors:
                wider = tensors[name + ":bug"]
                assert (found.allowed[name] <= wider).all() and (found.allowed[name] >= 0.98 * wider).all(), f["file"]
        assert assay.judge(f["operation"], dict(found), **call).startswith("right: ")
        operations.add(f["operation"])
    from assay import serving
    assert operations == {d["name"] for d in serving.running().declarations}
