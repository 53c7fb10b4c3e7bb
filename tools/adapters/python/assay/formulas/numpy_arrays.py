"""Functions of NumPy's arrays, as what they are."""
from assay.formulas.plain import numpy
from assay.formulas.traced import Number, Size, as_traced

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
