"""Tests of assay.check. pytest runs them; ASSAY names the program. They also show how assay.check is used."""
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import assay


def scan(log_p, h, s0):
    s, last = np.empty_like(h), s0
    with np.errstate(all="ignore"):
        for i in range(h.shape[1]):
            last = s[:, i] = np.logaddexp(log_p[:, i] + last, h[:, i])
    return s, last


def test_a_right_function_passes(capfd, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assay.check(scan, dtypes=["f32"])
    assert os.listdir(tmp_path) == []
    assert capfd.readouterr().out == ""


def test_a_closure_that_is_wrong_fails_with_words_and_a_report(tmp_path):
    forgotten = 0.0

    def ignores_the_state(a, b, state):  # its parameters have other names, and are taken by position
        return scan(a, b, state * np.float32(forgotten))
    with pytest.raises(AssertionError) as failure:
        assay.check(ignores_the_state, "heinsen/scan", dtypes=["f32"], report=tmp_path / "report")
    text = str(failure.value)
    assert "- failed" in text and "**value** of `heinsen/scan` in f32" in text
    summary = re.search(r"Report: (\S+)", text).group(1)
    assert summary == str(tmp_path / "report" / "summary.md") and os.path.exists(summary)


def test_an_exception_of_the_function_is_named():
    def broken(log_p, h, s0):
        raise ZeroDivisionError("no such kernel")
    with pytest.raises(AssertionError, match="ZeroDivisionError: no such kernel"):
        assay.check(broken, "heinsen/scan", dtypes=["f32"])


def test_the_derivative_comes_from_autograd():
    torch = pytest.importorskip("torch")

    def detached(log_p, h, s0):
        s, states = s0.detach(), []
        for a, b in zip(log_p.unbind(1), h.unbind(1)):
            s = torch.logaddexp(a + s, b)
            states.append(s)
        return torch.stack(states, 1) if states else torch.empty_like(h), s
    with pytest.raises(AssertionError) as failure:
        assay.check(detached, "heinsen/scan", dtypes=["f32"], vjp_domain={"state": "finite"})
    assert "of `heinsen/scan:vjp` in f32: grad_s0" in str(failure.value)
    assert "of `heinsen/scan` in f32" not in str(failure.value)


def test_a_class_may_be_required():
    def prefix_sums(log_p, h, s0):
        a = np.cumsum(log_p, 1, dtype=h.dtype)
        with np.errstate(all="ignore"):
            s = a + np.logaddexp.accumulate(np.concatenate([s0[:, None], h - a], 1), 1)[:, 1:]
        return s.astype(h.dtype), (s[:, -1] if s.shape[1] else s0).astype(h.dtype)
    with pytest.raises(AssertionError, match="class cumsum"):
        assay.check(prefix_sums, "heinsen/scan", dtypes=["f32"], domain={"log_p": "finite"},
                    require_class=["sequential", "tree"])
    with pytest.raises(AssertionError, match="must keep 6 digits up to 1024 and keeps"):
        assay.check(prefix_sums, "heinsen/scan", dtypes=["f32"], domain={"log_p": "finite"}, require_digits="6@1024")


def test_what_is_no_operation():
    with pytest.raises(assay.NotAnOperation, match=r"parameters \(a, b\)"):
        assay.check(lambda a, b: a)
    with pytest.raises(assay.NotAnOperation, match="unknown operation 'heinsen/scam'"):
        assay.check(scan, "heinsen/scam")
    with pytest.raises(assay.WrongClaim, match="assay.check has the unknown declaration tolerance; known: operation, dtypes, "):
        assay.check(scan, tolerance=1e-3)
    with pytest.raises(RuntimeError, match="status 2"):
        assay.check(scan, options=["--no-such-option"])


def test_what_is_no_program(monkeypatch, tmp_path):
    for named in (tmp_path / "nothing", tmp_path):
        monkeypatch.setenv("ASSAY", str(named))
        with pytest.raises(FileNotFoundError, match=f"^ASSAY names {named}, which is no program that can be started: name"):
            assay.check(scan)
    monkeypatch.setenv("ASSAY", "true")  # a program on PATH, but not Assay
    with pytest.raises(RuntimeError, match="^true does not answer as Assay does: .* ended with status 0"):
        assay.check(scan)


def test_without_numpy_it_says_what_to_install():
    program = "import sys; sys.path.insert(0, {!r}); import assay; assay.check(len)".format(
        os.path.dirname(os.path.dirname(os.path.abspath(assay.__file__))))
    done = subprocess.run([sys.executable, "-B", "-S", "-c", program], capture_output=True, text=True)
    assert f"assay.check needs NumPy, which {sys.executable} does not have: install it there" in done.stderr


def test_a_device_that_is_not_there_is_said_before_any_case():
    torch = pytest.importorskip("torch")

    @assay.candidate(device="gpu")
    def far(log_p, h, s0):
        pytest.fail(f"called with {torch.is_tensor(h)}")
    with pytest.raises(assay.WrongClaim, match="device is 'gpu', which torch does not know"):
        assay.check(far, dtypes=["f32"])
    with pytest.raises(assay.WrongClaim, match="a Candidate says itself what holds for it: declare device where it is made"):
        assay.check(assay.Candidate("c"), device="cpu")
