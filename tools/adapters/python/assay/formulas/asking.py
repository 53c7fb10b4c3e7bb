"""Calls of a formula of one's own, for assay.truth and assay.judge."""
import collections
import inspect

import numpy

from assay.formulas.declaring import name_of
from assay.formulas.doors import as_function_of, door_of
from assay.formulas.program import DTYPE_OF, INTEGER, REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.tracing import trace
from assay.signature import signature_of
from assay.tensors import bf16_to_f32, f32_to_bf16, stored_of

# The program of a formula for the sizes and settings of one call.
Formula = collections.namedtuple("Formula", "name text declarations trace function settings other_ways")
_replayed = set()  # texts of programs that were held against their function


class NotTheFunction(RuntimeError):
    """A program gives other numbers than the function from which it was traced: something in the function is not traced."""


def _is_array(value):
    return hasattr(value, "shape") or hasattr(value, "__dlpack__") or (
        isinstance(value, (list, tuple)) and numpy.asarray(value).dtype.kind in "fiub")


def _zeros_like(value):
    """Zeros of the shape and the kind (float64, int64, bool) of an input, for which the program is traced."""
    kind = str(getattr(value, "dtype", "")).rpartition(".")[2]
    if not kind:
        value = numpy.asarray(value)
        kind = value.dtype.name
    if kind.startswith("complex"):
        raise TypeError("an input of complex numbers: give its two parts, and make it within the formula (torch.complex)")
    whole = numpy.int64 if kind.startswith(("int", "uint")) else numpy.float64
    return numpy.broadcast_to(numpy.zeros((), bool if kind.startswith("bool") else whole), tuple(value.shape))


def split_call(function, values):
    """(inputs, settings): arrays and tensors are the first, numbers and words the others."""
    bound = signature_of(function).bind(**values)
    bound.apply_defaults()
    inputs = {name: value for name, value in values.items() if _is_array(value)}
    named = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind == inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        elif kind != inspect.Parameter.VAR_POSITIONAL:
            named[name] = value
    settings = {name: value for name, value in named.items() if name not in inputs}
    return inputs, settings


def formula_of(function, inputs, settings):
    """The program of a call, and what it declares."""
    shapes = {name: _zeros_like(value) for name, value in inputs.items()}
    found = trace(function, shapes, settings)
    for output, (kind, _) in found.outputs.items():
        if kind != REAL:
            raise CannotTrace(f"the output {output} is {kind}", "a formula gives reals: x.astype(float)")
    name = name_of(function)
    declared = {"name": f"formula/{name}", "attributes": [], "outputs": [{"name": out} for out in found.outputs],
                "inputs": [{"name": given, **({"dtype": "i64" if kind == INTEGER else "bool"} if kind != REAL else {})}
                           for given, (kind, _) in found.inputs.items()]}
    return Formula(name, found.text, [declared], found, function, settings,
                   [trace(way, shapes, settings).text for way in getattr(function, "__assay_other_ways__", ())])


def _as_taken(name, value, formula):
    """An input as the function itself is run on it: in f64, or in the narrowest float to which the function casts."""
    stored, array = stored_of(value)
    array = bf16_to_f32(array) if stored == "BF16" else array
    kind, _ = formula.trace.inputs[name]
    if kind == REAL and formula.trace.narrowest == "bf16":
        return bf16_to_f32(f32_to_bf16(array))
    return array.astype({"f64": numpy.float64, "f32": numpy.float32, "f16": numpy.float16}[formula.trace.narrowest]
                        if kind == REAL else DTYPE_OF[kind])


def hold_against_function(formula, inputs, truth_of):
    """Checks once for each program that the function, run in the narrowest float to which it casts, is within the
    allowance of the exact value. `truth_of(inputs)`: the exact outputs for these inputs, and their allowances.
    NotTheFunction if not."""
    if formula.text in _replayed:
        return
    given = {name: _as_taken(name, value, formula) for name, value in inputs.items()}
    exact = truth_of(given)
    found = door_of(formula.function).run(formula.function, given, formula.settings, formula.trace.narrowest)
    for name, truth in exact.items():
        own, allowed = numpy.asarray(found[name], dtype=numpy.float64), exact.allowed[name]
        if own.shape != truth.shape:
            raise NotTheFunction(f"{formula.name}: '{name}' is {list(own.shape)} by the function, and {list(truth.shape)} by "
                                 "its program")
        with numpy.errstate(all="ignore"):
            is_off = (numpy.abs(own - truth) > allowed) & numpy.isfinite(own) & numpy.isfinite(truth)
            is_off |= numpy.isfinite(own) & (numpy.isinf(truth) | (numpy.isnan(truth) & (allowed == 0)))
        for place in numpy.argwhere(is_off)[:1]:
            index = tuple(place)
            raise NotTheFunction(
                f"{formula.name}: {name}{[int(k) for k in index]} is {own[index]!r} by the function in "
                f"{formula.trace.narrowest}, and {truth[index]!r} by "
                "its program: it depends on something that was not traced, such as an earlier call or the numbers of an "
                "input, or loses more digits than its own rounding explains")
    _replayed.add(formula.text)


def hold_ways_against_formula(formula, inputs, truth_of):
    """Checks once for each program that another way to compute a formula (assay.same_as) has the same truth in f64 on
    these inputs. `truth_of(formula, inputs)`: the exact outputs for these inputs in f64. NotTheFunction if not."""
    for way in getattr(formula.function, "__assay_other_ways__", ()):
        other = formula_of(way, inputs, formula.settings)
        if (formula.text, other.text) in _replayed:
            continue
        given = {name: _as_taken(name, value, formula).astype(DTYPE_OF[formula.trace.inputs[name][0]])
                 for name, value in inputs.items()}
        own, same = truth_of(formula, given), truth_of(other, given)
        for name, y in own.items():
            z = same.get(name)
            if z is None or z.shape != y.shape or (numpy.isfinite(y) & numpy.isfinite(z) & (y != z)).any():
                raise NotTheFunction(f"{other.name} is not the same function as the formula {formula.name}: its '{name}' is another")
        _replayed.add((formula.text, other.text))


def formula_and_inputs(function, values):
    """(Formula, the inputs of the call). Parameters of a module that are not given are its own."""
    function = as_function_of(function, values.values())
    values = {**getattr(function, "values", dict)(), **values}
    inputs, settings = split_call(function, values)
    return formula_of(function, inputs, settings), inputs
