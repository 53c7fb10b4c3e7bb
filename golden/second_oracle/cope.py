"""Contextual positions: Golovneva et al. 2024 (arXiv 2405.18719), eqs. (3) and (4)."""

from mpmath.libmp import fzero, to_int

from formula import ONE, ZERO, enclosure_of, exceeds, log_sigmoid
from interval import Interval


def gate_of(g):
    """sigmoid(g), 1/2 exactly at 0"""
    if not enclosure_of(g).is_value(fzero):
        return log_sigmoid(g).exp()
    half, quarter = Interval.of(0.5), Interval.of(0.25)
    return half if isinstance(g, Interval) else g.with_derivative(half, quarter)


def positions(call):
    heads, n, m = call.size("h", "n", "m")
    limit = Interval.of(int(call.settings["positions"]) - 1)

    def row(get, b, h, i):
        at, out = (b * heads + h) * n + i, {}
        seen = max(0, i + m - n + 1) if call.settings["causal"] else m
        out.update({("p", at * m + j): ZERO for j in range(seen, m)})
        count = None
        for j in reversed(range(seen)):
            gate = gate_of(get("g", at * m + j))
            count = gate if count is None else count + gate
            beyond = call.settings["positions"] and exceeds(count, limit)
            out["p", at * m + j] = limit if beyond else count
        return out
    return call.parts(row, "B", "h", "n")


def interpolate(call):
    heads, n, m, size = call.size("h", "n", "m", "a")

    def row(get, b, h, i):
        at, out = (b * heads + h) * n + i, {}
        for j in range(m):
            p = get("p", at * m + j)
            if size == 0 or enclosure_of(p).is_nan:
                out["b", at * m + j] = ZERO if size == 0 else p
                continue
            below, above = (to_int(enclosure_of(p).lo, way) for way in "fc")
            lower, upper = (get("z", at * size + min(max(k, 0), size - 1)) for k in (below, above))
            w = p - Interval.of(below)
            out["b", at * m + j] = w * upper + (ONE - w) * lower
        return out
    return call.parts(row, "B", "h", "n")
