"""TUPE's bias of positions, with [CLS] untied: Ke, He and Liu 2021 (arXiv 2006.15595), section 3"""

from attention import power_of_width
from formula import total
from t5_bias import bucket_of


def bias(call):
    n, d, width = call.size("n", "d", "b")
    settings = {**call.settings, "bidirectional": True, "form": "log"}

    def head_outputs(get, h):
        out, factor = {}, power_of_width("inverse_sqrt", 2 * d)
        for i in range(n):
            for j in range(n):
                if i == 0 or j == 0:
                    x = get("theta", 2 * h + (0 if i == 0 else 1))
                else:
                    x = factor * total(get("p_q", (h * n + i) * d + c) * get("p_k", (h * n + j) * d + c)
                                       for c in range(d))
                    if call.settings["relative"] == "t5":
                        x = x + get("table", h * width + bucket_of(settings, j - i))
                out["bias", (h * n + i) * n + j] = x
        return out
    return call.parts(head_outputs, "h")
