"""What a gate is told of a formula: one text for each parameter.

    @assay.formula(q="B h n d", k="B h m d", v="B h m e", window="setting 0 3 64")
    def attention(q, k, v, window=0): ...

A text is AXES [TYPE] [VALUES]: axes are letters or words, and numbers are sizes that are always the same; TYPE is `real`,
which need not be said, or `int`; VALUES are bounds (`> 0`, `>= 0`, `< 1`, `in (0, 1)`), or of integers `< AXIS`, an
index into that axis. A setting is `setting` and the values that it has, its standard first.
"""
import math
import re

from assay.formulas.refusal import CannotTrace
from assay.signature import signature_of

_TOKEN = re.compile(r"\s*(>=|<=|[<>(),]|[^\s<>=(),]+)")
_ROLES = {"batch": ("b", "batch"), "head": ("h", "g", "heads", "kv", "kv_heads"), "token": ("n", "t", "l", "s", "seq",
          "length", "tokens", "time"), "key": ("m", "keys"), "width": ("d", "e", "f", "c", "dim", "width", "features")}


class WrongDeclaration(ValueError):
    """A text that says nothing, or an input that none says anything of."""


def _number(text, of):
    try:
        return float(text)
    except ValueError:
        raise WrongDeclaration(f"{of}: '{text}' is no number") from None


def _bounds(tokens, of, axes):
    """(low, high, axis that it points into) of what stands behind the axes."""
    low, high, into = -math.inf, math.inf, None
    while tokens:
        word = tokens.pop(0)
        if word == "in" and len(tokens) >= 5:
            low, high = _number(tokens[1], of), _number(tokens[3], of)
            low, high = math.nextafter(low, math.inf), math.nextafter(high, -math.inf)
            del tokens[:5]
        elif word in ("<", "<=", ">", ">=") and tokens:
            value = tokens.pop(0)
            if word == "<" and value in axes:
                low, into = max(low, 0.0), value
                continue
            value = _number(value, of)
            if word in ("<", "<="):
                high = value if word == "<=" else math.nextafter(value, -math.inf)
            else:
                low = value if word == ">=" else math.nextafter(value, math.inf)
        else:
            raise WrongDeclaration(f"{of}: '{word}' is no type and no bound; write AXES [int] [>= 0]")
    return low, high, into


def _setting(words, of):
    values = []
    for word in words:
        if word in ("true", "false", "True", "False"):
            values.append(word.lower() == "true")
        else:
            try:
                values.append(int(word))
            except ValueError:
                try:
                    values.append(float(word))
                except ValueError:
                    values.append(word)
    if not values:
        raise WrongDeclaration(f"{of}: a setting has values, such as \"setting 0 3 64\"")
    if any(isinstance(x, float) for x in values):
        values = [float(x) for x in values]
    return values


def declared(texts):
    """(inputs, settings) by parameter."""
    inputs, settings = {}, {}
    known = set()
    for text in texts.values():
        for word in _TOKEN.findall(text):
            if not re.fullmatch(r"[A-Za-z_]\w*", word) or word in ("int", "real", "in", "bool"):
                break
            known.add(word)
    for name, text in texts.items():
        tokens = _TOKEN.findall(text)
        if tokens and tokens[0] == "setting":
            settings[name] = _setting(tokens[1:], name)
            continue
        axes = []
        while tokens and re.fullmatch(r"\w+", tokens[0]) and tokens[0] not in ("int", "real", "in", "bool"):
            axes.append(tokens.pop(0))
        kind = "real"
        if tokens and tokens[0] in ("int", "real", "bool"):
            kind = tokens.pop(0)
        if kind == "bool":
            raise WrongDeclaration(f"{name}: a gate draws no booleans yet: take integers in [0, 1]")
        low, high, into = _bounds(tokens, name, known)
        inputs[name] = {"name": name, "axes": axes, "type": "integer" if kind == "int" else "real", "into": into,
                        "low": None if low == -math.inf else low, "high": None if high == math.inf else high}
    return inputs, settings


def name_of(function):
    """As the operation formula/NAME has it."""
    return re.sub(r"[^a-z0-9_]", "_", getattr(function, "__name__", "").lower()).strip("_") or "formula"


def role_of(axis):
    """What a letter or word usually is; a parameter where none is known."""
    return next((role for role, words in _ROLES.items() if axis.lower() in words), "parameter")


def declaration_of(function):
    """The texts of a formula: those of its decorator, or its annotations. WrongDeclaration where there are none."""
    texts = dict(getattr(function, "__assay_formula__", {}))
    parameters = signature_of(function).parameters
    for name, parameter in parameters.items():
        annotation = parameter.annotation
        words = annotation if isinstance(annotation, str) else getattr(annotation, "dim_str", None)  # of jaxtyping
        if name not in texts and isinstance(words, str):
            texts[name] = words
    missing = [name for name, p in parameters.items() if name not in texts and p.default is p.empty]
    if missing:
        pasted = ", ".join(f'{name}="{texts.get(name, "B n d")}"' for name in parameters)
        raise WrongDeclaration(f"nothing says which axes {', '.join(missing)} has: write above the function, with axes of "
                               f"yours,\n    @assay.formula({pasted})")
    unknown = [name for name in texts if name not in parameters]
    if unknown:
        raise WrongDeclaration(f"{function.__name__} has no parameter {', '.join(unknown)}")
    return declared(texts)


_SIZES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31)  # of axes whose names tell nothing else: none is a sum of two others


def outputs_of(trace_for, inputs, settings):
    """The outputs with their axes, found by the sizes that they have for sizes that differ."""
    axes = list(dict.fromkeys(axis for one in inputs.values() for axis in one["axes"] if not axis.isdigit()))
    if len(axes) > len(_SIZES):
        raise WrongDeclaration(f"{len(axes)} axes are too many")
    standard = {name: values[0] for name, values in settings.items()}
    sizes = dict(zip(axes, _SIZES))
    even = {axis: size + 1 if role_of(axis) == "width" else size for axis, size in sizes.items()}
    found = trace_for(even, standard)
    by_size = {size: axis for axis, size in even.items()}
    out = []
    for name, (kind, shape) in found.outputs.items():
        if kind != "real":
            raise CannotTrace(f"the output {name} is {kind}", "a gate judges reals")
        of = []
        for size in shape:
            multiple = next((f"{size // own}{axis}" for own, axis in by_size.items() if size % own == 0 and size > own),
                            str(size))
            of.append(by_size.get(size) or multiple)
        out.append({"name": name, "axes": of})
    return out, found


def formula(**texts):
    """The decorator: `texts` by parameter."""
    def mark(function):
        function.__assay_formula__ = texts
        return function
    return mark
