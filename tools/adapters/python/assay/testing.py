"""In place of torch.testing.assert_close and numpy.testing.assert_allclose, where the reference is a function:

    assay.testing.assert_close(kernel(q, k, v), attention, q, k, v)

There is no tolerance: the reference is evaluated exactly, and each element may err by what roundings explain.
"""
from assay.asking import judge
from assay.formulas.doors import as_function
from assay.signature import signature_of


def assert_close(actual, reference, *inputs, dtype=None, compute=None, strict=False, **named):
    """AssertionError unless `actual` is reference(*inputs, **named) but for rounding. `reference`: a plain function of
    NumPy, torch or JAX, or a module of torch in evaluation mode (assay/formulas). `actual`: its output, several as a tuple
    or a dict. `dtype`, `compute` and `strict` as in assay.judge; a parameter of the reference that is called so is given
    by its position.

    TypeError where the inputs are not those of the reference; CannotTrace, which is one, where it is no formula.

        >>> from model import softmax
        >>> x = numpy.array([[0.5, -1.0, 2.0]], "float32")
        >>> y = numpy.exp(x) / numpy.exp(x).sum(-1, keepdims=True)  # of a kernel
        >>> assay.testing.assert_close(y, softmax, x)
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    formula = as_function(reference)
    own = getattr(formula, "values", dict)()
    given = signature_of(formula).bind(*inputs, **{**own, **named}).arguments
    judge(formula, actual, dtype=dtype, compute=compute, strict=strict, **given)
