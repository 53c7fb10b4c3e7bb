"""Finds inputs whose result lies next to the midpoint of two floats: the entries "...-hard-to-round-..." of recipes.

    python3 golden/hard_to_round.py scan 53 8              # 8 elements in f64 (24: f32)
    python3 golden/hard_to_round.py scan 53 64 --entry     # the entry of a recipe with 64 of them, as JSON

Searches: scan, gated_scan, output (attention), fox_attention, table_at, rotate_by, table and rotate (the last two in f32
alone). Each line is an element: the distance in ulp, then the inputs that were found. The entry has the others, too.

A midpoint m is chosen and the function inverted there: the input that gives m is no float, its neighbour gives a result
beside m. Of many such inputs the best are kept. Where inputs are integers, all are tried. How near a result lies is
computed with mpmath at 400 bits here, and proved by whoever proves the set: its y:low says it. The search draws from a
generator of its own and always prints the same. f16 and bf16 are left out: their few inputs reach no nearer than
others that sets draw.
"""
import json
import math
import random
import sys

import numpy
from mpmath import mp, mpf

mp.prec = 400
HALF = mpf(1) / 2


def rounded(x, precision):
    """The float of so many bits that is nearest to x, which is not 0."""
    scale = mpf(2) ** (precision - math.floor(mp.log(abs(x), 2)) - 1)
    return mp.nint(x * scale) / scale


def best_of_many(precision, count, propose, tries=4000):
    """`count` times the best of what propose(draw, share) gives: a distance and inputs. The share grows from 0 to 1."""
    draw = random.Random(precision)
    return [min((propose(draw, mpf(case) / max(count - 1, 1)) for _ in range(tries)), key=lambda found: found[0])
            for case in range(count)]


def magnitude(draw, share, first, last):
    """Drawn from the binade below 2^first for the share 0, from that below 2^last for 1."""
    return mpf(2) ** (first + math.floor((last - first) * share)) * (1 + draw.random()) / 2


def scan(precision, count):
    """s = log(exp(a) + exp(h)) with a from [9, 11] and so one binade for s; h = m + log(1 - exp(a - m)) gives m.

    A smaller h lies on a finer grid, and s moves by exp(h - s) of it: the distances go down to 2^-50 ulp and below, the
    magnitude of h from 2^-2 to 2^-16.
    """
    ulp = mpf(2) ** (4 - precision)

    def propose(draw, share):
        a = 9 + ulp * draw.randrange(int(2 / ulp))
        wanted = -mpf(2) ** (-2 - math.floor(14 * share)) * (1 + draw.random()) / 2
        m = a + ulp * (mp.floor(mp.exp(wanted - a) / ulp) + HALF)
        h = rounded(a + mp.log(mp.expm1(m - a)), precision)
        return abs(mp.log(mp.exp(a) + mp.exp(h)) - m) / ulp, a + 1, h  # log p is -1
    return best_of_many(precision, count, propose)


def gated_scan(precision, count):
    """s = s0 + log sigmoid(g), no input, with s0 from [9, 11]: g = -log(expm1(s0 - m)) gives m. s moves by the distance
    s0 - m for each unit of g, from 2^-10 down to the last bits of s0."""
    ulp = mpf(2) ** (4 - precision)

    def propose(draw, share):
        s0 = 9 + ulp * draw.randrange(int(2 / ulp))
        m = s0 - ulp * (mp.floor(magnitude(draw, share, -10, 9 - precision) / ulp) + HALF)
        g = rounded(-mp.log(mp.expm1(s0 - m)), precision)
        return abs(s0 - mp.log1p(mp.exp(-g)) - m) / ulp, g, s0
    return best_of_many(precision, count, propose)


def weight(precision, count):
    """1 / (1 + exp(-x)) from [1/2, 1), the weight of the first of two keys: x = log(m / (1 - m)) gives m. x from 2^-8
    down, where its grid is finer than that of the weight."""
    ulp = mpf(2) ** -precision

    def propose(draw, share):
        m = ulp * (mp.floor((HALF + magnitude(draw, share, -10, 6 - precision)) / ulp) + HALF)
        x = rounded(mp.log(m / (1 - m)), precision)
        return abs(1 / (1 + mp.exp(-x)) - m) / ulp, x
    return best_of_many(precision, count, propose)


def remainders(x, moduli):
    """x mod each of the moduli below 2^44, for a large integer x, in chunks of 20 bits."""
    digits = []
    while x:
        digits.append(x & 0xfffff)
        x >>= 20
    left = numpy.zeros_like(moduli)
    for digit in reversed(digits):
        left = ((left << numpy.uint64(20)) + numpy.uint64(digit)) % moduli
    return left


def sine_of_product(precision, count, tries=8):
    """sin(position theta) from [1/2, 1): position theta = asin(m) gives m, and of all positions from 2^22 to 2^23 one
    divides it best."""
    draw, found = random.Random(precision), []
    positions = numpy.arange(2 ** 22, 2 ** 23, dtype="u8")
    for _ in range(tries * count):
        m = (2 * draw.randrange(2 ** (precision - 1), 2 ** precision) + 1) * mpf(2) ** (-precision - 1)
        x = mp.asin(m)
        fine = 20  # bits of the remainder behind the binary point
        left = remainders(int(x * mpf(2) ** (precision + 21 + fine)), positions << numpy.uint64(fine))
        best = int(positions[numpy.argmin(numpy.minimum(left, (positions << numpy.uint64(fine)) - left))])
        theta = rounded(x / best, precision)
        found.append((abs(mp.sin(best * theta) - m) * mpf(2) ** precision, mpf(best), theta))
    return sorted(found)[:count]


def sine_of_integer(precision, count, last=2 ** 24):
    """sin(position) in f32, all positions below 2^24: in 64 bits the sine tells which lie next to a midpoint."""
    assert precision == 24 and numpy.finfo(numpy.longdouble).nmant == 63
    near = []
    for first in range(0, last, 2 ** 20):
        y = numpy.abs(numpy.sin(numpy.arange(first, first + 2 ** 20).astype(numpy.longdouble)))
        _, exponents = numpy.frexp(y)
        units = numpy.ldexp(y, precision - exponents)
        distances = numpy.abs(units - numpy.floor(units) - 0.5)
        near += [first + int(i) for i in numpy.argsort(distances)[:count]]
    found = []
    for position in near:
        units = abs(mp.sin(position))
        units *= mpf(2) ** (precision - 1 - mp.floor(mp.log(units, 2))) if units else 0
        found.append((abs(units - mp.floor(units) - HALF), mpf(position)))
    return sorted(found)[:count]


def values(numbers):
    return {"values": [float(x).hex() for x in numbers]}


def constant(x):
    return {"constant": x}


def step_entry(found):
    _, s0, h = zip(*found)
    return {"B": 1, "n": 1, "d": len(h)}, {"log_p": constant(-1), "h": values(h), "s0": values(s0)}


def gated_entry(found):
    _, g, s0 = zip(*found)
    return {"B": 1, "n": 1, "d": len(g)}, {"g": values(g), "h": constant("-inf"), "s0": values(s0)}


def output_entry(found):
    logits = [x for _, x in found]
    return ({"B": len(logits), "h": 1, "n": 1, "m": 2, "d": 1, "e": 1},
            {"q": constant(1), "k": values(x for logit in logits for x in (logit, 0)), "v": values([1, 0]),
             "bias": constant(0)})


def fox_entry(found):
    """Of two tokens the second forgets the first: the weight of itself."""
    logits = [x for _, x in found]
    return ({"B": len(logits), "n": 2, "h": 1, "d": 1, "e": 1},
            {"q": constant(0), "k": constant(0), "v": values([0, 1]),
             "log_f": values(x for logit in logits for x in (0, -logit))})


def table_at_entry(found):
    _, position, theta = zip(*found)
    return {"n": len(theta), "r": len(theta)}, {"position": values(position), "theta": values(theta)}


def rotate_by_entry(found):
    sizes, inputs = table_at_entry(found)
    return {"B": 1, **sizes, "h": 1, "d": 2 * sizes["r"]}, {"x": values([1, 0]), **inputs}


def table_entry(found):
    return {"n": len(found)}, {"position": {"values": [int(m) for _, m in found]}}


def rotate_entry(found):
    return {"B": 1, "n": len(found), "h": 1, "d": 2}, {"x": values([1, 0]), **table_entry(found)[1]}


SEARCHES = {  # what is searched, the operation, its entry and how it was found
    "scan": (scan, "heinsen/scan", step_entry, "by inversion of the step"),
    "gated_scan": (gated_scan, "heinsen/gated_scan", gated_entry, "by inversion of the log sigmoid"),
    "output": (weight, "attention/output", output_entry, "by inversion of the weight of two keys"),
    "fox_attention": (weight, "fox/attention", fox_entry, "by inversion of the weight of two keys"),
    "table_at": (sine_of_product, "sinusoidal/table_at", table_at_entry, "by inversion of the sine: on the diagonal"),
    "rotate_by": (sine_of_product, "rope/rotate_by", rotate_by_entry, "by inversion of the sine: on the diagonal"),
    "table": (sine_of_integer, "sinusoidal/table", table_entry, "among all positions below 2^24: sines"),
    "rotate": (sine_of_integer, "rope/rotate", rotate_entry, "among all positions below 2^24: sines"),
}


def main(name, precision, count, entry=None):
    search, operation, as_entry, method = SEARCHES[name]
    found = search(int(precision), int(count))
    if not entry:
        for distance, *inputs in found:
            print(f"2^{float(mp.log(distance, 2)):.1f}", *(float(x).hex() for x in inputs))
        return
    sizes, inputs = as_entry(found)
    dtype = {"53": "f64", "24": "f32"}[precision]
    logs = sorted(float(mp.log(f[0], 2)) for f in found)
    print(json.dumps({
        "id": f"{name.replace('_', '-')}-hard-to-round-{dtype}", "operation": operation, "dtypes": [dtype], "axes": sizes,
        "seed": 90800 + 2 * list(SEARCHES).index(name) + (dtype == "f32"),
        "reason": f"found {method}, within 2^{logs[-1]:.0f} to 2^{logs[0]:.0f} ulp of a midpoint "
                  f"(golden/hard_to_round.py {name} {precision} {count})",
        "inputs": inputs}))


if __name__ == "__main__":
    main(*sys.argv[1:])
