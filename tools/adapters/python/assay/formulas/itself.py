"""A formula as its own candidate: the function as it is written, run in the dtype of a call."""
import functools
import inspect

from assay.claims import candidate
from assay.formulas.doors import as_function, door_of
from assay.formulas.program import FLOATS
from assay.signature import signature_of


def as_candidate(function, narrowest="f64"):
    """The formula as a candidate. Its outputs are cast to the dtype of the call: an array that it makes in f64 turns sums
    with it into f64, and that is no fault. `narrowest`: the narrowest float to which it casts; no wider dtype is offered.
    Frameworks with 16-bit floats compute its steps in these floats."""
    function = as_function(function)
    door = door_of(function)

    @functools.wraps(function)
    def run(*arguments, dtype, **named):
        return door.outputs_in(dtype, function, arguments, named)

    signature = signature_of(function)
    parameter = inspect.Parameter("dtype", inspect.Parameter.KEYWORD_ONLY)
    if "dtype" not in signature.parameters:
        run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), parameter])
    framework = "torch" if door.FRAMEWORK == "torch" else "numpy"  # of the arrays that candidates get
    dtypes = FLOATS[FLOATS.index(narrowest):]
    narrow = {name: name for name in dtypes if door.HAS_DTYPES and name in ("f16", "bf16")}
    return candidate(dtypes=dtypes, compute=narrow, framework=framework)(run)
