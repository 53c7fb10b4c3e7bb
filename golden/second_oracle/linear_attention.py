"""Linear attention with gates and delta rules: Yang et al. 2023 (arXiv 2312.06635) and 2024 (arXiv 2412.06464), Peng
et al. 2025 (arXiv 2503.14456). A state is a list of columns, one for each channel of the values."""

from attention import power_of_width
from formula import ONE, total
from interval import Interval

LEAST = Interval.of(float(1e-6))


def dot(x, y):
    return total(a * b for a, b in zip(x, y))


def over_length(x):
    by = ((dot(x, x) + LEAST).log() * Interval.of(-0.5)).exp()
    return [a * by for a in x]


def attend(call, fading=None, change=lambda token, before, faded, j: [k * token["v"][j] for k in token["k"]]):
    """o_t = scale S_t^T q_t, where column j of S_t is fading S_{t-1} + change(token, before, faded, j)"""
    n, heads, d, e = call.size("n", "h", "d", "e")

    def head_outputs(get, head, row):
        scale, out, first = power_of_width(call.settings["scale"], d), {}, (row * heads + head) * d
        columns = [[get("s0", (first + i) * e + j) for i in range(d)] for j in range(e)]
        for t in range(n):
            place = (row * n + t) * heads + head
            widths = {"q": d, "k": d, "v": e, "a": d, "b": d, "beta": 1}
            token = {name: [get(name, place * width + c) for c in range(width)]
                     for name, width in widths.items() if name in call.inputs}
            if call.settings.get("normalized"):
                token["q"], token["k"] = over_length(token["q"]), over_length(token["k"])
            by = fading(get, head, place) if fading else [ONE] * d
            for j, before in enumerate(columns):
                faded = [x * f for x, f in zip(before, by)] if fading else before
                columns[j] = [x + y for x, y in zip(faded, change(token, before, faded, j))]
                out["o", place * e + j] = dot(columns[j], token["q"]) * scale
        out.update({("s_n", (first + i) * e + j): column[i] for j, column in enumerate(columns) for i in range(d)})
        return out
    return call.parts(head_outputs, "h", together=("B",))


def by_scalar(call):
    return lambda get, head, place: [get("g", place).exp()] * call.sizes["d"]


def by_channel(call):
    return lambda get, head, place: [get("g", place * call.sizes["d"] + c).exp() for c in range(call.sizes["d"])]


def lacking(token, before, faded, j):
    """beta (v - k . S) k, where S is the state after it has faded"""
    lack = token["beta"][0] * (token["v"][j] - dot(token["k"], faded))
    return [k * lack for k in token["k"]]


def moved(token, before, faded, j):
    """b (a . S) + k v, where S is the state before it fades"""
    read = dot(token["a"], before)
    return [b * read + k * token["v"][j] for b, k in zip(token["b"], token["k"])]


def retention(call):
    """Decays come from a configuration, so that they have no derivatives"""
    return attend(call, lambda get, head, place: [Interval.of(float(call.inputs["log_decay"][head])).exp()] * call.sizes["d"])


def scalar_gates(call):
    return attend(call, by_scalar(call))


def channel_gates(call):
    return attend(call, by_channel(call))


def delta_rule(call):
    return attend(call, change=lacking)


def gated_delta_rule(call):
    return attend(call, by_scalar(call), lacking)


def channel_gated_delta_rule(call):
    return attend(call, by_channel(call), lacking)


def low_rank_rule(call):
    return attend(call, by_channel(call), moved)
