"""Cumulative log-sum-exp; minGRU and minLSTM: Feng et al. 2024 (arXiv 2410.01201), appendix B, as recurrences of states."""

import itertools
import math

from mpmath.libmp import mpf_gt

from formula import MINUS_INFINITY, ZERO, absolute, enclosure_of, exceeds, log_sigmoid, total
from interval import Interval

HALF = Interval.of(0.5)


def logcumsumexp(call):
    n, width = call.size("n", "d")

    def lane(get, row, feature):
        y, out = MINUS_INFINITY, {}
        for index in range(row * n * width + feature, (row + 1) * n * width, width):
            y = out["y", index] = get("x", index).log_add_exp(y)
        return out
    return call.parts(lane, "B", "d")


def sigmoid(x):
    return log_sigmoid(x).exp()


def positive(v):
    return sigmoid(v) if exceeds(ZERO, v) else v + HALF


def states(call, shares_of_gates, *gates):
    """h = kept h + taken g(v), of (kept, taken) = shares_of_gates(logits)"""
    n, width = call.size("n", "d")

    def lane(get, row, feature):
        h, out = get("h0", row * width + feature), {}
        for index in range(row * n * width + feature, (row + 1) * n * width, width):
            kept, taken = shares_of_gates(*(get(gate, index) for gate in gates))
            h = out["h", index] = kept * h + taken * positive(get("v", index))
        return {**out, ("h_n", row * width + feature): h}
    return call.parts(lane, "B", "d")


def min_gru(call):
    return states(call, lambda k: (sigmoid(-k), sigmoid(k)), "k")


def min_lstm(call):
    def normalized(f, i):
        f, i = sigmoid(f), sigmoid(i)
        return f / (f + i), i / (f + i)
    return states(call, normalized, "f", "i")


def is_nothing(log):
    return enclosure_of(log).is_value(MINUS_INFINITY.lo)


def added(terms):
    """(m, X), X exp(m) = sum of x exp(log) of terms (log, x); m is about the largest logarithm"""
    terms = [(log, x) for log, x in terms if not is_nothing(log)]
    if not terms:
        return MINUS_INFINITY, ZERO
    top = terms[0][0]
    for log, _ in terms[1:]:
        if mpf_gt(enclosure_of(log).lo, enclosure_of(top).lo):
            top = log
    return top, total((log - top).exp() * x if log is not top else x for log, x in terms)


def in_logarithms(m, x, log, sign, index):
    s = 0 if enclosure_of(x).is_value(ZERO.lo) else 1 if exceeds(x, ZERO) else -1 if exceeds(ZERO, x) else math.nan
    return {(log, index): MINUS_INFINITY if s == 0 else absolute(x).log() + m, (sign, index): Interval.of(float(s))}


def log_matmul_exp(call):
    """Signs have no derivatives"""
    n, d, m = call.size("n", "d", "m")
    sign = {name: [Interval.of(float(x)) for x in call.inputs[name]] for name in ("sign_a", "sign_b")}

    def matrix(get, b):
        out = {}
        for i, j in itertools.product(range(n), range(m)):
            places = [((b * n + i) * d + k, (b * d + k) * m + j) for k in range(d)]
            y = added((get("log_a", p) + get("log_b", q), sign["sign_a"][p] * sign["sign_b"][q]) for p, q in places)
            out.update(in_logarithms(*y, "log_y", "sign_y", (b * n + i) * m + j))
        return out
    return call.parts(matrix, "B")


def signed_scan(call):
    n, width = call.size("n", "d")
    sign = {name: [Interval.of(float(x)) for x in call.inputs[name]] for name in ("sign_a", "sign_b", "sign_x0")}

    def lane(get, row, feature):
        first = row * width + feature
        m, x, out = get("log_x0", first), sign["sign_x0"][first], {}
        for index in range(row * n * width + feature, (row + 1) * n * width, width):
            m, x = added([(get("log_a", index) + m, sign["sign_a"][index] * x), (get("log_b", index), sign["sign_b"][index])])
            out.update(in_logarithms(m, x, "log_x", "sign_x", index))
        return out
    return call.parts(lane, "B", "d")
