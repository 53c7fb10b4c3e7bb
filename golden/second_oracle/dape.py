"""DAPE: Zheng et al. 2024 (arXiv 2405.14722) and V2 (arXiv 2410.04798), with the residual sum of the published code."""

from math import inf

from formula import MINUS_INFINITY, ZERO, exceeds, total
from interval import Interval


def logits(call):
    """s + bias + f(s, bias) or s + f(s, bias), f two convolutions along keys with a leaky rectifier between them"""
    heads, n, m, units, taps = call.size("h", "n", "m", "w", "k")
    slope = Interval.of(float(call.settings["slope"]))
    masked = [x == -inf for x in call.inputs["bias"]]

    def around(j):
        return [(t, j + t - taps // 2) for t in range(taps) if 0 <= j + t - taps // 2 < m]

    def row(get, b, i):
        def inputs(j):
            """(channel, value) of each input of the network for the pair i, j"""
            for h in range(heads):
                pair = (h * n + i) * m + j
                if not masked[pair]:
                    yield h, get("s", b * heads * n * m + pair)
                    yield heads + h, get("bias", pair)

        def hidden(u, j):
            y = get("c1", u) + total(get("w1", (u * 2 * heads + c) * taps + t) * x
                                     for t, key in around(j) for c, x in inputs(key))
            return y if exceeds(y, ZERO) else y * slope

        y, out = [[hidden(u, j) for u in range(units)] for j in range(m)], {}
        for h in range(heads):
            for j in range(m):
                pair = (h * n + i) * m + j
                a = get("c2", h) + total(get("w2", (h * units + u) * taps + t) * y[key][u]
                                         for t, key in around(j) for u in range(units))
                if call.settings["form"] == "residual" and not masked[pair]:
                    a = a + get("bias", pair)
                score = b * heads * n * m + pair
                out["a", score] = MINUS_INFINITY if masked[pair] else get("s", score) + a
        return out
    return call.parts(row, together=("B", "n"))
