"""The Pro block of the Forgetting Transformer: Lin et al. 2025 (arXiv 2503.02130) and its released code."""

from cope import gate_of
from formula import ONE, ZERO, total
from interval import Interval


def shift(call):
    """sigmoid(a) z_{t-1} + sigmoid(-a) z_t, z the visible tokens"""
    n, heads, d = call.size("n", "h", "d")
    visible = call.integers("visible")

    def head_outputs(get, row, head):
        z, out = [get("x0", (row * heads + head) * d + c) for c in range(d)], {}
        for t in range(n):
            token = (row * n + t) * heads + head
            a = get("a", token)
            for c in range(d):
                now = get("x", token * d + c) if visible[row * n + t] else ZERO
                out["y", token * d + c] = gate_of(a) * z[c] + gate_of(-a) * now
                z[c] = now
        out.update({("x_n", (row * heads + head) * d + c): z[c] for c in range(d)})
        return out
    return call.parts(head_outputs, "B", "h")


def norm(call, name="x", gate=lambda get, k: ONE):
    """w x / sqrt(mean x^2 + epsilon)"""
    heads, d = call.size("h", "d")
    epsilon = Interval.of(float(call.settings["epsilon"]))

    def row_outputs(get, row, t, head):
        first, out = ((row * call.sizes["n"] + t) * heads + head) * d, {}
        x = [get(name, first + c) for c in range(d)]
        over = ((total(y * y for y in x) / Interval.of(d) + epsilon).log() * Interval.of(-0.5)).exp()
        for c in range(d):
            w = get("w", (0 if call.settings["shared"] else head) * d + c)
            out["y", first + c] = x[c] * over * w * gate(get, first + c)
        return out
    return call.parts(row_outputs, together=("B", "n", "h"))


def output(call):
    return norm(call, "o", lambda get, k: gate_of(get("g", k)))
