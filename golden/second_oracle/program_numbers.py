"""Arithmetic of real elements of programs, in intervals, with signs and special values.

What is certainly outside of a domain is NaN; what may be outside is Undecided. A zero that is one of the two objects
PLUS_ZERO and MINUS_ZERO has a sign, any other may have either. Infinities and NaN are points.
"""

from mpmath.libmp import fnan, finf, fninf, fone, fzero, mpf_add, mpf_gt, mpf_lt, mpf_neg, mpf_sign

from interval import Interval, Undecided, is_special

NAN, INFINITY, MINUS_INFINITY = Interval(fnan), Interval(finf), Interval(fninf)
PLUS_ZERO, MINUS_ZERO, ONE = Interval(fzero), Interval(fzero), Interval(fone)


def real_of(x):
    """The point of a double; a zero keeps its sign."""
    out = Interval.of(x)
    return signed(0, -1 if str(x)[0] == "-" else 1) if out.is_value(fzero) else out


# Signs.

def known_sign(x):
    """1, -1, or 0 of an exact zero; None where it is not known. x is no NaN."""
    if x.is_point:
        return mpf_sign(x.lo)
    if mpf_gt(x.lo, fzero) or (x.open and x.lo == fzero):
        return 1
    return -1 if mpf_lt(x.hi, fzero) or (x.open and x.hi == fzero) else None


def sign_of(x):
    sign = known_sign(x)
    if sign is None:
        raise Undecided("may have either sign")
    return sign


def full_sign(x):
    """The sign of a number, of a zero too; None where it is not known."""
    return {id(PLUS_ZERO): 1, id(MINUS_ZERO): -1}.get(id(x)) or known_sign(x) or None


def signed(size, sign):
    """Zero (`size` 0) or infinity (1) of this sign; without a known sign the infinity is Undecided."""
    if sign is None and size:
        raise Undecided("an infinity of unknown sign")
    return {1: (PLUS_ZERO, INFINITY), -1: (MINUS_ZERO, MINUS_INFINITY)}.get(sign, (Interval(fzero),))[1 if size else 0]


def product_of_signs(x, y):
    x, y = full_sign(x), full_sign(y)
    return None if x is None or y is None else x * y


# Arithmetic.

def negative(x):
    if x.is_value(fzero):
        return MINUS_ZERO if x is PLUS_ZERO else PLUS_ZERO if x is MINUS_ZERO else x
    return -x


def absolute(x):
    if x.is_nan:
        return x
    sign = known_sign(x)
    if sign is None:
        low, high = mpf_neg(x.lo), x.hi
        return Interval(fzero, low if mpf_gt(low, high) else high)
    return PLUS_ZERO if sign == 0 else x if sign > 0 else -x


def add(x, y):
    if is_special(x.lo) or is_special(y.lo):
        return Interval(mpf_add(x.lo, y.lo))
    if x is MINUS_ZERO and y is MINUS_ZERO:
        return x
    out = x + y
    return PLUS_ZERO if out.is_value(fzero) else out


def multiply(x, y):
    if x.is_nan or y.is_nan:
        return NAN
    zero = x.is_value(fzero) or y.is_value(fzero)
    infinite = is_special(x.lo) or is_special(y.lo)
    if zero:
        return NAN if infinite else signed(0, product_of_signs(x, y))
    return signed(1, sign_of(x) * sign_of(y)) if infinite else x * y


def divide(x, y):
    if x.is_nan or y.is_nan:
        return NAN
    if is_special(y.lo):
        return NAN if is_special(x.lo) else signed(0, product_of_signs(x, y))
    if y.is_value(fzero):
        return NAN if sign_of(x) == 0 else signed(1, product_of_signs(x, y))
    if is_special(x.lo):
        return signed(1, sign_of(x) * sign_of(y))
    if x.is_value(fzero):
        sign_of(y)
        return signed(0, product_of_signs(x, y))
    return x / y


def subtract(x, y):
    return PLUS_ZERO if x is y and not is_special(x.lo) else add(x, negative(y))


def total(numbers):
    out = None
    for x in numbers:
        out = x if out is None else add(out, x)
    return PLUS_ZERO if out is None else out


def maximum(x, y):
    if x.is_nan or y.is_nan:
        return NAN
    if x is y or x.is_value(y.lo) and y.is_point:
        return x if x is y else Interval(x.lo)
    low = x.lo if mpf_gt(x.lo, y.lo) else y.lo
    high = x if mpf_gt(x.hi, y.hi) else y
    if high.is_value(low):
        return high
    return high if high.lo == low else Interval(low, high.hi, x.open and y.open)
