"""Relative keys: Shaw et al. 2018 (arXiv 1803.02155), eqs. (3) and (4)."""

from attention import power_of_width
from formula import total


def scores(call):
    n, m, d, heads, rows = call.size("n", "m", "d", "h", "b")
    right = int(call.settings["right"])
    if right < 0:
        right = (rows - 1) // 2
    left = rows - 1 - right
    sign = 1 if call.settings["sign"] == "key_minus_query" else -1

    def score(get, block, i, j):
        rho = sign * (j - (i + m - n))
        row = max(-left, min(rho, right)) + left
        q, k, a = ([get(name, at * d + c) for c in range(d)]
                   for name, at in (("q", block * n + i), ("k", block * m + j), ("table", row)))
        terms = [q[c] * k[c] for c in range(d)] + [q[c] * a[c] for c in range(d)]
        if call.settings["meets"] == "both":
            terms += [k[c] * a[c] for c in range(d)]
        return power_of_width("inverse_sqrt", d) * total(terms)

    def all_of(get, *index):
        return {("s", ((b * heads + h) * n + i) * m + j): score(get, b * heads + h, i, j)
                for b in range(call.sizes["B"]) for h in range(heads) for i in range(n) for j in range(m)}
    return call.parts(all_of)
