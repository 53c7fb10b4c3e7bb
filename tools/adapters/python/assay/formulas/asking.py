"""Calls of a formula of one's own, for assay.truth and assay.judge."""
import collections
import functools
import re

import numpy

from assay.formulas.program import BOOLEAN, INTEGER, REAL
from assay.formulas.tracing import trace
from assay.signature import signature_of

Formula = collections.namedtuple("Formula", "name text declarations trace")  # of one call: for its sizes and settings


def _is_array(value):
    return hasattr(value, "shape") or hasattr(value, "__dlpack__") or (
        isinstance(value, (list, tuple)) and numpy.asarray(value).dtype.kind in "fiub")


def _shape_of(value):
    """What the program is traced for: the shape and the kind of an input, in NumPy's words."""
    kind = str(getattr(value, "dtype", "")).rpartition(".")[2]
    if not kind:
        value = numpy.asarray(value)
        kind = value.dtype.name
    whole = kind.startswith(("int", "uint", "bool"))
    return numpy.broadcast_to(numpy.zeros((), numpy.int64 if whole else numpy.float64), tuple(value.shape))


def split_call(function, values):
    """(inputs, settings): arrays and tensors are the first, numbers and words the others."""
    bound = signature_of(function).bind(**values)
    bound.apply_defaults()
    inputs = {name: value for name, value in values.items() if _is_array(value)}
    settings = {name: value for name, value in bound.arguments.items() if name not in inputs}
    return inputs, settings


def formula_of(function, inputs, settings):
    """The program of a call, and what it declares."""
    shapes = {name: _shape_of(value) for name, value in inputs.items()}
    truths = {name for name, value in inputs.items() if "bool" in str(getattr(value, "dtype", ""))}
    found = trace(function, shapes, settings, truths)
    name = re.sub(r"[^a-z0-9_]", "_", getattr(function, "__name__", "formula").lower()).strip("_") or "formula"
    declared = {"name": f"formula/{name}", "attributes": [], "outputs": [{"name": out} for out in found.outputs],
                "inputs": [{"name": given, **({"dtype": "i64"} if kind != REAL else {})}
                           for given, (kind, _) in found.inputs.items()]}
    return Formula(name, found.text, [declared], found)


def asked(function, values):
    """(Formula, the inputs of the call)"""
    inputs, settings = split_call(function, values)
    return formula_of(function, inputs, settings), inputs
