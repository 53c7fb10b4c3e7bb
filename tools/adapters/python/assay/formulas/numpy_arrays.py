"""The door of functions of NumPy's arrays (doors.py)."""
import traceback

from assay.formulas.plain import numpy
from assay.formulas.traced import Number, Size, as_traced

FRAMEWORK = "numpy"
HAS_DTYPES = False  # a cast to another float changes nothing
_TYPES = {"f64": numpy.float64, "f32": numpy.float32, "f16": numpy.float16}


def _setting(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return Size(value) if isinstance(value, int) else Number(value)


def named_outputs(found):
    if isinstance(found, dict):
        return {str(name): x for name, x in found.items()}
    if isinstance(found, (tuple, list)) and not all(isinstance(x, (int, float)) for x in found):
        return {f"y{k}": x for k, x in enumerate(found)}
    return {} if found is None else {"y": found}


def recorded(function, given, settings, narrowest):
    found = function(**given, **{name: _setting(value) for name, value in settings.items()})
    return {name: as_traced(x) for name, x in named_outputs(found).items()}


def run(function, arrays, settings, narrowest):
    given = {name: array.astype(_TYPES[narrowest]) if array.dtype.kind == "f" else array.copy() for name, array in arrays.items()}
    with numpy.errstate(all="ignore"):
        return named_outputs(function(**given, **settings))


def outputs_in(dtype, function, arguments, named):
    return {name: numpy.asarray(y).astype(dtype) for name, y in named_outputs(function(*arguments, **named)).items()}


def where_nan_begins(function, arrays, settings, narrowest):
    """"invalid value encountered in log at reference.py:12"; None where NumPy does not tell."""
    try:
        with numpy.errstate(all="ignore", invalid="raise"):
            function(**{name: x.copy() for name, x in arrays.items()}, **settings)
    except FloatingPointError as error:
        user_frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "numpy" not in frame.filename.split("/")]
        return f"{error} at {user_frames[-1].filename}:{user_frames[-1].lineno}"
    return None
