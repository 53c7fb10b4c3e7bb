"""KERPLE: Chi, Fan, Ramadge and Rudnicky 2022 (arXiv 2205.09921); the power inside the logarithm as in NVIDIA's NeMo."""

from math import isqrt

from mpmath.libmp import fzero

from formula import MINUS_INFINITY, ONE, ZERO, distance, distance_bias, enclosure_of
from interval import Interval


def raised(t, exponent):
    """t^exponent of an integer t >= 0: 0 where t = 0, but for 0^0 = 1; a point where it is an integer."""
    if t == 0:
        return ONE if enclosure_of(exponent).is_value(fzero) else ZERO
    root, (_, man, exp, _) = t, enclosure_of(exponent).lo
    while exp < 0 < man and isqrt(root)**2 == root:
        root, exp = isqrt(root), exp + 1
    log = Interval.of(t).log()
    value = Interval.of(root**(int(man) << exp)) if exp >= 0 else (enclosure_of(exponent) * log).exp()
    return value if isinstance(exponent, Interval) else exponent.with_derivative(value, value * log)


def log(call):
    return distance_bias(call, lambda get, head, i, t:
                         -(get("r1", head) * (ONE + get("r2", head) * Interval.of(t)).log()))


def power(call):
    return distance_bias(call, lambda get, head, i, t: -(get("r1", head) * raised(t, get("r2", head))))


def log_power(call):
    return distance_bias(call, lambda get, head, i, t:
                         -(get("r1", head) * (ONE + get("r2", head) * raised(t, get("r3", head))).log()))


def weighted_scores(call):
    heads, n, m = call.size("h", "n", "m")
    queries, keys = call.integers("query_position"), call.integers("key_position")

    def block(get, head, row):
        out = {}
        for a, i in enumerate(queries):
            for b, j in enumerate(keys):
                index, t = ((row * heads + head) * n + a) * m + b, distance(call, i, j)
                out["scores", index] = MINUS_INFINITY if t is None else (
                    get("s", index) * (-(get("w1", head) * raised(t, get("w2", head)))).exp()
                    - get("r1", head) * raised(t, get("r2", head)))
        return out
    return call.parts(block, "h", together="B")
