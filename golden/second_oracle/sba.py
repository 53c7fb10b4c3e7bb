"""Stick-breaking attention: Tan et al. 2025 (arXiv 2410.17980), eq. (2); the approximations are the released code's."""

from formula import MINUS_INFINITY, ONE, ZERO, exceeds, log_sigmoid, total
from interval import Interval


def broken(logits, softplus):
    """The weights of keys, the nearest last, and the rest of the stick that they leave."""
    limit = {"exact": -MINUS_INFINITY, "linear_above_15": Interval.of(15),
             "base2": Interval.of(15) * Interval.of(2).log()}[softplus]
    weights, taken = [], ZERO
    for z in reversed(logits):
        linear = exceeds(z, limit)
        weights.append(((ZERO if linear else log_sigmoid(z)) - taken).exp())
        taken = taken + (z if linear else z.log_add_exp(ZERO))
    return weights[::-1], (-taken).exp()


def seen(call, i):
    n, m = call.size("n", "m")
    return range(max(0, i + m - n + call.settings["attend_current"]))


def weights(call):
    heads, n, m = call.size("h", "n", "m")

    def row(get, b, h, i):
        query, keys = (b * heads + h) * n + i, seen(call, i)
        a, r = broken([get("z", query * m + j) for j in keys], call.settings["softplus"])
        return {("r", query): r} | {("a", query * m + j): a[j] if j in keys else ZERO for j in range(m)}
    return call.parts(row, "B", "h", "n")


def attention(call):
    heads, n, m, d, e = call.size("h", "n", "m", "d", "e")

    def head(get, b, h):
        out, block = {}, b * heads + h
        scale = ONE if call.settings["scale"] == "one" or d == 0 else Interval.of(d).inverse_sqrt()
        for i in range(n):
            query, keys = block * n + i, seen(call, i)
            a, r = broken([total(get("q", query * d + c) * get("k", (block * m + j) * d + c) for c in range(d)) * scale
                           for j in keys], call.settings["softplus"])
            parts = [(a[j], j) for j in keys]
            if call.settings["remainder"] == "value" and i + m >= n:
                parts.append((r, i + m - n))
            out["r", query] = r
            for c in range(e):
                out["o", query * e + c] = total(x * get("v", (block * m + j) * e + c) for x, j in parts)
        return out
    return call.parts(head, "B", "h")
