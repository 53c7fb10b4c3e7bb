"""The declaration of a formula: one text for each parameter.

    @assay.formula(q="B h n d", k="B g m d", v="B g m e", h="multiple of g", window="setting 0 3 64")
    def attention(q, k, v, window=0): ...

A text is AXES [TYPE] [VALUES]. An axis is a letter or word, a sum such as `s+1`, a multiple such as `2d`, or a number:
a size that is always the same. TYPE is `real`, which need not be said, `int` or `bool`. VALUES are

    > 0, >= 0, < 1, in (0, 1), in [0, 1)    bounds
    < AXIS           of integers: an index into that axis
    offsets of AXIS  of integers: ascending from 0 to its size
    unit AXIS        the norm along it, the last one, is 1
    sorted           ascending along the last axis
    a key in each row  of truths: one at least along the last axis

A function draws the inputs that no text describes: `inputs=draw`, with `def draw(random, B, n): return {"table": ...}`.
Its parameters name the sizes and settings that it takes.

The text of a setting is `setting` and its values, the standard one first. The text of an axis may be `multiple of AXIS`
or `multiple of NUMBER`.
"""
import __future__
import inspect
import itertools
import math
import re

from assay.formulas.refusal import CannotTrace
from assay.signature import signature_of

_TOKEN = re.compile(r"\s*(>=|<=|[<>=(),\[\]]|[^\s<>=(),\[\]]+)")
_AXIS = re.compile(r"\d+|(\d*)([A-Za-z_]\w*?)(?:\+(\d+))?(?:[*/]\w+)?")
_TYPES = {"int": "integer", "real": "real", "bool": "boolean"}
_WORDS = {*_TYPES, "in", "unit", "sorted", "offsets"}
_INPUT_AXIS = re.compile(r"[1-9]\d*|([1-9]\d*)?[A-Za-z_]\w*?(\+\d+)?")  # an output has products and parts, too
_ROLES = {"batch": ("b", "batch"), "head": ("h", "g", "heads", "kv", "kv_heads"), "token": ("n", "t", "l", "s", "seq",
          "length", "tokens", "time"), "key": ("m", "keys"), "width": ("d", "e", "f", "c", "dim", "width", "features")}


class WrongDeclaration(ValueError):
    """A text that declares nothing, or an input without a text."""


def symbol_of(axis):
    """"d" of "2d", "s" of "s+1", "" of "3"."""
    return _AXIS.fullmatch(axis)[2] or ""


def size_of(axis, sizes):
    """The size of a declared axis, such as 2d or s+1, for sizes of the symbols."""
    times, symbol, more = _AXIS.fullmatch(axis).groups()
    return int(times or 1) * sizes[symbol] + int(more or 0) if symbol else int(axis)


def symbols_of(inputs):
    """The symbols of all axes of the inputs, each once."""
    return list(dict.fromkeys(symbol_of(axis) for one in inputs.values() for axis in one["axes"] if symbol_of(axis)))


def _number(text, name):
    try:
        return float(text)
    except ValueError:
        raise WrongDeclaration(f"{name}: '{text}' is no number") from None


def _values(tokens, name, axes, symbols):
    """{low, high, into, rule}: the meaning of the words that follow axes and type."""
    found = {"low": -math.inf, "high": math.inf, "into": None, "rule": ""}

    def below(word, value):
        found["high"] = value if word in ("<=", "]") else math.nextafter(value, -math.inf)

    def above(word, value):
        found["low"] = value if word in (">=", "[") else math.nextafter(value, math.inf)

    while tokens:
        word = tokens.pop(0)
        if word == "in" and len(tokens) >= 5 and tokens[0] in "([" and tokens[2] == "," and tokens[4] in ")]":
            above(tokens[0], _number(tokens[1], name))
            below(tokens[4], _number(tokens[3], name))
            del tokens[:5]
        elif word == "<" and tokens and tokens[0] in symbols:
            found |= {"into": tokens.pop(0), "low": max(found["low"], 0.0)}
        elif word in ("<", "<=") and tokens:
            below(word, _number(tokens.pop(0), name))
        elif word in (">", ">=") and tokens:
            above(word, _number(tokens.pop(0), name))
        elif word == "offsets" and tokens[:1] == ["of"] and tokens[1:2] and tokens[1] in symbols:
            found |= {"rule": "offsets", "into": tokens[1], "low": 0.0}
            del tokens[:2]
        elif word == "unit" and axes:
            along = tokens.pop(0) if tokens and _AXIS.fullmatch(tokens[0]) else axes[-1]
            if along != axes[-1]:
                raise WrongDeclaration(f"{name}: rows of length 1 lie along its last axis, {axes[-1]}, and not along {along}")
            found |= {"rule": "unit", "low": max(found["low"], -1.0), "high": min(found["high"], 1.0)}
        elif word == "sorted" and axes:
            found["rule"] = "sorted"
        elif word == "a" and tokens[:4] == ["key", "in", "each", "row"] and axes:
            found["rule"] = "one in each row"
            del tokens[:4]
        elif word != ",":
            raise WrongDeclaration(f"{name}: {word} stands for any number of axes: write those that are meant" if word[0] in ".*" else
                                   f"{name}: '{word}' is no type and no bound; write AXES [int] [>= 0]")
    return found


def _setting_value(word):
    if word in ("true", "false", "True", "False"):
        return word.lower() == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word


def _setting(words, name):
    values = [_setting_value(word) for word in " ".join(words).replace(",", " ").split()]
    if not values:
        raise WrongDeclaration(f"{name}: a setting has values, such as \"setting 0 3 64\"")
    kinds = {type(x) for x in values}
    if kinds == {int, float}:
        values, kinds = [float(x) for x in values], {float}
    if len(kinds) > 1:
        raise WrongDeclaration(f"{name}: the values of a setting are numbers, words, or true and false")
    if kinds & {int, float} and not all(abs(x) <= 2**53 for x in values):
        raise WrongDeclaration(f"{name}: the numbers of a setting are finite, and at most 2^53")
    return values


def _axes_and_rest(text):
    tokens = _TOKEN.findall(text)
    axes = []
    while tokens and _AXIS.fullmatch(tokens[0]) and tokens[0] not in _WORDS and tokens[:2] != ["a", "key"]:
        axes.append(tokens.pop(0))
    return axes, tokens


def declared(texts):
    """(inputs, settings, multiples): inputs and settings by parameter; by axis the axis or number of which it is a
    multiple."""
    inputs, settings, multiples, split = {}, {}, {}, {}
    for name, text in texts.items():
        words = text.split()
        if words[:1] == ["setting"]:
            settings[name] = _setting(words[1:], name)
        elif words[:2] == ["multiple", "of"] and len(words) == 3:
            multiples[name] = words[2]
        else:
            split[name] = _axes_and_rest(text)
    symbols = {symbol_of(axis) for axes, _ in split.values() for axis in axes}
    for name, (axes, tokens) in split.items():
        for axis in axes:
            if not _INPUT_AXIS.fullmatch(axis):
                raise WrongDeclaration(f"{name}: an axis is a name, a number, a multiple such as 2d or one more such as s+1, and "
                                       f"not {axis}")
        kind = _TYPES[tokens.pop(0)] if tokens and tokens[0] in _TYPES else "real"
        values = _values(tokens, name, axes, symbols)
        if values["rule"] == "one in each row" and kind != "boolean":
            raise WrongDeclaration(f"{name}: a key in each row is said of bool")
        if values["into"] and kind != "integer":
            raise WrongDeclaration(f"{name}: an index into {values['into']} is int")
        if values["rule"] == "offsets" and not axes[-1:] == [f"{symbol_of(axes[-1])}+1"]:
            raise WrongDeclaration(f"{name}: offsets of s parts are s+1: write that as its last axis")
        least, most = (math.ceil, math.floor) if kind == "integer" else (float, float)
        bounds = [x if math.isinf(x) else end(x) for x, end in ((values["low"], least), (values["high"], most))]
        if bounds[0] > bounds[1]:
            raise WrongDeclaration(f"{name}: no {kind} lies within these bounds")
        for end in ("low", "high"):
            values[end] = values[end] if math.isfinite(values[end]) else None
        inputs[name] = {"name": name, "axes": axes, "type": kind, **values}
    for axis, divisor in multiples.items():
        for symbol in (axis, divisor):
            if symbol not in symbols and not (symbol.isdigit() and int(symbol) > 0):
                raise WrongDeclaration(f"{axis}: no input has an axis {symbol}")
    return inputs, settings, multiples


def name_of(function):
    """The NAME of a function in the operation formula/NAME."""
    return re.sub(r"[^a-z0-9_]", "_", getattr(function, "__name__", "").lower()).strip("_") or "formula"


def role_of(axis):
    """The usual role of an axis with this letter or word; "parameter" if none is known."""
    return next((role for role, words in _ROLES.items() if axis.lower() in words), "parameter")


def _annotated(annotation, is_source):
    """The text of an annotation: a string is the text itself; jaxtyping has it inside, as in Int[Array, "B n"]. None
    without."""
    words = annotation if isinstance(annotation, str) else getattr(annotation, "dim_str", None)
    if words is annotation and is_source:  # the source of an annotation: only a string literal declares axes
        words = words[1:-1] if words[:1] in ("'", '"') else None
    if not isinstance(words, str):
        return None
    if words is annotation or is_source:
        return words
    kinds = getattr(annotation, "dtypes", ())  # of jaxtyping; an object that is no list means any dtype
    kinds = {str(kind).rstrip("0123456789").removeprefix("u") for kind in kinds} if isinstance(kinds, (tuple, list)) else set()
    axes = " ".join(_jaxtyping_axis(axis) for axis in words.split())
    return axes + " int" * (kinds == {"int"}) + " bool" * bool(kinds and kinds <= {"bool", "bool_"})


def _jaxtyping_axis(word):
    """An axis of jaxtyping in the words of a formula: "#B" is B, "dim=4" is 4, "2*d" is 2d, and each "_" an axis of its own."""
    word = word.lstrip("#?").rpartition("=")[2]
    return f"any{next(_unnamed)}" if word == "_" else re.sub(r"^(\d+)\*(?=[A-Za-z_])", r"\1", word)


def declaration_of(function, given=None):
    """(inputs, settings, multiples) by the texts of a formula: those `given`, else its decorator's, else its
    annotations. WrongDeclaration if a parameter without a default has none."""
    texts = {**getattr(function, "__assay_formula__", {}), **(given or {})}
    parameters = signature_of(function).parameters
    code = getattr(inspect.unwrap(getattr(function, "func", function)), "__code__", None)
    is_source = bool(code and code.co_flags & __future__.annotations.compiler_flag)
    for name, parameter in parameters.items():
        words = _annotated(parameter.annotation, is_source)
        if name not in texts and words is not None:
            texts[name] = words
    missing = [name for name, p in parameters.items() if name not in texts and p.default is p.empty]
    if missing:
        pasted = ", ".join(f'{name}="{texts.get(name, "B n d")}"' for name in parameters)
        raise WrongDeclaration(f"nothing says which axes {', '.join(missing)} has: write above the function, with axes of "
                               f"yours,\n    @assay.formula({pasted})")
    unknown = [name for name in texts if name not in parameters and not texts[name].startswith("multiple of ")]
    if unknown:
        raise WrongDeclaration(f"{name_of(function)} has no parameter {', '.join(unknown)}")
    return declared(texts)


_unnamed = itertools.count(1)
_SIZES = tuple(range(3, 60, 4))  # sizes of axes before multiples change them: none is one more than another


def sizes_that_differ(inputs, multiples, first=0):
    """Different sizes for all axes, so that a size names its axis; another `first` gives other sizes."""
    axes = symbols_of(inputs)
    if len(axes) >= len(_SIZES):
        raise WrongDeclaration(f"{len(axes)} axes are too many")
    sizes, todo = dict(zip(axes, _SIZES[first:])), dict(multiples)
    while todo:
        axis = next((axis for axis, divisor in todo.items() if divisor not in todo), None)
        if axis is None:
            raise WrongDeclaration(f"{', '.join(todo)}: each is a multiple of another one of them")
        divisor = todo.pop(axis)
        step = sizes[divisor] if divisor in sizes else int(divisor)
        others = {size for other, size in sizes.items() if other != axis}
        least = -(-max(sizes[axis], 2 * step) // step) * step
        sizes[axis] = next(size for size in range(least, least + 99 * step, step) if size not in others)
    return sizes


def even_axes(trace_for, inputs, settings, multiples):
    """The widths that must be even: with an odd width the function has no program, or another shape."""
    found = {}
    for axis in symbols_of(inputs):
        if role_of(axis) != "width" or axis in multiples:
            continue
        sizes = [sizes_that_differ(inputs, multiples | {a: "2" for a in symbols_of(inputs) if role_of(a) == "width"
                                                        and a not in multiples and a != axis}, first) for first in (0, 1)]
        try:
            outputs_of(*((trace_for(own, settings), own) for own in sizes))
        except Exception:
            found[axis] = "2"
    return found


def _axes_of_size(sizes, size):
    """The expressions of this size: an axis, a part or a multiple of one, an axis + 1, a product of two axes, or a
    number."""
    yield from (axis for axis, own in sizes.items() if own == size)
    yield from (f"{axis}/{own // size}" for axis, own in sizes.items() if size and own > size and own % size == 0)
    yield from (f"{size // own}{axis}" for axis, own in sizes.items() if own < size and size % own == 0)
    yield from (f"{axis}+1" for axis, own in sizes.items() if own + 1 == size)
    yield from (f"{x}*{y}" for x, own in sizes.items() for y, other in sizes.items() if own * other == size)
    yield str(size)


def sizes_in_settings(settings):
    """Settings that may be sizes, since their values are whole and positive: the first value, the standard one, and the
    last."""
    return {name: (values[0], values[-1]) for name, values in settings.items()
            if all(type(value) is int and value > 0 for value in values)}


def outputs_of(first, second):
    """The outputs with their axes. Two pairs (trace, sizes) decide them; sizes include settings that may be sizes."""
    (found, sizes), (again, others) = first, second
    out = []
    for name, (kind, shape) in found.outputs.items():
        if kind != "real":
            raise CannotTrace(f"the output {name} is {kind}", "a gate judges reals")
        axes = []
        for size, other in zip(shape, again.outputs[name][1]):
            may_be = set(_axes_of_size(others, other))
            axis = next((axis for axis in _axes_of_size(sizes, size) if axis in may_be), None)
            if axis is None:
                raise CannotTrace(f"the output {name} has an axis of {size} where the sizes are {sizes}",
                                  "an axis of an output is one of the inputs', a multiple, one more or the product of two")
            axes.append(axis)
        out.append({"name": name, "axes": axes})
    return out


def formula(**texts):
    """The decorator: `texts` by parameter. `inputs`: a function that draws the inputs that texts do not describe
    enough.

        >>> @assay.formula(x="B n d", window="setting 1 4")
        ... def mean_of_last(x, window=1):
        ...     shifted = [numpy.pad(x, ((0, 0), (k, 0), (0, 0)))[:, :x.shape[1]] for k in range(window)]
        ...     return sum(shifted) / window
    """
    draw = texts.pop("inputs") if callable(texts.get("inputs")) else None

    def mark(function):
        function.__assay_formula__ = texts
        function.__assay_inputs__ = draw
        return function
    return mark


def same_as(formula_of_it):
    """The decorator of another way to compute a formula: the rounding of its steps is allowed as well. It has the
    parameters of the formula; a gate tests whether it is the same function.

        >>> from model import softmax
        >>> @assay.same_as(softmax)
        ... def softmax_by_logarithms(x):
        ...     return numpy.exp(x - numpy.log(numpy.exp(x).sum(-1, keepdims=True)))
    """
    def mark(function):
        function_of_it = getattr(formula_of_it, "__func__", formula_of_it)
        function_of_it.__assay_other_ways__ = [*getattr(function_of_it, "__assay_other_ways__", ()), function]
        return function
    return mark
