"""Elementary functions of real elements of programs, in intervals, with their domains and special values.

Functions of points, which begin with _, become functions of intervals by `increasing`.
"""

from mpmath.libmp import (finf, fninf, fone, fzero, from_int, mpf_abs, mpf_add, mpf_div, mpf_erf, mpf_exp, mpf_gt, mpf_lt, mpf_mul,
                          mpf_neg, mpf_shift, mpf_sign, mpf_sub, to_int)

import interval
from formula import exceeds
from interval import GUARD, Interval, Undecided, added, is_special, spread
from program_numbers import (INFINITY, MINUS_INFINITY, NAN, ONE, PLUS_ZERO, add, divide, sign_of, subtract, total)

# Of arguments of exp, tanh, erf, cos, sin; of exp below -2^4096 only a bound is known, 2^-2^4096.
LARGEST_EXPONENT = 4096


def increasing(function, x):
    if x.is_point:
        return function(x)
    low, high = function(Interval(x.lo)), function(Interval(x.hi))
    return Interval(low.lo, high.hi, (x.open or low.open) and (x.open or high.open))


def clipped(x, low, high):
    """x cut to lie between two points, where it is known to lie."""
    lo, hi = low if mpf_lt(x.lo, low) else x.lo, high if mpf_gt(x.hi, high) else x.hi
    return x if lo == x.lo and hi == x.hi else Interval(lo, hi)


def _exp(x):
    if is_special(x.lo) or x.is_value(fzero):
        return PLUS_ZERO if x.lo == fninf else x.exp()
    if interval.magnitude(x.lo) > LARGEST_EXPONENT:
        if not x.lo[0]:
            raise Undecided("exp of a number that is too large")
        return Interval(fzero, mpf_shift(fone, -2**LARGEST_EXPONENT), True)
    return x.exp()


def exp(x):
    return increasing(_exp, x)


def log(x):
    if x.is_nan:
        return x
    sign = sign_of(x)
    if sign <= 0:
        return NAN if sign else MINUS_INFINITY
    if x.lo == fzero:
        raise Undecided("log of what may be next to 0")
    return PLUS_ZERO if x.is_value(fone) else x.log()


def _log1p(x):
    x = x.lo
    if interval.magnitude(x) < -interval.PRECISION - GUARD and x != fzero:  # between x - x^2 and x
        return Interval(added(x, mpf_neg(mpf_mul(x, x)), interval.PRECISION, "f"), x, True)
    if interval.magnitude(x) <= 1:
        return Interval(mpf_add(fone, x)).log()
    ends = [added(fone, x, interval.PRECISION + GUARD, rounding) for rounding in "fc"]
    return Interval(*ends, ends[0] != ends[1]).log()


def log1p(x):
    if x.is_nan or x.is_value(fzero) or x.lo == finf:
        return x
    sign = sign_of(add(x, ONE))
    if sign <= 0:
        return NAN if sign else MINUS_INFINITY
    if x.lo == mpf_neg(fone):
        raise Undecided("log1p of what may be next to -1")
    return increasing(_log1p, x)


def _tanh(x):
    if is_special(x.lo):
        return x if x.is_nan else Interval.of(mpf_sign(x.lo))
    if x.lo[0] or x.lo == fzero:
        return x if x.lo == fzero else -_tanh(-x)
    x, bits = x.lo, interval.PRECISION + 30 + max(0, -interval.magnitude(x.lo))
    if interval.magnitude(x) < -interval.PRECISION:  # between x - x^3 and x
        return Interval(added(x, mpf_neg(mpf_mul(x, mpf_mul(x, x))), interval.PRECISION, "f"), x, True)
    if interval.magnitude(x) > LARGEST_EXPONENT:
        return spread(fone, mpf_shift(fone, -interval.PRECISION), fzero)
    t = mpf_exp(mpf_neg(mpf_shift(x, 1)), bits, "n")  # 1 - t >= min(x, 1/2): it loses no more bits than are added above
    value = mpf_div(mpf_sub(fone, t, bits, "n"), mpf_add(fone, t, bits, "n"), bits, "n")
    return spread(value, mpf_shift(value, -interval.PRECISION - 5), fzero)


def tanh(x):
    return x if x.is_value(fzero) else clipped(increasing(_tanh, x), mpf_neg(fone), fone)


def _erf(x):
    x = x.lo
    if is_special(x):
        return Interval.of(mpf_sign(x)) if x in (finf, fninf) else Interval(x)
    if interval.magnitude(x) > LARGEST_EXPONENT:
        return spread(Interval.of(mpf_sign(x)).lo, mpf_shift(fone, -interval.PRECISION), fzero)
    value = mpf_erf(x, interval.PRECISION + GUARD, "n")
    return spread(value, mpf_shift(mpf_abs(value), -interval.PRECISION), fzero)


def erf(x):
    return x if x.is_nan or x.is_value(fzero) else clipped(increasing(_erf, x), mpf_neg(fone), fone)


def _sigmoid(x):
    if not is_special(x.lo) and x.lo[0]:
        e = _exp(x)
        return divide(e, add(ONE, e))
    return divide(ONE, add(ONE, _exp(-x)))


def sigmoid(x):
    return clipped(increasing(_sigmoid, x), fzero, fone)


def cos_sin(x):
    if x.is_nan or is_special(x.lo):
        return NAN, NAN
    if interval.magnitude(x.lo) > LARGEST_EXPONENT:
        raise Undecided("cos or sin of a number that is too large")
    cosine, sine = (clipped(y, mpf_neg(fone), fone) for y in x.cos_sin())
    return cosine, x if x.is_value(fzero) else sine


def log_sum_exp(numbers):
    """log of the sum of e^x: -inf adds nothing."""
    if any(x.is_nan for x in numbers):
        return NAN
    if any(x.lo == finf for x in numbers):
        return INFINITY
    finite = [x for x in numbers if x.lo != fninf]
    if not finite:
        return MINUS_INFINITY
    largest = index_of_largest(finite)
    rest = [exp(subtract(x, finite[largest])) for k, x in enumerate(finite) if k != largest]
    return add(finite[largest], log1p(total(rest))) if rest else finite[largest]


def index_of_largest(numbers):
    """The index of the largest lower end. It serves for a common shift, where any index is right."""
    largest = 0
    for k, x in enumerate(numbers):
        largest = k if mpf_gt(x.lo, numbers[largest].lo) else largest
    return largest


def shares_of_largest(numbers):
    """1 / k for each of the k largest, 0 for others."""
    if any(x.is_nan for x in numbers):
        return [NAN] * len(numbers)
    largest = index_of_largest(numbers)
    are_largest = [x is numbers[largest] or not exceeds(numbers[largest], x) for x in numbers]
    share = divide(ONE, Interval.of(sum(are_largest)))
    return [share if is_one else PLUS_ZERO for is_one in are_largest]


def softmax(numbers):
    """All shares are NaN if a number is NaN or inf, or if all are -inf."""
    if any(x.is_nan or x.lo == finf for x in numbers) or all(x.lo == fninf for x in numbers):
        return [NAN] * len(numbers)
    shift = Interval(mpf_neg(numbers[index_of_largest(numbers)].lo))  # a point: it widens nothing
    powers = [exp(add(x, shift)) for x in numbers]
    scale = total(powers)
    return [p if p is PLUS_ZERO else clipped(divide(p, scale), fzero, fone) for p in powers]


def floor(x):
    if is_special(x.lo) or x.is_value(fzero):
        return x
    if interval.magnitude(x.lo) > interval.PRECISION + 2200:
        if not x.is_point:
            raise Undecided("floor of a large number")
        return x
    low, high = to_int(x.lo, "f"), to_int(x.hi, "f")
    high -= x.open and from_int(high) == x.hi  # which the truth is below
    if low != high:
        raise Undecided("floor beside an integer")
    return Interval.of(low) if low else PLUS_ZERO
