"""tinygrad's cosine in float32, on its device PYTHON, which needs no compiler."""
import os
os.environ["DEV"] = "PYTHON"
import shared
import mpmath
import numpy

folder = shared.fetched("tinygrad", shared.version("0.14.0"))
Tensor = shared.imported(folder, "tinygrad.tensor").Tensor


def cosine(x):
    return numpy.cos(x)


x = numpy.array([0.5, 1.0, 100.5, 1000.75, 12345.625], numpy.float32)
y, s = Tensor(x).cos().numpy(), Tensor(x).sin().numpy()
with mpmath.workdps(40):
    shared.proof(f"cos(12345.625) = {mpmath.nstr(mpmath.cos(12345.625), 10)}; tinygrad has {y[-1]:.9g}. "
                 f"sin(12345.625) = {mpmath.nstr(mpmath.sin(12345.625), 10)}, and it has {s[-1]:.9g}.")
shifted = numpy.float32(numpy.pi / 2) - x[-1]
shared.proof(f"It has sin(pi/2 - x): pi/2 - 12345.625 is {shifted:.10g} in float32, and {numpy.pi / 2 - float(x[-1]):.10g}: "
             f"{float(shifted) - (numpy.pi / 2 - float(x[-1])):+.3g} apart.")
shared.ask("control", cosine, y[:3], x=x[:3])
shared.ask("Assay", cosine, y, x=x)
