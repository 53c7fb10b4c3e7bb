"""Positions of images: torch.nn.functional.interpolate, Keys 1981; Liu et al. 2021 (arXiv 2103.14030), Bao et al. 2021
(arXiv 2106.08254)."""

import math
from fractions import Fraction

import interval
from formula import ONE, total
from interval import Interval


def cubic(a, x):
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else Fraction(0)


def triangle(_, x):
    return max(Fraction(0), 1 - abs(x))


def weights(settings, old, new, is_same):
    """For each new place {old place: weight}, exactly. `is_same`: the whole grid stays the same."""
    smooth = settings["antialias"]
    kernel, reach = (cubic, 2) if settings["mode"] == "bicubic" else (triangle, 1)
    a = Fraction(-1, 2) if smooth else Fraction(-3, 4)
    scale = Fraction(old) / (new + (Fraction(1, 10) if settings["scale"] == "offset" and not is_same else 0))
    stretch = max(scale, 1) if smooth else 1
    for i in range(new):
        if settings["align_corners"]:
            source = Fraction(i * (old - 1), new - 1) if new > 1 else Fraction(0)
        else:
            source = (i + Fraction(1, 2)) * scale - Fraction(1, 2)
        shares = {}
        for k in range(math.floor(source - reach * stretch), math.ceil(source + reach * stretch) + 1):
            if not smooth or 0 <= k < old:
                k_there = min(max(k, 0), old - 1)
                shares[k_there] = shares.get(k_there, 0) + kernel(a, (source - k) / stretch)
        whole = sum(shares.values()) if smooth else 1
        yield {k: share / whole for k, share in shares.items() if share}


def interpolated_table(call):
    h, w, y, x, d, kept = call.size("H", "W", "Y", "X", "d", "k")
    is_same = (h, w) == (y, x)
    rows, columns = list(weights(call.settings, h, y, is_same)), list(weights(call.settings, w, x, is_same))

    def channel_outputs(get, c):
        out = {("y", t * d + c): get("kept", t * d + c) for t in range(kept)}
        for i, row_weights in enumerate(rows):
            for j, column_weights in enumerate(columns):
                # Whole factors before the sum, and one quotient after it.
                shares = {(a, b): s * t for a, s in row_weights.items() for b, t in column_weights.items()}
                common = math.lcm(*(share.denominator for share in shares.values()))
                sums = total(get("table", (a * w + b) * d + c) * Interval.of(int(share * common))
                             for (a, b), share in shares.items())
                out["y", (kept + i * x + j) * d + c] = sums * Interval.of(1) / Interval.of(common)
        return out
    return call.parts(channel_outputs, "d")


def biases(call, first):
    """The biases of tokens from `first` on; token -1 is a class token"""
    h, w, heads = call.size("H", "W", "h")
    sign = 1 if call.settings["sign"] == "query_minus_key" else -1
    n = h * w - first

    def head_outputs(get, head):
        def entry(i, j):
            if i < 0 or j < 0:
                return get("rows", (2 if i == j else 0 if i < 0 else 1) * heads + head)
            row, column = sign * (i // w - j // w) + h - 1, sign * (i % w - j % w) + w - 1
            return get("table", (row * (2 * w - 1) + column) * heads + head)
        return {("bias", (head * n + i - first) * n + j - first): entry(i, j)
                for i in range(first, h * w) for j in range(first, h * w)}
    return call.parts(head_outputs, "h")


def relative_bias(call):
    return biases(call, 0)


def relative_bias_with_class(call):
    return biases(call, -1)


def decomposed_bias(call):
    """Li et al. 2021 (arXiv 2112.01526), eq. (4)"""
    h, w, d = call.size("H", "W", "d")
    n = h * w

    def bias_of_pair(get, b, i, j):
        def dot(table, row):
            return total(get("q", (b * n + i) * d + c) * get(table, row * d + c) for c in range(d))
        rows, columns = dot("rel_rows", i // w - j // w + h - 1), dot("rel_columns", i % w - j % w + w - 1)
        return rows + columns

    def all_outputs(get):
        return {("bias", (b * n + i) * n + j): bias_of_pair(get, b, i, j)
                for b in range(call.sizes["B"]) for i in range(n) for j in range(n)}
    return [all_outputs]


def row_of(call, places):
    """Sines and cosines of both axes at (row, column)"""
    r, base = call.sizes["r"], Interval.of(float(call.settings["base"]))
    out = []
    for place in places if call.settings["first"] == "rows" else places[::-1]:
        turns = [(place * interval.power(base, -t, r)).cos_sin() for t in range(r)]
        if call.settings["layout"] == "half_split":
            out += [sine for _, sine in turns] + [cosine for cosine, _ in turns]
        else:
            out += [x for cosine, sine in turns for x in (sine, cosine)]
    return out


def sinusoids(call):
    w, r = call.size("W", "r")
    rows, columns = call.integers("rows"), call.integers("columns")

    def place_outputs(get, i, j):
        return {("p", (i * w + j) * 4 * r + k): x
                for k, x in enumerate(row_of(call, [Interval.of(rows[i]), Interval.of(columns[j])]))}
    return call.parts(place_outputs, "H", "W")


def masked_sinusoids(call):
    """PositionEmbeddingSine of facebookresearch/detr, 1/2 as in Deformable DETR"""
    h, w, r = call.size("H", "W", "r")
    mask = call.integers("mask")
    half = Interval.of(0.5 if call.settings["shift"] == "half" else 0)

    def place(counted, last):
        if not call.settings["normalized"]:
            return Interval.of(counted) - half
        return (Interval.of(counted) - half) / (Interval.of(last) + Interval.of(1e-6)) * interval.pi() * Interval.of(2)

    def place_outputs(get, b, i, j):
        image = [mask[(b * h + y) * w:(b * h + y + 1) * w] for y in range(h)]
        row = place(sum(image[y][j] for y in range(i + 1)), sum(line[j] for line in image))
        column = place(sum(image[i][:j + 1]), sum(image[i]))
        return {("p", ((b * h + i) * w + j) * 4 * r + k): x for k, x in enumerate(row_of(call, [row, column]))}
    return call.parts(place_outputs, "B", "H", "W")


def log_coordinates(call):
    """microsoft/Swin-Transformer, swin_transformer_v2.py, relative_coords_table"""
    w = call.sizes["W"]
    inputs = (("row_distance", "window_rows"), ("column_distance", "window_columns"))
    distances = [call.integers(name) for name, _ in inputs]

    def coordinate(distance, window):
        size = Interval.of(abs(distance))
        if call.settings["form"] == "normalized":
            size = (size * Interval.of(8) / Interval.of(window - 1) + ONE).log() / Interval.of(8).log()
        else:
            size = (size + ONE).log()
        return -size if distance < 0 else size

    def place_outputs(get, i, j):
        return {("x", (i * w + j) * 2 + k): coordinate(distances[k][index], int(call.settings[inputs[k][1]]))
                for k, index in enumerate((i, j))}
    return call.parts(place_outputs, "H", "W")
