"""Linear biases: Press, Smith and Lewis 2022, section 3, and the code published with it."""

from fractions import Fraction

from mpmath.libmp import from_man_exp

from attention import attend_in_order
from formula import MINUS_INFINITY, pair_bias
from interval import Interval


def power_of_two(exponent):
    """2^exponent of a fraction."""
    whole, rest = divmod(exponent, 1)
    power = Interval(from_man_exp(1, int(whole)))
    if rest == 0:
        return power
    return power * (Interval.of(2).log() * Interval.of(rest.numerator) / Interval.of(rest.denominator)).exp()


def slope_exponents(heads, rule, alpha, official_alpha=Fraction(8)):
    below = 1
    while 2 * below <= heads:
        below *= 2
    if rule == "naive":
        return [-alpha * k / heads for k in range(1, heads + 1)]
    if rule == "official":
        return ([-official_alpha * k / below for k in range(1, below + 1)]
                + [-official_alpha * (2 * t - 1) / (2 * below) for t in range(1, heads - below + 1)])
    above = below if below == heads else 2 * below
    order = list(range(1, above + 1)) if above == heads else [*range(2, above + 1, 2), *range(1, above + 1, 2)]
    return [-alpha * k / above for k in order[:heads]]


def slopes(call):
    first = int(call.settings["first_head"])
    heads = int(call.settings["all_heads"]) or first + call.sizes["h"]
    alpha = Fraction(call.settings["alpha_max"])
    exponents = slope_exponents(heads, call.settings["rule"], alpha,
                                alpha if call.settings.get("alpha_of_official") else Fraction(8))
    return call.parts(lambda get, k: {("slopes", k): power_of_two(exponents[first + k])}, "h")


def coefficient(form, last):
    return {"distance": lambda i, j: j - i, "absolute": lambda i, j: -abs(i - j), "key": lambda i, j: j,
            "key_from_last": lambda i, j: j - last}[form]


def bias(call):
    causal, factor_of_pair = call.settings["causal"], coefficient(call.settings["form"], int(call.settings["last_position"]))
    return pair_bias(call, lambda get, head, i, j: MINUS_INFINITY if causal and j > i else
                     get("slopes", head) * Interval.of(factor_of_pair(i, j)))


def attention(call):
    factor_of_pair = coefficient(call.settings["form"], None)
    slopes = [float(x) for x in call.inputs["slopes"]]  # constants
    return attend_in_order(call, lambda get, head, i, j: Interval.of(slopes[head]) * Interval.of(factor_of_pair(i, j)))
