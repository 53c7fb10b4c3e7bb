"""XLNet: Yang et al. 2019 (arXiv 1906.08237), section 2.4; rel_attn_core of zihangdai/xlnet."""

from formula import ONE, total
from interval import Interval


def scores(call):
    n, d, heads = call.size("n", "d", "h")
    scale = ONE if d == 0 else Interval.of(d).inverse_sqrt()
    other = call.integers("other_segment")

    def head(get, h, b):
        block, out = b * heads + h, {}
        for i in range(n):
            for j in range(n):
                met = (("u", "k", block * n + j), ("v", "p", h * 2 * n + n - (i - j)),
                       ("w", "e", 2 * h + other[(b * n + i) * n + j]))
                out["s", (block * n + i) * n + j] = scale * total(
                    (get("q", (block * n + i) * d + c) + get(added, h * d + c)) * get(keys, row * d + c)
                    for added, keys, row in met for c in range(d))
        return out
    return call.parts(head, "h", together=("B",))
