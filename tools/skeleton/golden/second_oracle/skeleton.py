"""The formula again, from its source (author, title, year, equation) and not from reference/. This one: -a t / (1 + t)."""

from formula import distance_bias
from interval import Interval


def bias(call):
    return distance_bias(call, lambda get, head, i, t: -(get("a", head) * Interval.of(t) / Interval.of(1 + t)))
