"""Finds the function that records a function or method of NumPy, by its name: in functions.py, shaping.py, creating.py,
sums.py, contractions.py and indexing.py."""
import difflib

from assay.formulas import contractions, creating, indexing, shaping, sums
from assay.formulas.functions import UFUNCS, absolute, as_type, clip, copied, equal, nan_to_num, truncated, where
from assay.formulas.plain import numpy
from assay.formulas.program import REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.traced import Traced, as_traced, constant, writer

def _nearest(name, known_names):
    near = difflib.get_close_matches(name, known_names, 1, 0.75)
    return f"the nearest that is traced is numpy.{near[0]}" if near else ""


def ufunc_result(name, method, arguments, out, more):
    if more.get("dtype") is not None:
        writer().casts_to(more["dtype"])
    more = {word: value for word, value in more.items() if word not in ("dtype", "casting", "subok", "order")}
    condition = more.pop("where", True)
    if method == "__call__" and name == "matmul":
        found = contractions.matmul(*arguments)
    elif method == "__call__" and name in UFUNCS and not more:
        found = UFUNCS[name](*arguments)
    elif method in ("reduce", "accumulate", "outer", "at"):
        found = sums.ufunc_method(name, method, arguments, more)
    elif method == "__call__" and (found := _computed_by_numpy("numpy." + name, arguments, more)) is not None:
        return found
    else:
        raise CannotTrace(f"numpy.{name}" + ("" if method == "__call__" else f".{method}") + " is not traced",
                          _nearest(name, UFUNCS))
    if condition is not True:
        if out is None:
            raise CannotTrace(f"numpy.{name} with `where` and without `out`", "what stands elsewhere is undefined")
        found = where(condition, found, out[0])
    return found if out is None or out[0] is None else written_to(out[0], found)


def written_to(out, x):
    """Writes the elements of x into `out` and returns it, as in-place operators do."""
    if not isinstance(out, Traced):
        raise CannotTrace("a result that is written to an array that was made outside of the function")
    indexing.put(out, Ellipsis, x)
    return out


def _computed_by_numpy(called, arguments, more):
    """The result of a function by NumPy itself if all arrays are known integers and truths: it is exact, so it need not
    be traced. None if an array is not, or if the result has other numbers."""
    function = getattr(numpy, called.partition(".")[2], None)

    def plain(x):
        if isinstance(x, (tuple, list)):
            return type(x)(map(plain, x))
        return x.value if isinstance(x, Traced) else x

    def is_known(x):
        if isinstance(x, (tuple, list)):
            return all(map(is_known, x))
        return not isinstance(x, Traced) or (x.value is not None and x.kind != REAL)
    if not callable(function) or not is_known([*arguments, *more.values()]):
        return None
    found = function(*map(plain, arguments), **{word: plain(x) for word, x in more.items()})
    several = found if isinstance(found, tuple) else (found,)
    if any(numpy.asarray(x).dtype.kind not in "iub" for x in several):
        return None
    return tuple(map(constant, found)) if isinstance(found, tuple) else constant(found)


def function_result(name, arguments, more, called=None):
    if name not in FUNCTIONS:
        found = _computed_by_numpy(called or "numpy." + name, arguments, more)
        if found is not None:
            return found
        raise CannotTrace(f"{called or 'numpy.' + name} is not traced", _nearest(name, FUNCTIONS))
    out = more.pop("out", None) if name not in UFUNCS else None
    found = FUNCTIONS[name](*arguments, **more)
    return found if out is None else written_to(out, found)


_REST = {
    "where": where, "clip": clip, "nan_to_num": nan_to_num, "abs": absolute, "real": as_traced, "iscomplexobj": lambda x: False,
    "isneginf": lambda x: equal(x, -float("inf")), "isposinf": lambda x: equal(x, float("inf")),
    "fix": truncated,
    "isrealobj": lambda x: True, "ndim": lambda x: as_traced(x).ndim, "shape": lambda x: as_traced(x).shape,
    "size": lambda x, axis=None: as_traced(x).size if axis is None else as_traced(x).shape[axis],
    "result_type": lambda *x: numpy.dtype(numpy.float64),
}
FUNCTIONS = {**creating.FUNCTIONS, **shaping.FUNCTIONS, **sums.FUNCTIONS, **contractions.FUNCTIONS, **indexing.FUNCTIONS,
             **_REST}


METHODS = {"sum", "mean", "max", "min", "any", "all", "cumsum", "prod", "std", "var", "reshape", "transpose", "ravel",
           "swapaxes", "squeeze", "repeat", "take", "clip", "dot", "argmax", "argmin", "argsort", "diagonal", "trace",
           "round", "cumprod"}


def method_named(x, name):
    """A method of arrays, as the function of that name."""
    if name in METHODS:
        return lambda *arguments, **more: function_result(name, (x, *arguments), more)
    if name in ("copy", "__copy__"):
        return lambda *_, **__: copied(x)
    if name == "__deepcopy__":
        return lambda memo: copied(x)
    if name == "flatten":
        return lambda *_, **__: copied(function_result("ravel", (x,), {}))
    if name == "astype":
        return lambda dtype, **_: as_type(x, dtype)
    if name == "fill":
        return lambda value: (written_to(x, as_traced(value)), None)[1]
    if name in ("real", "base", "flat", "strides", "data", "imag", "nbytes", "itemsize", "view", "sort", "tobytes"):
        raise CannotTrace(f".{name} of an array is not traced")
    raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
