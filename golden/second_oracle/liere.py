"""LieRE: Ostmeier et al. 2024 (arXiv 2406.10322). exp(X) times a vector is summed as a series, without scaling. Its
terms cancel, which costs bits."""

import math

from mpmath.libmp import from_man_exp, mpf_abs, mpf_mul, mpf_neg, to_float

import interval
from formula import ONE, ZERO, enclosure_of, total
from interval import Interval, Undecided


def size(x):
    """A double that is about the largest magnitude in the enclosure of x."""
    x = enclosure_of(x)
    return max(abs(to_float(x.lo)), abs(to_float(x.hi)))


def is_zero(x):
    return isinstance(x, Interval) and x.is_point and x.is_value(ZERO.lo) or enclosure_of(x).is_value(ZERO.lo)


def one_by_one(pairs):
    return total(x * y for x, y in pairs)


def are_points_and_numbers(matrix, vector):
    return all(isinstance(y, Interval) and y.is_point and not interval.is_special(y.lo)
               for row in matrix for y in row if y is not None) and \
        all(isinstance(y, Interval) and not interval.is_special(y.lo) for y in vector)


def turned(upper, vector):
    """exp(X) times a vector: upper(i, j) is the entry of X above the diagonal, for i < j."""
    b = len(vector)
    x = [[None] * b for _ in range(b)]
    for i in range(b):
        for j in range(i + 1, b):
            x[i][j] = upper(i, j)
            x[j][i] = -x[i][j]
    norm = max((sum(size(y) for y in row if y is not None) for row in x), default=0)
    if norm * math.log2(math.e) > interval.PRECISION:  # terms reach exp(norm), and their sum the length of the vector
        raise Undecided
    # log2 of norm^(terms + 1) / (terms + 1)!; at X = 0 the first term has a derivative.
    terms, tail = 1, 2 * math.log2(norm) - 1 if norm > 0 else -math.inf
    while tail > -interval.PRECISION - 80 or terms < 2 * norm:
        terms += 1
        tail += math.log2(norm) - math.log2(terms + 1)
    out, term = list(vector), list(vector)
    product = interval.sum_of_products if are_points_and_numbers(x, vector) else one_by_one
    for k in range(1, terms + 1):
        term = [product((x[i][j], term[j]) for j in range(b) if j != i) / Interval.of(k) if b > 1 else ZERO
                for i in range(b)]
        out = [y + t for y, t in zip(out, term)]
    if norm > 0:
        # Beyond 2 norm terms fall by half: the others are at most twice the next one.
        largest = max((enclosure_of(y) for y in vector), key=size)
        top = mpf_mul(mpf_abs(largest.hi if abs(to_float(largest.hi)) == size(largest) else largest.lo),
                      from_man_exp(1, int(math.ceil(tail)) + 2))
        rest = Interval(mpf_neg(top), top, True)
        out = [y if is_zero(t) else y + rest for y, t in zip(out, term)]
    return out


def entry(call, get, token, first, i, j):
    """An entry of the sum over axes of positions times U - U^T, or times the part of it above the diagonal."""
    a, b = call.size("a", "b")
    blocks = call.sizes.get("c", 1)

    def generator(k):
        start = (first + k * blocks) * b * b
        u = get("generators", start + i * b + j)
        return u - get("generators", start + j * b + i) if call.settings["form"] == "difference" else u
    return total(get("position", token * a + k) * generator(k) for k in range(a))


def rotation(call):
    b = call.sizes["b"]

    def token_outputs(get, token):
        out = {}
        for column in range(b):
            unit = [ONE if i == column else ZERO for i in range(b)]
            y = turned(lambda i, j: entry(call, get, token, 0, i, j), unit)
            out.update({("R", (token * b + i) * b + column): y[i] for i in range(b)})
        return out
    return call.parts(token_outputs, together="n")


def by_blocks(call, upper):
    """Blocks of x turned by exp(X), of which upper(get, token, head, block, i, j) is an entry."""
    n, heads, d, b, c = call.size("n", "h", "d", "b", "c")

    def vector(get, row, token, head):
        first = ((row * n + token) * heads + head) * d
        out = {("y", first + k): get("x", first + k) for k in range(c * b, d)}
        for block in range(c):
            start = first + block * b
            y = turned(lambda i, j: upper(get, token, head, block, i, j), [get("x", start + i) for i in range(b)])
            out.update({("y", start + i): y[i] for i in range(b)})
        return out
    return call.parts(vector, together="Bnh")


def rotate(call):
    a, c = call.size("a", "c")
    return by_blocks(call, lambda get, token, head, block, i, j: entry(call, get, token, head * a * c + block, i, j))
