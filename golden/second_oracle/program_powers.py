"""Powers of real elements of programs, in intervals: x^(p/q) of fractions, and x^y as IEEE 754 has `pow`."""

from mpmath.libmp import fone, fzero, from_int, mpf_neg, mpf_shift

from interval import Interval, Undecided, is_special
from program_functions import exp, floor, increasing, log
from program_numbers import (INFINITY, NAN, ONE, PLUS_ZERO, absolute, divide, full_sign, known_sign, multiply,
                             negative, sign_of, signed, subtract)

MOST = 2**31  # numerators and denominators of exact powers are below


def whole_power(x, n):
    """x^n of x >= 0, n > 0: exact where it fits."""
    out = None
    while n:
        if n & 1:
            out = x if out is None else multiply(out, x)
        n >>= 1
        x = multiply(x, x) if n else x
    return out


def integer_power(x, n):
    """x^n of every x."""
    if n == 0 or x.is_nan:
        return x if n else ONE
    odd = n % 2 == 1
    if n < 0:
        if x.is_value(fzero):
            return signed(1, full_sign(x) if odd else 1)
        sign_of(x)
        return divide(ONE, integer_power(x, -n))
    if x.is_value(fzero):
        return x if odd else PLUS_ZERO
    sign = known_sign(x)
    if sign is None and odd:
        low, high = whole_power(Interval(mpf_neg(x.lo)), n), whole_power(Interval(x.hi), n)
        return Interval(mpf_neg(low.hi), high.hi)
    size = whole_power(absolute(x), n)
    return negative(size) if odd and sign < 0 else size


def integer_root(n, q):
    """The integer whose q-th power is n >= 1; None where there is none."""
    if q >= n.bit_length():
        return 1 if n == 1 else None
    root = 1 << -(-n.bit_length() // q)  # above it; Newton's steps descend
    while True:
        step = ((q - 1) * root + n // root**(q - 1)) // q
        if step >= root:
            return root if root**q == n else None
        root = step


def _fractional(x, p, q):
    """x^(p/q) of a point x > 0, q > 1: exact where the root is."""
    _, man, exponent, _ = x.lo
    root = integer_root(int(man), q) if exponent % q == 0 else None
    if root is not None:
        return integer_power(Interval(mpf_shift(from_int(root), exponent // q)), p)
    return exp(multiply(log(x), divide(Interval.of(p), Interval.of(q))))


def power(x, p, q):
    """x^(p/q); for a negative x it exists only if q = 1."""
    if q == 1 or x.is_nan:
        return integer_power(x, p)
    if is_special(x.lo):
        return NAN if sign_of(x) < 0 else INFINITY if p > 0 else PLUS_ZERO
    sign = sign_of(x) if p < 0 or x.lo != fzero else 1  # the root of [0, b] exists
    if sign < 0:
        return NAN
    if x.is_value(fzero):
        return PLUS_ZERO if p > 0 else INFINITY
    if p > 0:
        return increasing(lambda end: end if end.lo == fzero else _fractional(end, p, q), x)
    if x.lo == fzero:
        raise Undecided("a negative power of what may be next to 0")
    return negative(increasing(lambda end: negative(_fractional(end, p, q)), x))


def fraction_of(y):
    """(p, q) of a point that is p / q, with |p| and q below MOST; None for others."""
    sign, man, exponent, bits = y.lo
    if exponent < -31 or bits > 31 or exponent + bits > 31:
        return None
    p = -int(man) if sign else int(man)
    p, q = (p << exponent, 1) if exponent >= 0 else (p, 1 << -exponent)
    return (p, q) if abs(p) < MOST and q < MOST else None


def is_odd_integer(y):
    """1 if a point is an odd integer, 0 if it is an even one, None if it is no integer. Precondition: it is not 0."""
    _, _, exponent, _ = y.lo
    return None if exponent < 0 else int(exponent == 0)


def infinite_power(x, y):
    """x^y if x or y is infinite. Precondition: neither is NaN, and y is not 0."""
    if is_special(y.lo):
        size = absolute(x)
        if size.is_value(fone):
            return ONE
        return INFINITY if sign_of(subtract(size, ONE)) == sign_of(y) else PLUS_ZERO
    size = 1 if sign_of(y) > 0 else 0
    if sign_of(x) > 0:
        return signed(size, 1)
    if not y.is_point:
        raise Undecided("a power of -inf")
    return signed(size, -1 if is_odd_integer(y) else 1)


def negative_base(x, y):
    """|x|^y with the sign of x^y, NaN where y is no integer; x is finite, negative or 0."""
    if not y.is_point:
        low = floor(y).lo  # decided: no integer lies between, but one may be an end
        if not y.open and low in (y.lo, y.hi):
            raise Undecided("a power beside an integer")
        return NAN
    odd = is_odd_integer(y)
    if odd is None:
        return NAN
    size = exp(multiply(log(absolute(x)), y))
    return negative(size) if odd else size


def pow(x, y):
    """x^y as IEEE 754 has it: x^0 and 1^y are 1 even for NaN; for a negative x it exists only for integers y."""
    if y.is_value(fzero) or x.is_value(fone):
        return ONE
    if x.is_nan or y.is_nan:
        return NAN
    if is_special(x.lo) or is_special(y.lo):
        return infinite_power(x, y)
    if x.is_value(fzero):
        odd = y.is_point and is_odd_integer(y)
        sign = full_sign(x) if odd else 1
        return signed(1, sign) if sign_of(y) < 0 else signed(0, sign)
    fraction = fraction_of(y) if y.is_point else None
    if fraction is not None:
        return power(x, *fraction)
    if sign_of(x) < 0:
        return negative_base(x, y)
    return exp(multiply(log(x), y))
