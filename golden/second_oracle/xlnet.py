"""XLNet: Yang et al. 2019 (arXiv 1906.08237), sections 2.4 and 2.5; rel_attn_core of zihangdai/xlnet."""

from attention import power_of_width
from formula import total


def scores(call):
    n, d, heads = call.size("n", "d", "h")
    other = call.integers("other_segment")

    def head(get, h, b):
        block, out = b * heads + h, {}
        for i in range(n):
            for j in range(n):
                met = (("u", "k", block * n + j), ("v", "p", h * 2 * n + n - (i - j)),
                       ("w", "e", 2 * h + other[(b * n + i) * n + j]))
                out["s", (block * n + i) * n + j] = power_of_width("inverse_sqrt", d) * total(
                    (get("q", (block * n + i) * d + c) + get(added, h * d + c)) * get(keys, row * d + c)
                    for added, keys, row in met for c in range(d))
        return out
    return call.parts(head, "h", together=("B",))
