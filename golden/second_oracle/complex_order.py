"""Complex-valued word embeddings: Wang et al. 2020 (arXiv 1912.12333), and attention_complex.py of its code."""

from mpmath.libmp import fzero

from attention import power_of_width
from formula import ONE, ZERO, enclosure_of, total
from interval import Interval, Undecided


def modulus(x, y):
    """|x + iy|; a constant if both are 0, since it has no gradient there."""
    squares = x * x + y * y
    value = enclosure_of(squares)
    if value.is_value(fzero):
        return ZERO
    if not (value.is_nan or value.excludes_zero()):
        raise Undecided
    return (squares.log() * (ONE / Interval.of(2))).exp()


def embed(call):
    n, d = call.size("n", "d")
    position = call.integers("position")

    def component(get, b, i, c):
        k, index = (b * n + i) * d + c, b * n + (n - 1 - i if call.settings["reversed"] else i)
        cosine, sine = (get("frequency", k) * Interval.of(position[index]) + get("phase", k)).cos_sin()
        return {("f", 2 * k): get("amplitude", k) * cosine, ("f", 2 * k + 1): get("amplitude", k) * sine}
    return call.parts(component, "B", "n", "d")


def scores(call):
    n, m, d = call.size("n", "m", "d")

    def score(get, b, h, i, j):
        block, q, k = b * call.sizes["h"] + h, [], []
        for numbers, name, row in ((q, "q", block * n + i), (k, "k", block * m + j)):
            numbers += [(get(name, 2 * (row * d + c)), get(name, 2 * (row * d + c) + 1)) for c in range(d)]
        pairs = list(zip(q, k))
        if call.settings["product"] == "hermitian":
            product = total(x * u + y * v for (x, y), (u, v) in pairs)
        else:
            product = modulus(total(x * u - y * v for (x, y), (u, v) in pairs),
                              total(x * v + y * u for (x, y), (u, v) in pairs))
        return {("s", (block * n + i) * m + j): power_of_width("inverse_sqrt", d) * product}
    return call.parts(score, together=("B", "h", "n", "m"))
