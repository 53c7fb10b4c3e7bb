"""torch.matrix_exp of a rotation by 0.03, in float64; exp([[0, t], [-t, 0]]) is [[cos t, sin t], [-sin t, cos t]]."""
import shared
import mpmath
import numpy
import torch

shared.installed("torch", "2.13")


def rotation(t):
    return torch.matrix_exp(torch.tensor([[0, t], [-t, 0]], dtype=torch.float64))


t = 0.03
y = float(rotation(t)[0, 1])
with mpmath.workdps(40):
    exact = mpmath.sin(mpmath.mpf(t))
    shared.proof(f"sin({t}) = {mpmath.nstr(exact, 20)}; torch.matrix_exp has {y!r}, off by {mpmath.nstr(y - exact, 5)}.")
    share = (exact - y) / (mpmath.mpf(t) ** 5 / 120)
    shared.proof(f"The error is {mpmath.nstr(share, 3)} of t^5 / 5! = {t ** 5 / 120:.4g}: the term of degree 5 is "
                 "a tenth too small.")


def ask(word, t):
    shared.ask(word, "liere/rotation", rotation(t)[None], dtype="f64", generators=numpy.array([[[0, t], [-t, 0]]]),
               position=numpy.ones((1, 1)))


ask("control", 0.5)
ask("Assay", t)
