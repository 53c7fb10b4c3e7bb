"""Positions by coordinates and convolutions: Tancik et al. 2020 (arXiv 2006.10739), Simeoni et al. 2025 (arXiv
2508.10104), Chu et al. 2021 (arXiv 2102.10882), Baevski et al. 2020 (arXiv 2006.11477), Xu et
al. 2021 (arXiv 2012.14740)."""

import math
from fractions import Fraction

import interval
from formula import ONE, total
from interval import Interval, pi
from program_functions import erf
from t5_bias import bucket_of


def quotient(x):
    return Interval.of(x.numerator) / Interval.of(x.denominator)


def fourier_features(call):
    """Tancik et al. 2020; points of [0, 1] as in PositionEmbeddingRandom of SAM"""
    n, a, r = call.size("n", "a", "r")

    def point_outputs(get, b, i):
        point = [get("points", (b * n + i) * a + k) for k in range(a)]
        if call.settings["range"] == "both_sides":
            point = [x * Interval.of(2) + Interval.of(-1) for x in point]
        out, half = {}, 0 if call.settings["first"] == "sine" else r
        for t in range(r):
            angle = total(x * get("matrix", k * r + t) for k, x in enumerate(point))
            if call.settings["factor"] == "two_pi":
                angle = angle * (pi() * Interval.of(2))
            for number, offset in zip(reversed(angle.cos_sin()), (half, r - half)):
                if call.settings["scale"] == "inverse_sqrt":
                    number = number * Interval.of(2 * r).inverse_sqrt()
                out["y", (b * n + i) * 2 * r + offset + t] = number
        return out
    return call.parts(point_outputs, together="Bn")


def held_period(settings, t, r):
    """A period as the weights of DINOv3 hold it: the nearest number of bf16, which has 8 binary digits"""
    if settings["periods"] == "base":
        period = float(settings["base"]) ** (t / r)
    else:
        low, high = float(settings["min_period"]), float(settings["max_period"])
        period = low * (high / low) ** (t / max(r - 1, 1))
    fraction, exponent = math.frexp(period)
    return math.ldexp(round(fraction * 256), exponent - 8)


def rotate(call):
    """rope_position_encoding.py of facebookresearch/dinov3"""
    n, h, d = call.size("n", "h", "d")
    settings = call.settings
    rows, columns = int(settings["rows"]), int(settings["columns"])
    pairs, r, first = d // 2, d // 4, n - rows * columns

    def coordinate(i, own):
        size = {"separate": own, "max": max(rows, columns), "min": min(rows, columns)}[settings["normalized"]]
        return 2 * (i + Fraction(1, 2)) / size - 1

    def frequency(t):
        if settings["held"] == "bf16":
            return ONE / Interval.of(held_period(settings, t, r))
        if settings["periods"] == "base":
            return interval.power(Interval.of(float(settings["base"])), -t, r)
        low, high = Fraction(float(settings["min_period"])), Fraction(float(settings["max_period"]))
        ratio = quotient(high / low)
        stretched = ONE if t == 0 else (ratio.log() * Interval.of(-t) / Interval.of(r - 1)).exp()
        return stretched / quotient(low)

    def token_outputs(get, b, i):
        out = {}
        place = divmod(i - first, columns)
        for head in range(h):
            start = ((b * n + i) * h + head) * d
            for pair in range(pairs):
                one, other = ((pair, pair + pairs) if settings["layout"] == "half_split" else (2 * pair, 2 * pair + 1))
                x, y = get("x", start + one), get("x", start + other)
                if i >= first:
                    c = coordinate(place[pair // r], (rows, columns)[pair // r])
                    cosine, sine = (frequency(pair % r) * pi() * quotient(2 * c)).cos_sin()
                    x, y = x * cosine - y * sine, x * sine + y * cosine
                out["y", start + one], out["y", start + other] = x, y
        return out
    return call.parts(token_outputs, "B", "n")


def convolved(call):
    """PEG (Chu et al. 2021): the last tokens are a grid"""
    rows, n, d = call.size("B", "n", "d")
    height, width = int(call.settings["rows"]), int(call.settings["columns"])
    first = n - height * width

    def channel_outputs(get, c):
        out = {}
        for b in range(rows):
            def element(i):
                return get("x", (b * n + i) * d + c)
            for i in range(n):
                y = element(i)
                if i >= first:
                    p, q = divmod(i - first, width)
                    y = y + get("bias", c) + total(
                        get("weight", (c * 3 + u) * 3 + v) * element(first + (p + u - 1) * width + q + v - 1)
                        for u in range(3) for v in range(3) if 0 <= p + u - 1 < height and 0 <= q + v - 1 < width)
                out["y", (b * n + i) * d + c] = y
        return out
    return call.parts(channel_outputs, "d")


def gelu(z):
    """x Phi(x) and its derivative, Phi(x) + x phi(x)"""
    x, half = z if isinstance(z, Interval) else z.value, Interval.of(0.5)
    share = (erf(x * Interval.of(2).inverse_sqrt()) + ONE) * half
    if isinstance(z, Interval):
        return x * share
    density = (x * x * -half).exp() * ((pi() * Interval.of(2)).log() * -half).exp()
    return z.with_derivative(x * share, share + x * density)


def convolved_line(call):
    """Padding of k // 2 on both ends, and SamePad: an even kernel drops the last token; or the padding of "same" """
    rows, n, c, k = call.size("B", "n", "c", "k")
    width, before = call.sizes["g"] * c, (k if call.settings["more_padding"] == "before" else k - 1) // 2

    def group_outputs(get, group):
        out = {}
        for b in range(rows):
            for t in range(n):
                window = [(u, t + u - before) for u in range(k) if 0 <= t + u - before < n]
                for o in range(group * c, group * c + c):
                    z = get("bias", o) + total(
                        get("weight", (o * c + i) * k + u) * get("x", (b * n + place) * width + group * c + i)
                        for i in range(c) for u, place in window)
                    out["y", (b * n + t) * width + o] = get("x", (b * n + t) * width + o) + gelu(z)
        return out
    return call.parts(group_outputs, "g")


def bucket_bias(call):
    """Xu et al. 2021; the ends of boxes as modeling_layoutlmv2.py reads them"""
    rows, n, h = call.size("B", "n", "h")
    axes = [("table", "position", "buckets", "max_distance"), ("x_table", "x", "box_buckets", "box_max_distance"),
            ("y_table", "y", "box_buckets", "box_max_distance")]
    places = {name: call.integers(name) for _, name, _, _ in axes}

    def head_outputs(get, head):
        def bias(b, i, j):
            terms = []
            for table, name, buckets, last in axes:
                settings = {"buckets": call.settings[buckets], "max_distance": call.settings[last],
                            "bidirectional": True, "form": "log"}
                apart = places[name][b * n + j] - places[name][b * n + i]
                terms.append(get(table, head * int(call.settings[buckets]) + bucket_of(settings, apart)))
            return total(terms)
        return {("bias", ((b * h + head) * n + i) * n + j): bias(b, i, j)
                for b in range(rows) for i in range(n) for j in range(n)}
    return call.parts(head_outputs, "h")
