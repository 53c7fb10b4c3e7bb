"""Heinsen 2024, eqs. (1) to (3)."""

from formula import log_sigmoid, total


def scan(call, gate=lambda a: a, name="log_p"):
    n, width = call.size("n", "d")

    def lane(get, row, feature):
        s, out = get("s0", row * width + feature), {}
        for index in range(row * n * width + feature, (row + 1) * n * width, width):
            s = out["s", index] = (gate(get(name, index)) + s).log_add_exp(get("h", index))
        return {**out, ("s_n", row * width + feature): s}
    return call.parts(lane, "B", "d")


def gated_scan(call):
    return scan(call, log_sigmoid, "g")


def embed_position(call):
    n, e, d = call.size("n", "e", "d")

    def tokens(get, row):
        def affine(weights, bias, x, output):
            return get(bias, output) + total(get(weights, output * len(x) + k) * v for k, v in enumerate(x))

        out, s = {}, [get("s0", row * d + j) for j in range(d)]
        for i in range(n):
            x = [get("x", (row * n + i) * e + k) for k in range(e)]
            logits = [affine("W_H", "b_H", x, j) for j in range(2 * d)]
            s = [(log_sigmoid(logits[j]) + s[j]).log_add_exp(logits[d + j]) for j in range(d)]
            for k in range(e):
                out["y", (row * n + i) * e + k] = x[k] + affine("W_R", "b_R", s, k)
        return {**out, **{("s_n", row * d + j): s[j] for j in range(d)}}
    return call.parts(tokens, together="B")
