"""Draws numbers for the inputs of a formula by its declaration, and checks that the formula is meant for these
values."""
import inspect
import itertools

import numpy

from assay.formulas.declaring import WrongDeclaration, size_of


def _reals(one, shape, random):
    low, high = one["low"], one["high"]
    if low is not None and high is not None:
        return random.uniform(low, high, shape)
    x = random.normal(size=shape)
    return low + abs(x) if low is not None else high - abs(x) if high is not None else x


def _integers(one, shape, sizes, random):
    low = 0 if one["low"] is None else int(numpy.ceil(one["low"]))
    high = low + 64 if one["high"] is None else int(numpy.floor(one["high"]))
    if one["rule"] == "offsets":
        x = numpy.sort(random.integers(0, sizes[one["into"]] + 1, shape))
        x[..., 0], x[..., -1] = 0, sizes[one["into"]]
        return x
    return random.integers(low, (sizes[one["into"]] - 1 if one["into"] else high) + 1, shape)


def drawn(one, sizes, random):
    """An array for one input, in float64, int64 or bool."""
    shape = tuple(size_of(axis, sizes) for axis in one["axes"])
    if one["type"] == "boolean":
        x = random.integers(0, 2, shape).astype(bool)
        if one["rule"] == "one in each row":
            x[..., 0] |= ~x.any(-1)
        return x
    x = _integers(one, shape, sizes, random) if one["type"] == "integer" else _reals(one, shape, random)
    if one["rule"] == "unit":
        x = x / numpy.linalg.norm(x, axis=-1, keepdims=True)
    return numpy.sort(x, axis=-1) if one["rule"] == "sorted" else x


def drawn_by(draw, inputs, sizes, settings, seed):
    """What a function of the user draws: arrays by name, of some inputs or of all. It takes a random generator of NumPy, and
    by their names the sizes and settings that it asks for."""
    given = {**settings, **sizes}
    parameters = inspect.signature(draw).parameters
    unknown = [name for name in list(parameters)[1:] if name not in given and parameters[name].default is inspect.Parameter.empty]
    if not parameters or unknown:
        raise WrongDeclaration(f"inputs={draw.__name__} takes a random generator and sizes or settings by their names"
                               + (f", and there is no {unknown[0]}" if unknown else ""))
    found = draw(numpy.random.default_rng(seed), **{name: given[name] for name in list(parameters)[1:] if name in given})
    if not isinstance(found, dict) or not set(found) <= set(inputs):
        raise WrongDeclaration(f"inputs={draw.__name__} gives arrays by name, of {', '.join(inputs)}")
    arrays = {}
    for name, array in found.items():
        one, array = inputs[name], numpy.asarray(array)
        shape = tuple(size_of(axis, sizes) for axis in one["axes"])
        if array.shape != shape:
            raise WrongDeclaration(f"inputs={draw.__name__} gives {name} of {list(array.shape)}, and its axes "
                                   f"{' '.join(one['axes'])} are {list(shape)}")
        kinds = {"integer": "iu", "boolean": "b", "real": "fiu"}[one["type"]]
        if array.dtype.kind not in kinds:
            raise WrongDeclaration(f"inputs={draw.__name__} gives {name} of {array.dtype}, and it is {one['type']}")
        arrays[name] = array.astype({"integer": numpy.int64, "boolean": bool, "real": numpy.float64}[one["type"]])
    return arrays


def _share_of_nan(run, draws):
    """The largest share of NaN in the outputs of a draw: a small array counts as much as a large one."""
    most = 0.0
    for values in draws:
        numbers = numpy.concatenate([numpy.ravel(numpy.asarray(x, dtype=float)) for x in run(values).values()])
        most = max(most, numpy.isnan(numbers).mean() if numbers.size else 0.0)
    return most


def check_values(run, where_nan_begins, inputs, sizes, multiples, drawn_by_function):
    """WrongDeclaration if usual numbers give more than one NaN in a hundred outputs: it asks which values an input has.
    run(arrays) gives the outputs; where_nan_begins(arrays) says in words where a NaN arises, or None."""
    random = numpy.random.default_rng(1)
    few = {axis: 2 for axis in sizes if axis not in multiples}
    few |= {axis: few[divisor] if divisor in few else int(divisor) if divisor.isdigit() else sizes[axis]
            for axis, divisor in multiples.items()}
    if any(divisor in multiples for divisor in multiples.values()):
        few = sizes
    draws = [{name: drawn(one, axis_sizes, random) for name, one in inputs.items()} | drawn_by_function(axis_sizes, seed)
             for axis_sizes in (sizes, few) for seed in range(8)]
    if _share_of_nan(run, draws) <= 0.01:
        return
    for names, text, cured in _cures(inputs):
        others = [{name: cured(x) if name in names else x for name, x in values.items()} for values in draws]
        if _share_of_nan(run, others) <= 0.01:
            break
    else:
        names, text = [], ""
    begins = next(filter(None, map(where_nan_begins, draws)), None) or "NaN"
    declarations = ", ".join(f'{name}="{" ".join(inputs[name]["axes"])} {text}"' for name in names)
    raise WrongDeclaration(f"{begins}: which values has {' and '.join(names or inputs)}?"
                           + (f" Write, if that is so,\n    @assay.formula({declarations})" if names else
                              " Declare them: > 0, in (0, 1), unit d, sorted"))


def _cures(inputs):
    """(names of inputs, a text that may declare them, a function that makes usual numbers such numbers); likely texts first."""
    truths = [name for name, one in inputs.items() if one["type"] == "boolean"]
    if truths:
        yield truths, "bool, a key in each row", lambda x: x | ~x.any(-1, keepdims=True)
    free = [name for name, one in inputs.items() if one["type"] == "real" and one["low"] is None and one["high"] is None]
    for count in (1, 2):
        for names in itertools.combinations(free, count):
            yield names, "> 0", abs
            yield names, "in (0, 1)", lambda x: abs(x) / (1 + abs(x))
            yield names, "in (-1, 1)", numpy.tanh
            yield names, "> 1", lambda x: 1 + abs(x)
