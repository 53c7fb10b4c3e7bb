"""FoPE: Hua et al. 2024 (arXiv 2412.17739) and its released code."""

from formula import ONE, ZERO, total
from interval import Interval, Undecided, pi, power


def is_below(x, y):
    difference = x - y
    if not difference.excludes_zero():
        raise Undecided
    return difference.hi[0] == 1  # whether it is negative


def kept(call):
    settings, pairs = call.settings, int(call.settings["pairs"])

    def pairs_kept(length):
        if settings["rule"] == "count":
            return min(int(settings["count"]), pairs)
        # The number of k with base^(-k/pairs) >= 2 pi / length, as in the released code; the two are never equal.
        base, turn = Interval.of(float(settings["base"])), Interval.of(2) * pi() / Interval.of(length)
        return sum(not is_below(power(base, -k, pairs), turn) for k in range(pairs))
    return call.parts(lambda get, i: {("kept", i): Interval.of(pairs_kept(call.integers("length")[i]))}, "n")


def rotate(call):
    n, heads, groups, d, frequencies, columns = call.size("n", "h", "g", "d", "D", "O")
    positions = call.integers("position")

    def coefficient(get, name, group, k, o):
        first = group * frequencies * columns + o
        c = get(name, first + k * columns)
        return c / total(get(name, first + j * columns) for j in range(frequencies)) if call.settings["normalized"] else c

    def token(get, row, i):
        waves = [(get("omega", k) * Interval.of(positions[row * n + i])).cos_sin() for k in range(frequencies)]
        out = {}
        for head in range(heads):
            first, group = ((row * n + i) * heads + head) * d, head // (heads // groups)
            for o in range(d // 2):
                c, s = ONE, ONE if call.settings["padding"] == "ones" else ZERO
                if o < columns:
                    c, s = (total(waves[k][part] * coefficient(get, name, group, k, o) for k in range(frequencies))
                            for part, name in enumerate(("c_cos", "c_sin")))
                a, b = get("x", first + o), get("x", first + d // 2 + o)
                out["y", first + o], out["y", first + d // 2 + o] = a * c - b * s, a * s + b * c
        return out
    return call.parts(token, together="Bn")
