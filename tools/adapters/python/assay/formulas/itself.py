"""A formula as its own candidate: what it computes in the dtype of a call, as it is written."""
import functools
import inspect

import numpy

from assay.claims import candidate
from assay.signature import signature_of

DTYPES = ("f64", "f32", "f16", "bf16")


def as_candidate(function, narrowest="f64"):
    """Its outputs are cast to the dtype of the call: arrays that it makes in f64 make f64 of what is added to them, which
    is no matter of what is right. `narrowest`: the narrowest float that it casts to, and the
    widest that it is itself in."""
    def cast(y, dtype):
        return y if y is None else numpy.asarray(y).astype(dtype)

    @functools.wraps(function)
    def run(*arguments, dtype, **named):
        found = function(*arguments, **named)
        if isinstance(found, dict):
            return {name: cast(y, dtype) for name, y in found.items()}
        is_several = isinstance(found, (tuple, list)) and not all(isinstance(y, (int, float)) for y in found)
        return tuple(cast(y, dtype) for y in found) if is_several else cast(found, dtype)

    signature = signature_of(function)
    parameter = inspect.Parameter("dtype", inspect.Parameter.KEYWORD_ONLY)
    if "dtype" not in signature.parameters:
        run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), parameter])
    return candidate(dtypes=DTYPES[DTYPES.index(narrowest):], framework="numpy")(run)
