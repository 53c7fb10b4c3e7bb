"""No positions: Wang et al. 2024 (arXiv 2404.12224); temperatures of Llama 4 (huggingface/transformers)"""

from attention import power_of_width, weighted_mean
from formula import ONE, total
from interval import Interval


def attention(call):
    heads, n, m, d, e = call.size("h", "n", "m", "d", "e")

    def block(get, row, head):
        row_head, out = row * heads + head, {}
        factor = power_of_width(call.settings["scale"], d) * get("head_scale", head)
        for i in range(n):
            seen = range(max(0, i + m - n + 1) if call.settings["causal"] else m)
            q = [get("q", (row_head * n + i) * d + c) for c in range(d)]
            logits = [factor * total(q[c] * get("k", (row_head * m + j) * d + c) for c in range(d)) for j in seen]
            values = [[get("v", (row_head * m + j) * e + c) for j in seen] for c in range(e)]
            for c, x in enumerate(weighted_mean(logits, values)):
                out["o", (row_head * n + i) * e + c] = x
        return out
    return call.parts(block, together=("B", "h"))  # rows share the factors of heads


def temperature(call):
    positions, step = call.integers("position"), int(call.settings["floor_scale"])
    first = 1 if call.settings.get("from_one", True) else 0
    factor = Interval.of(float(call.settings["attn_scale"]))

    def row(get, i):
        steps = (positions[i] + first) // step
        return {("f", i): ONE if steps == 0 else ONE + factor * Interval.of(1 + steps).log()}
    return call.parts(row, "n")
