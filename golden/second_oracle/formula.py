"""What formulas share. NAME.py holds the formulas of an encoding from its papers, one function for each operation.

A function takes a Call and returns independent parts. A part is a function of `get(input, index)`, the number at a flat
index of an input, that returns its outputs as {(output, flat index): number}. Numbers are intervals, or numbers of a
tape where derivatives are wanted: no formula knows of derivatives. Shapes and settings are those that `assay list
operations` prints.
"""

import itertools

from mpmath.libmp import fninf, mpf_gt, mpf_le

import interval
from interval import Interval, Undecided

ZERO, ONE = Interval.of(0), Interval.of(1)
MINUS_INFINITY = Interval(fninf)


class Call:
    """Settings, flat inputs, sizes of axes; whether derivatives are wanted."""

    def __init__(self, settings, inputs, sizes, differentiated):
        self.settings, self.inputs, self.sizes, self.differentiated = settings, inputs, sizes, differentiated

    def size(self, *axes):
        return tuple(self.sizes[axis] for axis in axes)

    def integers(self, name):
        return [int(x) for x in self.inputs[name]]

    def parts(self, outputs_of, *axes, together=()):
        """The parts outputs_of(get, *index) for every index of `axes` and `together`. Along the axes `together` inputs are
        shared: for derivatives these indices form one part, since no two parts may share an input."""
        groups = []
        for index in itertools.product(*map(range, self.size(*axes))):
            inner = [index + rest for rest in itertools.product(*map(range, self.size(*together)))]
            groups += [inner] if self.differentiated else [[one] for one in inner]
        return [lambda get, group=group: {key: x for index in group for key, x in outputs_of(get, *index).items()}
                for group in groups]


def enclosure_of(x):
    return x if isinstance(x, Interval) else x.value


def total(numbers):
    out = None
    for x in numbers:
        out = x if out is None else out + x
    return ZERO if out is None else out


def exceeds(x, y):
    """Whether x > y; NaN exceeds nothing."""
    x, y = enclosure_of(x), enclosure_of(y)
    if mpf_gt(x.lo, y.hi) or (x.lo == y.hi and (x.open or y.open)):
        return True
    if not (x.is_nan or y.is_nan or mpf_le(x.hi, y.lo)):
        raise Undecided
    return False


def larger(x, y):
    """The larger of x and y; NaN if one of them is NaN. If they are equal, each has half of the derivative."""
    if enclosure_of(x).is_nan or exceeds(x, y):
        return x
    return y if exceeds(y, x) else (x + y) * Interval.of(0.5)


def absolute(x):
    """|x|; its derivative at 0 is 0."""
    if enclosure_of(x).is_value(ZERO.lo):
        return x * ZERO
    return -x if exceeds(ZERO, x) else x


def log_sigmoid(g):
    """log(1 / (1 + e^-g))"""
    return -((-g).log_add_exp(ZERO))


# Biases of pairs of a query and a key.

def pair_bias(call, bias_of_pair, shared=False):
    """bias [h, n, m]: bias_of_pair(get, head, i, j), where i and j are positions. `shared`: heads share inputs."""
    n, m = call.size("n", "m")
    queries, keys = call.integers("query_position"), call.integers("key_position")

    def head_outputs(get, head):
        return {("bias", (head * n + a) * m + b): bias_of_pair(get, head, i, j)
                for a, i in enumerate(queries) for b, j in enumerate(keys)}
    return call.parts(head_outputs, together="h") if shared else call.parts(head_outputs, "h")


def distance(call, i, j):
    """The distance of key j from query i; None if the key is masked. The setting `future` decides it for later keys."""
    return i - j if j <= i else {"masked": None, "zero": 0, "symmetric": j - i}[call.settings["future"]]


def distance_bias(call, bias_at_distance, shared=False):
    """A pair_bias by bias_at_distance(get, head, i, t): i is the position of a query, t its distance from a key."""
    def bias_of_pair(get, head, i, j):
        t = distance(call, i, j)
        return MINUS_INFINITY if t is None else bias_at_distance(get, head, i, t)
    return pair_bias(call, bias_of_pair, shared)


# Tables of frequencies.

def power_of(base, numerator, denominator):
    """base^(numerator/denominator). Precondition: numerator = 0, or numerator < 0 < denominator."""
    if isinstance(base, Interval):
        return interval.power(base, numerator, denominator)
    value = interval.power(base.value, numerator, denominator)
    if numerator == 0:
        return base.with_derivative(value, ZERO)
    return base.with_derivative(value, value * Interval.of(numerator) / Interval.of(denominator) / base.value)


def table_of_powers(call, exponent, stretch=lambda theta, t: theta):
    """theta [k, r] = base_k^exponent(t), stretched"""
    r = call.sizes["r"]
    return call.parts(lambda get, k: {("theta", k * r + t): stretch(power_of(get("base", k), *exponent(t)), t)
                                      for t in range(r)}, "k")
