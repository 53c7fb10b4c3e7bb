"""A formula as its own candidate: what it computes in the dtype of a call, as it is written."""
import contextlib
import functools
import inspect

from assay.claims import candidate
from assay.formulas.doors import as_function, framework_of_formula
from assay.formulas.program import FLOATS
from assay.signature import signature_of


def _numpy_ways():
    import numpy
    return lambda y, dtype: numpy.asarray(y).astype(dtype), lambda dtype: contextlib.nullcontext()


def _torch_ways():
    import torch
    from assay.formulas.torch_tensors import default_dtype
    return lambda y, dtype: torch.as_tensor(y).to(dtype), default_dtype


def as_candidate(function, narrowest="f64"):
    """Its outputs are cast to the dtype of the call: arrays that it makes in f64 make f64 of what is added to them, which
    is no matter of what is right. `narrowest`: the narrowest float that it casts to, and the
    widest that it is itself in."""
    function = as_function(function)
    framework = framework_of_formula(function)
    cast, within = _torch_ways() if framework == "torch" else _numpy_ways()

    @functools.wraps(function)
    def run(*arguments, dtype, **named):
        with within(dtype):
            found = function(*arguments, **named)
            if isinstance(found, dict):
                return {name: cast(y, dtype) for name, y in found.items() if y is not None}
            if isinstance(found, (tuple, list)) and not all(isinstance(y, (int, float)) for y in found):
                return tuple(cast(y, dtype) for y in found if y is not None)
            return found if found is None else cast(found, dtype)

    signature = signature_of(function)
    parameter = inspect.Parameter("dtype", inspect.Parameter.KEYWORD_ONLY)
    if "dtype" not in signature.parameters:
        run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), parameter])
    return candidate(dtypes=FLOATS[FLOATS.index(narrowest):], framework="torch" if framework == "torch" else "numpy")(run)
