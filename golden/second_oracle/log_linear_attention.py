"""Log-linear attention: Guo et al. 2025 (arXiv 2506.04761). The past of a token lies in the buckets of a Fenwick tree."""

from attention import power_of_width
from formula import ONE, total


def buckets(t):
    """The level of each token up to t. The tree takes the tokens before t apart: first the last 2^i ones, where i is the
    place of the lowest 1 of t in binary, then those before them in the same way"""
    levels, end = {t: 0}, t
    while end > 0:
        lowest = end & -end
        levels.update({s: lowest.bit_length() for s in range(end - lowest, end)})
        end -= lowest
    return levels


def scalar_gates(call):
    n, d, e, l, group = call.size("n", "d", "e", "l", "u")
    heads = call.sizes["h"] * group

    def group_outputs(get, row, head_of_keys):
        out = {}
        for head in range(head_of_keys * group, (head_of_keys + 1) * group):
            out |= head_outputs(get, row, head)
        return out

    def head_outputs(get, row, head):
        scale, out, fading = power_of_width(call.settings["scale"], d), {}, []
        vectors = [(row * n + t) * heads + head for t in range(n)]
        shared = [x // group * d for x in vectors]
        for t in range(n):
            by = get("g", vectors[t]).exp()
            fading = [x * by for x in fading] + [ONE]
            weights = []
            for s, level in sorted(buckets(t).items()):
                product = total(get("q", shared[t] + c) * get("k", shared[s] + c) for c in range(d))
                weights.append(get("level_scales", vectors[t] * l + level) * fading[s] * product)
            for c in range(e):
                out["o", vectors[t] * e + c] = total(w * get("v", vectors[s] * e + c)
                                                     for s, w in enumerate(weights)) * scale
        return out
    return call.parts(group_outputs, "B", "h")
