"""TAPE: Zhu et al. 2025 (arXiv 2501.00712) and its released code."""

from cope import gate_of
from formula import total

STATES = (("e_cos", "f_cos"), ("e_sin", "f_sin"))


def apply(call):
    width = 2 * call.sizes["r"]

    def row(get, b, h, i):
        first, half, out = ((b * call.sizes["h"] + h) * call.sizes["n"] + i) * width, width // 2, {}
        for c in range(width):
            partner = get("x", first + c - half) if c >= half else -get("x", first + c + half)
            out["y", first + c] = get("x", first + c) * get("e_cos", first + c) + partner * get("e_sin", first + c)
        return out
    return call.parts(row, "B", "h", "n")


def mix(call):
    heads, n, r = call.size("h", "n", "d")

    def channel(get, b, c):
        out = {}
        for source, target in STATES:
            for i in range(n):
                seen = [total(get("weights", ((b * heads + h) * n + i) * n + j)
                              * get(source, ((b * heads + h) * n + j) * r + c) for j in range(n)) for h in range(heads)]
                for h in range(heads):
                    if call.settings["across_heads"]:
                        change = total(get("mix", h * heads + g) * seen[g] for g in range(heads))
                    else:
                        change = total(get("mix", h * heads + g) for g in range(heads)) * seen[h]
                    index = ((b * heads + h) * n + i) * r + c
                    out[target, index] = get(source, index) + change
        return out
    return call.parts(channel, together=("B", "d"))


def update(call):
    heads, n, r, hidden, width = call.size("h", "n", "d", "k", "c")

    def token(get, b, i):
        out, gates = {}, []
        for k in range(hidden):
            z = total(get("gate", k * width + c) * get("x", (b * n + i) * width + c) for c in range(width))
            gates.append(z * gate_of(z))
        for source, target in STATES:
            for c in range(r):
                indices = [((b * heads + h) * n + i) * r + c for h in range(heads)]
                lifted = [gates[k] * total(get("up", k * heads + h) * get(source, indices[h]) for h in range(heads))
                          for k in range(hidden)]
                for h in range(heads):
                    out[target, indices[h]] = get(source, indices[h]) + total(get("down", h * hidden + k) * lifted[k]
                                                                              for k in range(hidden))
        return out
    return call.parts(token, together=("B", "n"))
