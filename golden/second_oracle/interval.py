"""Intervals of multiprecision numbers with outward rounding, on mpmath's integer arithmetic.

An interval holds the truth. Where `open` is true the truth is neither of the two ends: so a sum that lies above a tie
by less than any precision shows is still known to lie above it. Exact results stay points (lo == hi). Numbers are the
tuples of mpmath.libmp, whose exponents are unbounded: nothing overflows or underflows here.

The relative error of mpmath's exp, log, sin, cos and ci at p bits is taken to be below 2^(7 - p), where mpmath states
1 or 2 units in the last place; test_oracle.py tries it. Infinities and NaN are points and obey IEEE 754.
"""

from mpmath import mp
from mpmath.libmp import (fnan, finf, fninf, fone, fzero, from_float, from_int, mpf_abs, mpf_add, mpf_cos_sin, mpf_div,
                          mpf_exp, mpf_ge, mpf_gt, mpf_le, mpf_log, mpf_lt, mpf_mul, mpf_neg, mpf_pi, mpf_pos,
                          mpf_shift, mpf_sqrt, mpf_sub, mpf_sum, to_int)

PRECISION = 160  # bits of the ends
GUARD = 12  # more bits for elementary functions; their error takes 7 of these


class Undecided(Exception):
    """The intervals are too wide; more bits will do."""


def set_precision(bits):
    global PRECISION
    PRECISION = bits


def is_special(x):
    return not x[1] and x[2] != 0  # NaN or an infinity


class Interval:
    __slots__ = ("lo", "hi", "open")

    def __init__(self, lo, hi=None, open=False):
        self.lo, self.hi, self.open = lo, lo if hi is None else hi, open

    @staticmethod
    def of(x):
        """The point of an int or a float."""
        return Interval(from_int(x) if isinstance(x, int) else from_float(x))

    @property
    def is_point(self):
        return self.lo == self.hi

    @property
    def is_nan(self):
        return self.lo == fnan

    def is_value(self, x):
        return self.lo == x and self.hi == x

    def excludes_zero(self):
        return mpf_gt(self.lo, fzero) or mpf_lt(self.hi, fzero)

    def width(self):
        return fzero if self.is_point else added(self.hi, mpf_neg(self.lo), 30, "c")

    def __neg__(self):
        return Interval(mpf_neg(self.hi), mpf_neg(self.lo), self.open)

    def __add__(self, other):
        if other.__class__ is not Interval:
            return NotImplemented  # a number of a tape
        lo = added(self.lo, other.lo, PRECISION, "f")
        hi = added(self.hi, other.hi, PRECISION, "c")
        return Interval(lo, hi, self.open or other.open or (self.is_point and other.is_point and lo != hi))

    def __sub__(self, other):
        return self + -other

    def __mul__(self, other):
        if other.__class__ is not Interval:
            return NotImplemented  # a number of a tape
        if other.is_point:
            self, other = other, self
        if not self.is_point:
            return self._mul_intervals(other)
        c = self.lo
        if other.is_point:
            exact = mpf_mul(c, other.lo)
            if exact[3] <= PRECISION:
                return Interval(exact)
        elif c == fzero:
            return self
        elif is_special(c) and not other.excludes_zero():
            if c == fnan:
                return self
            raise Undecided
        lo, hi = (other.hi, other.lo) if c[0] else (other.lo, other.hi)
        lo, hi = mpf_mul(c, lo, PRECISION, "f"), mpf_mul(c, hi, PRECISION, "c")
        return Interval(lo, hi, lo != hi and (other.open or other.is_point))

    def _mul_intervals(self, other):
        ends = [(x, y) for x in (self.lo, self.hi) for y in (other.lo, other.hi)]
        lows = [mpf_mul(x, y, PRECISION, "f") for x, y in ends]
        highs = [mpf_mul(x, y, PRECISION, "c") for x, y in ends]
        lo, hi = lows[0], highs[0]
        for x, y in zip(lows[1:], highs[1:]):
            lo = x if mpf_lt(x, lo) else lo
            hi = y if mpf_gt(y, hi) else hi
        return Interval(lo, hi, (self.open or other.open) and self.excludes_zero() and other.excludes_zero())

    def __truediv__(self, other):
        if other.__class__ is not Interval:
            return NotImplemented  # a number of a tape
        if other.is_point and (self.is_point or not is_special(other.lo)) and other.lo != fzero:
            lo, hi = (self.hi, self.lo) if other.lo[0] else (self.lo, self.hi)
            lo, hi = mpf_div(lo, other.lo, PRECISION, "f"), mpf_div(hi, other.lo, PRECISION, "c")
            return Interval(lo, hi, lo != hi and (self.open or self.is_point))
        if self.is_nan or other.is_nan:
            return Interval(fnan)
        if not other.excludes_zero():
            raise Undecided
        bits = PRECISION + GUARD
        return self * Interval(mpf_div(fone, other.hi, bits, "f"), mpf_div(fone, other.lo, bits, "c"), other.open)

    def exp(self):
        if is_special(self.lo) or self.is_value(fzero):
            return Interval(mpf_exp(self.lo, PRECISION))
        width = self.width()
        if mpf_gt(width, mpf_shift(fone, -1)):
            raise Undecided
        # exp(lo + w) <= exp(lo) (1 + 2 w) for 0 <= w <= 1/2.
        value = mpf_exp(self.lo, PRECISION + GUARD, "d")
        return spread(value, mpf_shift(value, -PRECISION - 5), mpf_mul(value, mpf_shift(width, 1), 30, "c"))

    def log(self):
        """The logarithm of positive numbers."""
        if is_special(self.lo) or self.is_value(fone):
            return Interval(mpf_log(self.lo, PRECISION))
        values = [mpf_log(x, PRECISION + GUARD, "d") for x in (self.lo, self.hi)]
        low, high = (spread(value, mpf_shift(mpf_abs(value), -PRECISION - 5), fzero) for value in values)
        return Interval(low.lo, high.hi, self.open or fone not in (self.lo, self.hi))  # log 1 has no error

    def cos_sin(self):
        if self.is_value(fzero):
            return Interval(fone), Interval(fzero)
        if is_special(self.lo):
            return Interval(fnan), Interval(fnan)
        width = self.width()  # both functions change by at most this
        out = []
        for value in mpf_cos_sin(self.lo, PRECISION + GUARD, "d"):
            error = added(mpf_shift(mpf_abs(value), -PRECISION - 5), width, 30, "c")
            out.append(spread(value, error, fzero))
        return tuple(out)

    def inverse_sqrt(self):
        """1 / sqrt(x) of a positive point x."""
        lo, hi = (mpf_sqrt(self.lo, PRECISION + GUARD, r) for r in "fc")
        return Interval.of(1) / Interval(lo, hi, lo != hi)

    def log_add_exp(self, other):
        """log(e^x + e^y); -inf adds nothing. Of finite x and y the result is above the larger one, by however
        little."""
        x, y = self, other
        if x.is_nan or y.is_nan:
            return Interval(fnan)
        if x.lo == fninf or y.lo == finf:
            return y
        if y.lo == fninf or x.lo == finf:
            return x
        larger, smaller = (x, y) if mpf_le(y.lo, x.lo) else (y, x)
        bits = PRECISION + 30
        gap = mpf_sub(smaller.lo, larger.lo, bits + max(0, magnitude(x.lo), magnitude(y.lo)), "n")
        term = mpf_exp(gap, bits, "n")
        if magnitude(term) >= -PRECISION - 10:  # otherwise log(1 + t) = t (1 - t/2 + ...) is t
            term = mpf_log(mpf_add(fone, term), bits, "n")
        error = mpf_shift(term, -PRECISION - 5)
        lo = added(larger.lo, added(term, mpf_neg(error), PRECISION, "f"), PRECISION, "f")
        # The function increases in both arguments, and changes by no more than the larger of their changes.
        width = x.width() if mpf_gt(x.width(), y.width()) else y.width()
        above = added(added(term, error, PRECISION, "c"), width, PRECISION, "c")
        return Interval(lo, added(larger.lo, above, PRECISION, "c"), True)

    def log_add_exp_derivatives(self, other):
        """The derivatives of log_add_exp in x and in y. If both x and y are -inf, both derivatives are 0."""
        x, y = self, other
        if x.is_nan or y.is_nan:
            return Interval(fnan), Interval(fnan)
        if x.lo == fninf or y.lo == finf:
            return Interval(fzero), Interval.of(0 if y.lo == fninf else 1)
        if y.lo == fninf or x.lo == finf:
            return Interval.of(1), Interval(fzero)
        x_is_larger = mpf_le(y.lo, x.lo)
        t = (y - x if x_is_larger else x - y).exp()
        larger_share = Interval.of(1) / (Interval.of(1) + t)
        smaller_share = t * larger_share
        return (larger_share, smaller_share) if x_is_larger else (smaller_share, larger_share)


def sum_of_products(pairs):
    """The sum of products of pairs, rounded once. Precondition: the intervals are finite, one of each pair is a point, and the
    exponents are less than 10^6 apart."""
    lows, highs, is_open, is_point = [], [], False, True
    for x, y in pairs:
        if not x.is_point:
            x, y = y, x
        if x.lo == fzero:
            continue
        lo, hi = (y.hi, y.lo) if x.lo[0] else (y.lo, y.hi)
        lows.append(mpf_mul(x.lo, lo))
        highs.append(lows[-1] if y.is_point else mpf_mul(x.lo, hi))
        is_open, is_point = is_open or y.open, is_point and y.is_point
    lo, hi = mpf_pos(mpf_sum(lows), PRECISION, "f"), mpf_pos(mpf_sum(highs), PRECISION, "c")
    return Interval(lo, hi, is_open or (is_point and lo != hi))


def added(x, y, bits, rounding):
    """x + y rounded down or up. If y is far smaller than x, mpf_add keeps only the sign of y. That is right only if it rounds
    to at least as many bits as x has: so the sum has all bits of a longer x, and is then rounded again."""
    out = mpf_add(x, y, max(bits, x[3], y[3]), rounding)
    return mpf_pos(out, bits, rounding) if out[3] > bits else out


def magnitude(x):
    """e with 2^(e-1) <= |x| < 2^e."""
    return x[2] + x[3]


def spread(value, error, more_above):
    """The open interval (value - error, value + error + more_above). Precondition: the error is positive."""
    lo = added(value, mpf_neg(error), PRECISION, "f")
    return Interval(lo, added(value, added(error, more_above, 30, "c"), PRECISION, "c"), True)


def power(base, numerator, denominator):
    """base^(numerator/denominator) of a point base >= 1."""
    if numerator == 0:
        return Interval(fone)
    exponent = Interval.of(numerator) / Interval.of(denominator)
    if base.lo[1] == 1 and (base.lo[2] * numerator) % denominator == 0:  # a power of two
        return Interval(mpf_shift(fone, base.lo[2] * numerator // denominator))
    return (base.log() * exponent).exp()


def pi():
    return Interval(mpf_pi(PRECISION, "f"), mpf_pi(PRECISION, "c"), True)


def floor(x):
    """The largest integer below x. Precondition: x is no integer."""
    low, high = to_int(x.lo, "f"), to_int(x.hi, "f")
    if low != high:
        raise Undecided
    return low


def clipped(x):
    """min(max(x, 0), 1)"""
    if mpf_le(x.hi, fzero):
        return Interval(fzero)
    if mpf_ge(x.lo, fone):
        return Interval(fone)
    if mpf_lt(x.lo, fzero) or mpf_gt(x.hi, fone):
        raise Undecided
    return x


def cosine_integral(x):
    """Ci(x) of a positive point."""
    with mp.workprec(PRECISION + 40):
        value = mp.ci(mp.make_mpf(x.lo))._mpf_
    return spread(value, mpf_shift(mpf_abs(value), -PRECISION - 5), fzero)
