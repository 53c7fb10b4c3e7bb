"""Transformer-XL: Dai et al. 2019 (arXiv 1901.02860), section 3.3 and Appendix B; rel_shift of zihangdai/xlnet."""

from attention import power_of_width
from formula import MINUS_INFINITY, ZERO, total


def reshaped(get, block, n, columns, zeros, kept):
    """The relative shift of a head: columns of zeros before x, the first n numbers dropped, rows of a number less, the first
    kept. Each number comes with whether it is from its own row."""
    flat, width, out = [], columns + zeros - 1, {}
    for i in range(n):
        flat += [(i, None)] * zeros + [(i, (block * n + i) * columns + c) for c in range(columns)]
    for i in range(n):
        for j in range(kept):
            row, index = flat[n + i * width + j]
            out["y", (block * n + i) * kept + j] = (row == i, ZERO if index is None else get("x", index))
    return out


def shift(call):
    n, m, heads = call.size("n", "m", "h")
    above = call.settings["above"]
    outside = MINUS_INFINITY if above == "masked" else ZERO

    def head(get, b, h):
        taken = reshaped(get, b * heads + h, n, m, 1, m)
        return {key: x if own or above == "leak" else outside for key, (own, x) in taken.items()}
    return call.parts(head, "B", "h")


def shift_both_sides(call):
    n, heads = call.size("n", "h")

    def head(get, b, h):
        return {key: x for key, (_, x) in reshaped(get, b * heads + h, n, 2 * n, 0, n).items()}
    return call.parts(head, "B", "h")


def scores(call):
    n, m, d, heads = call.size("n", "m", "d", "h")
    clamp = int(call.settings["clamp"])

    def head(get, h, b):
        block, out = b * heads + h, {}
        for i in range(n):
            for j in range(m):
                t, index = i + m - n - j, (block * n + i) * m + j
                if t < 0:
                    out["s", index] = MINUS_INFINITY
                    continue
                t = min(t, clamp) if clamp else t
                q = [get("q", (block * n + i) * d + c) for c in range(d)]
                out["s", index] = power_of_width("inverse_sqrt", d) * total(
                    (q[c] + get("u", h * d + c)) * get("k", (block * m + j) * d + c)
                    + (q[c] + get("v", h * d + c)) * get("p", (h * m + t) * d + c) for c in range(d))
        return out
    return call.parts(head, "h", together=("B",))
