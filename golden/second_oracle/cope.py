"""Contextual positions: Golovneva et al. 2024 (arXiv 2405.18719), eqs. (3) to (5)."""

from mpmath.libmp import fzero, to_int

from attention import attend
from formula import MINUS_INFINITY, ONE, ZERO, enclosure_of, exceeds, log_sigmoid, total
from interval import Interval, Undecided


def gate_of(g):
    """sigmoid(g), 1/2 exactly at 0"""
    if not enclosure_of(g).is_value(fzero):
        return log_sigmoid(g).exp()
    half, quarter = Interval.of(0.5), Interval.of(0.25)
    return half if isinstance(g, Interval) else g.with_derivative(half, quarter)


def counted(logits, limit):
    """The sums of gates from each key on, the nearest last; limit None: there is none."""
    count, out = None, []
    for g in reversed(logits):
        count = gate_of(g) if count is None else count + gate_of(g)
        out.append(limit if limit is not None and exceeds(count, limit) else count)
    return out[::-1]


def between(p, size, entry):
    """The value at position p between the entries entry(k), 0 <= k < size."""
    if size == 0 or enclosure_of(p).is_nan:
        return ZERO if size == 0 else p
    enclosure = enclosure_of(p)
    below, above = to_int(enclosure.lo, "f"), to_int(enclosure.hi, "c")
    if above > below + 1:
        raise Undecided
    lower, upper = (entry(min(max(k, 0), size - 1)) for k in (below, above))
    w = p - Interval.of(below)
    return w * upper + (ONE - w) * lower


def positions(call):
    heads, n, m = call.size("h", "n", "m")
    table = call.settings["positions"]

    def row(get, b, h, i):
        query = (b * heads + h) * n + i
        seen = max(0, i + m - n + 1) if call.settings["causal"] else m
        p = counted([get("g", query * m + j) for j in range(seen)], Interval.of(int(table) - 1) if table else None)
        return {("p", query * m + j): p[j] if j < seen else ZERO for j in range(m)}
    return call.parts(row, "B", "h", "n")


def interpolate(call):
    heads, n, m, size = call.size("h", "n", "m", "a")

    def row(get, b, h, i):
        query = (b * heads + h) * n + i
        return {("b", query * m + j): between(get("p", query * m + j), size, lambda k: get("z", query * size + k))
                for j in range(m)}
    return call.parts(row, "B", "h", "n")


def attention(call):
    heads, n, m, d, size = call.size("h", "n", "m", "d", "a")

    def block(get, row, head):
        first, bias = row * heads + head, {}
        scale, position_scale = (ONE if call.settings[name] == "one" or d == 0 else Interval.of(d).inverse_sqrt()
                                 for name in ("scale", "position_scale"))
        for i in range(n):
            q = [get("q", (first * n + i) * d + c) for c in range(d)]
            seen = max(0, i + m - n + 1) if call.settings["causal"] else m
            logits = [total(q[c] * get("k", (first * m + j) * d + c) for c in range(d)) * scale for j in range(seen)]
            for j, p in enumerate(counted(logits, Interval.of(max(size - 1, 0)))):
                z = between(p, size, lambda k, q=q: total(q[c] * get("table", c * size + k) for c in range(d)))
                bias[i, j] = z * position_scale
        return attend(call, get, row, head, lambda i, j: bias.get((i, j), MINUS_INFINITY))
    return call.parts(block, together=("B", "h"))  # they share the table
