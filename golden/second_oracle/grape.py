"""Additive GRAPE: Zhang et al. 2025 (arXiv 2512.07805)."""

from attention import power_of_width
from formula import MINUS_INFINITY, ZERO, exceeds, log_sigmoid, total
from interval import Interval


def gate(call, x):
    """log(1 + e^x), or x itself above 20"""
    if call.settings["softplus"] == "linear_above_20" and exceeds(x, Interval.of(20)):
        return x
    return x.log_add_exp(ZERO)


def gated_bias(call):
    """(j - i) omega (softplus(c v . q_i) + softplus(c u . k_j)) for j <= i; later keys: the setting `future`"""
    heads, n, d = call.size("h", "n", "d")
    terms = {"query_and_key": "qk", "query": "q", "key": "k"}[call.settings["gates"]]
    later = MINUS_INFINITY if call.settings["future"] == "masked" else None

    def head_outputs(get, head, row):
        factor = power_of_width(call.settings["scale"], d)

        def gates(tokens, vector):
            return [gate(call, factor * total(get(vector, head * d + c) * get(tokens, ((row * n + i) * heads + head) * d + c)
                                              for c in range(d))) for i in range(n)]
        query_gates, key_gates = "q" in terms and gates("q", "v"), "k" in terms and gates("k", "u")
        out, slope = {}, get("omega", head)
        for i in range(n):
            for j in range(n):
                rate = total(side[token] for side, token in ((query_gates, i), (key_gates, j)) if side)
                out["bias", ((row * heads + head) * n + i) * n + j] = \
                    later if j > i and later is not None else rate * slope * Interval.of(min(j - i, 0))
        return out
    return call.parts(head_outputs, "h", together="B")  # rows share the parameters of a head


def path_bias(call):
    """The sum of slope log_sigmoid(p_i . y_l / d) over the tokens l that come after j and not after i"""
    heads, n, d = call.size("h", "n", "d")

    def head_outputs(get, head, row):
        def token(name, i):
            return [get(name, ((row * n + i) * heads + head) * d + c) for c in range(d)]
        out, slope, ys = {}, get("slopes", head), [token("y", l) for l in range(n)]
        for i in range(n):
            first, p, so_far = ((row * heads + head) * n + i) * n, token("p", i), None
            for j in reversed(range(n)):
                out["bias", first + j] = MINUS_INFINITY if j > i else ZERO if so_far is None else so_far
                if j > i:
                    continue
                score = total(a * b for a, b in zip(p, ys[j]))
                term = log_sigmoid(score / Interval.of(d) if d else score) * slope
                so_far = term if so_far is None else so_far + term
        return out
    return call.parts(head_outputs, "h", together="B")
