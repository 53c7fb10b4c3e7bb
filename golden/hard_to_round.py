"""Finds inputs whose result lies next to the midpoint of two floats: the entries "...-hard-to-round-..." of recipes.

    python3 golden/hard_to_round.py scan 53 8        # 8 elements in f64 (24: f32)
    python3 golden/hard_to_round.py table_at 24 4

Each line is an element: the distance in ulp, then s0 and h (log p is -1), or position and theta.

A midpoint m is chosen and the function inverted there: the input that gives m is no float, its neighbour gives a result
beside m. Of many such inputs the best are kept. How near a result lies is computed with mpmath at 400 bits here, and
proved by whoever proves the set: its y:low says it. The search draws from a generator of its own and always prints the
same.
"""
import math
import random
import sys

import numpy
from mpmath import mp, mpf

mp.prec = 400


def rounded(x, precision):
    """The float of so many bits that is nearest to x, which is not 0."""
    scale = mpf(2) ** (precision - math.floor(mp.log(abs(x), 2)) - 1)
    return mp.nint(x * scale) / scale


def scan(precision, count, tries=4000):
    """s = log(exp(a) + exp(h)) with a from [9, 11] and so one binade for s; h = m + log(1 - exp(a - m)) gives m.

    A smaller h lies on a finer grid, and s moves by exp(h - s) of it: the distances go down to 2^-50 ulp and below, the
    magnitude of h from 2^-2 to 2^-16.
    """
    draw, found = random.Random(precision), []
    ulp = mpf(2) ** (4 - precision)
    for case in range(count):
        best = None
        for _ in range(tries):
            a = 9 + ulp * draw.randrange(int(2 / ulp))
            wanted = -mpf(2) ** (-2 - 14 * case // max(count - 1, 1)) * (1 + draw.random()) / 2
            m = a + ulp * (mp.floor(mp.exp(wanted - a) / ulp) + mpf(1) / 2)
            h = rounded(a + mp.log(mp.expm1(m - a)), precision)
            distance = abs(mp.log(mp.exp(a) + mp.exp(h)) - m) / ulp
            if best is None or distance < best[0]:
                best = distance, a + 1, h  # log p is -1
        found.append(best)
    return found


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


def table_at(precision, count, tries=8):
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


def main(name, precision, count):
    for distance, *inputs in {"scan": scan, "table_at": table_at}[name](int(precision), int(count)):
        print(f"2^{float(mp.log(distance, 2)):.1f}", *(float(x).hex() for x in inputs))


if __name__ == "__main__":
    main(*sys.argv[1:])
