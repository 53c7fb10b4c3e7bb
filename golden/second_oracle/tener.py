"""TENER's relative scores: Yan et al. 2019 (arXiv 1911.04474); fastnlp/TENER, relative_transformer.py"""

import interval
from attention import power_of_width
from formula import ZERO, total
from interval import Interval


def row_of(distance, width, rule):
    """Sines, then cosines; a last column of odd widths is 0"""
    pairs = width // 2
    steps = pairs if rule == "paper" else max(pairs - 1, 1)
    base, turns = Interval.of(10000.0), []
    for t in range(pairs):
        turns.append((Interval.of(distance) * interval.power(base, -t, steps)).cos_sin())
    return [turn[1] for turn in turns] + [turn[0] for turn in turns] + [ZERO] * (width % 2)


def scores(call):
    heads, n, d = call.size("h", "n", "d")
    code = call.settings["terms"] == "code"

    def block_outputs(get, row, head):
        row_head, out, factor = row * heads + head, {}, power_of_width(call.settings["scale"], d)
        table = {t: row_of(t, d, call.settings["rule"]) for t in range(1 - n, n)}
        u, v = ([get(name, head * d + c) for c in range(d)] for name in ("u", "v"))
        for i in range(n):
            q = [get("q", (row_head * n + i) * d + c) for c in range(d)]
            for j in range(n):
                k = [get("k", (row_head * n + j) * d + c) for c in range(d)]
                to_query = table[j - i if code else i - j]
                terms = [(q[c] + u[c]) * k[c] for c in range(d)] + [(q[c] + v[c]) * to_query[c] for c in range(d)]
                if code:
                    terms += [k[c] * table[i - j][c] for c in range(d)]
                out["s", (row_head * n + i) * n + j] = factor * total(terms)
        return out
    return call.parts(block_outputs, together=("B", "h"))  # rows share the vectors of heads
