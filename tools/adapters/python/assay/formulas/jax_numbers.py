"""Numbers and arrays that depend on no input, between NumPy, JAX and a trace.

Results of the function's own expressions stay exact.
"""
import jax
import jax.numpy

from assay.formulas import functions
from assay.formulas.functions import UFUNCS
from assay.formulas.jax_operators import is_kind_of_float
from assay.formulas.plain import numpy
from assay.formulas.program import INTEGER, REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.traced import Size, Traced, as_traced, captured, constant, is_tracing, plain_number, writer


# Arrays of NumPy that the function makes.

class Known(numpy.ndarray):
    """A known array in a form that JAX takes: it takes only arrays of NumPy. What NumPy computes from it stays exact."""

    def __array_ufunc__(self, ufunc, method, *arguments, **more):
        if not is_tracing() or method != "__call__" or "out" in more:
            return getattr(ufunc, method)(*map(_plain, arguments), **more)
        if any(isinstance(x, jax.core.Tracer) for x in arguments):
            return NotImplemented
        if ufunc.__name__ not in UFUNCS:
            return ufunc(*map(_plain, arguments), **more)
        return for_jax(UFUNCS[ufunc.__name__](*arguments))


def _plain(x):
    return x.view(numpy.ndarray) if isinstance(x, Known) else x


def for_jax(x):
    """The result of a function of NumPy on known numbers, in the form that JAX takes."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(for_jax, x))
    if type(x) is not Traced or x.value is None:
        return x
    if not x.ndim:
        return plain_number(x) if x.kind == REAL else Size(x.value) if x.kind == INTEGER else bool(x.value)
    if x.kind == REAL:
        for digits in (numpy.float64, numpy.float32):
            writer().foreign[_key_of(x.value.astype(digits))] = x.value, functions.copied(x)
    return numpy.array(x.value).view(Known)


def _key_of(array):
    return array.dtype.name, array.shape, array.tobytes()


def known_array(array):
    """The exact array behind a value from `for_jax`; None for other values."""
    return writer().foreign.get(_key_of(_plain(numpy.asarray(array))), (None, None))[1]


# Constants of an equation.

def is_float(dtype):
    return is_kind_of_float(dtype) or str(dtype).startswith("float")


def _number(value, dtype):
    """A number of an equation. 0.1 stays 0.1 even if it was rounded to fewer digits; an expression of sizes stays exact."""
    exact, rounded = writer().exact, jax.numpy.dtype(dtype).type
    if float(value) in exact:
        return exact[float(value)]
    if str(dtype) == "float64" or float(value).is_integer() or not numpy.isfinite(float(value)):
        return as_traced(float(value))
    with numpy.errstate(over="ignore"):
        for number, array in exact.items():
            if float(rounded(number)) == float(value):
                return array
    return as_traced(float(str(rounded(value))))


def literal(value, dtype):
    return _number(value, dtype) if is_float(dtype) and not numpy.ndim(value) else constant_of(value)


def constant_of(value):
    """The traced array of an array that the function did not compute from its inputs; floats are captured."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.extended):
        raise CannotTrace("random numbers", "a formula has one value for its inputs")
    known = writer().foreign
    if id(value) not in known:
        array = _plain(numpy.asarray(value))
        if not is_float(array.dtype):
            made = as_traced(array.astype(complex)) if array.dtype.kind == "c" else constant(array)
        elif _key_of(array) in known:
            made = known[_key_of(array)][1]
        elif not array.ndim:
            made = _number(array[()], array.dtype)
        else:
            made = _captured(array.astype(numpy.float64))
        known[id(value)] = value, made
    return known[id(value)][1]


def _captured(array):
    before = set(writer().captured)
    made = captured(array)
    for node in set(writer().captured) - before:
        if writer().step:
            writer().captured[node] = writer().step[:2], writer().captured[node][1]
    return made
