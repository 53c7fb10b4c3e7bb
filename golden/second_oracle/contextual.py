"""Positions that tokens set: Yang et al. 2025 (arXiv 2505.16381), PaTH attention; Movahedi et al. 2025 (arXiv 2511.17388),
Selective RoPE."""

from attention import power_of_width, weighted_mean
from formula import total


def dot(x, y):
    return total(a * b for a, b in zip(x, y))


def path_attention(call):
    """Logits q_i . (H_i ... H_{j+1} k_j), H_t x = x - beta_t (w_t . x) w_t"""
    heads, n, d, e = call.size("h", "n", "d", "e")

    def head_outputs(get, row, head):
        first, scale, keys, out = (row * heads + head) * n, power_of_width(call.settings["scale"], d), [], {}
        for i in range(n):
            q, k, w = ([get(name, (first + i) * d + c) for c in range(d)] for name in ("q", "k", "w"))
            beta = get("beta", first + i)
            for key in keys:
                by = beta * dot(w, key)
                key[:] = [x - by * y for x, y in zip(key, w)]
            keys.append(k)
            values = [[get("v", (first + j) * e + c) for j in range(i + 1)] for c in range(e)]
            logits = [dot(q, key) * scale for key in keys]
            for c, x in enumerate(weighted_mean(logits, values)):
                out["o", (first + i) * e + c] = x
        return out
    return call.parts(head_outputs, "B", "h")


def selective_rotation(call):
    heads, n, r = call.size("h", "n", "r")

    def lane(get, row, head, t):
        total_angle, out = get("s0", (row * heads + head) * r + t), {}
        for i in range(n):
            index = (row * n + i) * heads + head
            total_angle = total_angle + get("phi", index * r + t)
            cosine, sine = (total_angle * get("temperature", t)).cos_sin()
            first, second = index * 2 * r + t, index * 2 * r + r + t
            x, y = get("x", first), get("x", second)
            out["y", first], out["y", second] = x * cosine - y * sine, x * sine + y * cosine
        return {**out, ("s_n", (row * heads + head) * r + t): total_angle}

    def pair_outputs(get, t, row):  # rows and heads share the temperature of a pair
        out = {}
        for head in range(heads):
            out |= lane(get, row, head, t)
        return out
    return call.parts(pair_outputs, "r", together="B")
