"""Texts of programs, and what an attribute may be."""

import json
import math

SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def require(holds, what):
    if not holds:
        raise ValueError(what)


def json_of(text):
    """Standard JSON: no member twice, no NaN; -0 keeps its sign."""
    def members(pairs):
        require(len(dict(pairs)) == len(pairs), "a member stands twice")
        return dict(pairs)

    def constant(name):
        raise ValueError(f"{name} is no JSON")
    try:
        return json.loads(text, object_pairs_hook=members, parse_constant=constant,
                          parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))
    except RecursionError:
        raise ValueError("nested too deep") from None


def is_integer(value, low=-2**63, high=2**63 - 1):
    return type(value) is int and low <= value <= high


def is_integers(value):
    return isinstance(value, list) and all(is_integer(x) for x in value)


def is_name(value):
    return isinstance(value, str) and value != ""


def is_shape(value):
    return is_integers(value) and all(x >= 0 for x in value)


def double_of(value):
    """The double of a JSON number or of the name of a special value; None for anything else."""
    if isinstance(value, str):
        return SPECIAL.get(value)
    if type(value) not in (int, float):
        return None
    try:
        value = float(value)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def below(bits):
    return lambda value: is_integer(value, 1 - 2**bits, 2**bits - 1)


def natural_below(bits):
    return lambda value: is_integer(value, 0, 2**bits - 1)


def positive_below(bits):
    return lambda value: is_integer(value, 1, 2**bits - 1)


def is_equation(value):
    """Whether a contraction has the form of one; program_reading.contract checks its letters."""
    if not isinstance(value, str) or value.count(",") != 1 or value.count("->") != 1:
        return False
    words = value.replace("->", ",").split(",")
    letters = all(word == "" or (word.isascii() and word.isalpha()) for word in words)
    return len(words) == 3 and letters and all(len(set(word)) == len(word) for word in words)
