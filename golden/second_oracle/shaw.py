"""Relative keys and values: Shaw et al. 2018 (arXiv 1803.02155), eqs. (1) to (4)."""

from attention import power_of_width, weighted_mean
from formula import total


def row_of(call, i, j):
    """The row of a table that query i and key j have"""
    n, m, rows = call.size("n", "m", "b")
    right = int(call.settings["right"])
    if right < 0:
        right = (rows - 1) // 2
    left = rows - 1 - right
    sign = 1 if call.settings["sign"] == "key_minus_query" else -1
    return max(-left, min(sign * (j - (i + m - n)), right)) + left


def score(call, get, table, factor, block, i, j):
    n, m, d = call.size("n", "m", "d")
    q, k, a = ([get(name, index * d + c) for c in range(d)]
               for name, index in (("q", block * n + i), ("k", block * m + j), (table, row_of(call, i, j))))
    terms = [q[c] * k[c] for c in range(d)] + [q[c] * a[c] for c in range(d)]
    if call.settings["meets"] == "both":
        terms += [k[c] * a[c] for c in range(d)]
    return power_of_width(factor, d) * total(terms)


def scores(call):
    n, m, heads = call.size("n", "m", "h")

    def all_of(get, *index):
        return {("s", ((b * heads + h) * n + i) * m + j):
                score(call, get, "table", "inverse_sqrt", b * heads + h, i, j)
                for b in range(call.sizes["B"]) for h in range(heads) for i in range(n) for j in range(m)}
    return call.parts(all_of)


def attention(call):
    heads, n, m, e = call.size("h", "n", "m", "e")

    def block(get, row, head):
        row_head, out = row * heads + head, {}
        for i in range(n):
            seen = range(max(0, i + m - n + 1) if call.settings["causal"] else m)
            logits = [score(call, get, "table_k", call.settings["scale"], row_head, i, j) for j in seen]
            values = [[get("v", (row_head * m + j) * e + c) for j in seen] for c in range(e)]
            if call.settings["where"] == "keys_values":
                values = [[values[c][j] + get("table_v", row_of(call, i, j) * e + c) for j in seen] for c in range(e)]
            for c, x in enumerate(weighted_mean(logits, values)):
                out["o", (row_head * n + i) * e + c] = x
        return out
    return call.parts(block, together=("B", "h"))  # they share the tables
