"""Elementwise functions of NumPy as nodes, and casts."""
import math
from fractions import Fraction

from assay.formulas.plain import numpy

from assay.formulas.program import BOOLEAN, INTEGER, KIND_OF, REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.traced import MadeBy, as_traced, constant, made, writer

_GREATEST_DENOMINATOR = 64  # of exponents that are taken as fractions: x ** 0.5 is a root


def known(*arrays):
    """Whether the arrays depend on no input."""
    return all(x.value is not None for x in arrays)


def _exact(function, *arrays, op=None, kind=INTEGER):
    """The result of a function of known integers and truths, by NumPy, which is exact there. `op`: the operator that gives
    the same result, if there is one, and `kind` the kind of its inputs."""
    with numpy.errstate(all="ignore"):
        return constant(function(*(x.value for x in arrays)), op and MadeBy(op, kind, arrays))


def _node(op, kind_of_inputs, kind, function, *arrays):
    """An elementwise node."""
    nodes = [writer().to_kind(x.node, kind_of_inputs) for x in arrays]
    value = None
    if known(*arrays):
        with numpy.errstate(all="ignore"):
            value = numpy.asarray(function(*(x.value for x in arrays)))
    return made(writer().elementwise(op, nodes, kind), value)


def arithmetic(op, function):
    """An operator of reals or integers. For truths, + and the maximum are `or`, and the others `and`, as in NumPy."""
    def apply(x, y):
        x, y = as_traced(x), as_traced(y)
        if x.kind == y.kind == BOOLEAN:
            if op == "subtract":
                raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
            return UFUNCS["logical_or" if op in ("add", "maximum") else "logical_and"](x, y)
        kind = REAL if REAL in (x.kind, y.kind) else INTEGER
        if kind == INTEGER and known(x, y):
            return _exact(lambda a, b: function(a.astype(numpy.int64), b.astype(numpy.int64)), x, y, op=op)
        return _node(op, kind, kind, function, x, y)
    return apply


def comparison(op, function, swapped=False, negated=False):
    def apply(x, y):
        x, y = as_traced(x), as_traced(y)
        kind = REAL if REAL in (x.kind, y.kind) else INTEGER
        first, second = (y, x) if swapped else (x, y)
        if kind == INTEGER and known(x, y):
            found = _exact((lambda a, b: function(b, a)) if swapped else function, first, second, op=op)
        else:
            found = _node(op, kind, BOOLEAN, (lambda a, b: function(b, a)) if swapped else function, first, second)
        return logical_not(found) if negated else found
    return apply


def function_of_reals(op, function, **attributes):
    def apply(x):
        x = as_traced(x)
        node = writer().to_kind(x.node, REAL)
        with numpy.errstate(all="ignore"):
            value = None if x.value is None else numpy.asarray(function(x.value.astype(numpy.float64)))
        return made(writer().add(op, (node,), REAL, x.plain_shape, **attributes), value)
    return apply


def logic(op, function):
    def apply(x, y):
        x, y = truth_of(x), truth_of(y)
        return (_exact(function, x, y, op=op, kind=BOOLEAN) if known(x, y) else
                _node(op, BOOLEAN, BOOLEAN, function, x, y))
    return apply


def truth_of(x):
    x = as_traced(x)
    return x if x.kind == BOOLEAN else not_equal(x, 0)


def logical_not(x):
    x = truth_of(x)
    return _exact(numpy.logical_not, x, op="not", kind=BOOLEAN) if known(x) else _node("not", BOOLEAN, BOOLEAN, numpy.logical_not, x)


def bitwise(name, truth_function):
    def apply(x, y):
        x, y = as_traced(x), as_traced(y)
        if x.kind == y.kind == BOOLEAN:
            return truth_function(x, y)
        if known(x, y) and REAL not in (x.kind, y.kind):
            return _exact(getattr(numpy, "bitwise_" + name), x, y)
        raise CannotTrace(f"bitwise {name} of integers that the inputs decide")
    return apply


add, subtract = arithmetic("add", numpy.add), arithmetic("subtract", numpy.subtract)
multiply = arithmetic("multiply", numpy.multiply)
less, less_equal = comparison("less", numpy.less), comparison("less_equal", numpy.less_equal)
equal = comparison("equal", numpy.equal)
not_equal = comparison("equal", numpy.equal, negated=True)
exp, log = function_of_reals("exp", numpy.exp), function_of_reals("log", numpy.log)
erf = function_of_reals("erf", numpy.vectorize(math.erf, otypes=[float]))


def divide(x, y):
    x, y = as_traced(x), as_traced(y)
    return _node("divide", REAL, REAL, numpy.true_divide, x, y)


def negative(x):
    x = as_traced(x)
    if x.kind == INTEGER and known(x):
        return _exact(numpy.negative, x, op="negative")
    return _node("negative", x.kind, x.kind, numpy.negative, x)


def absolute(x):
    x = as_traced(x)
    if x.kind != REAL and known(x):
        return _exact(numpy.absolute, x, op="magnitude" if x.kind == INTEGER else None)
    return _node("magnitude", x.kind, x.kind, numpy.absolute, x)


def root(x, p, q):
    """x^(p/q)"""
    x = as_traced(x)
    with numpy.errstate(all="ignore"):
        value = None if x.value is None else numpy.asarray(x.value.astype(numpy.float64) ** (p / q))
    return made(writer().add("power", (writer().to_kind(x.node, REAL),), REAL, x.plain_shape, p=p, q=q), value)


def power(x, e):
    """x^e. An exponent that is written as one number with a small denominator is exact: 2 is a square, 0.5 a root.
    Known integers with exponents of at least 0 give integers."""
    x, e = as_traced(x), as_traced(e)
    if known(x, e) and REAL not in (x.kind, e.kind) and (e.value >= 0).all():
        return _exact(lambda a, b: a.astype(numpy.int64) ** b, x, e)
    if e.ndim == 0 and e.value is not None and numpy.isfinite(e.value):
        fraction = Fraction(float(e.value))
        is_written = e.kind != REAL or writer().nodes[e.node]["op"] in ("number", "fraction", "to_real")
        if is_written and fraction.denominator <= _GREATEST_DENOMINATOR and abs(fraction.numerator) < 2**31:
            return root(x, fraction.numerator, fraction.denominator)
    return _node("pow", REAL, REAL, lambda a, b: numpy.power(a.astype(numpy.float64), b), x, e)


def floor_divide(x, y):
    x, y = as_traced(x), as_traced(y)
    if REAL in (x.kind, y.kind):
        return floor(divide(x, y))
    return _exact(numpy.floor_divide, x, y, op="floor_divide") if known(x, y) else _node("floor_divide", INTEGER, INTEGER,
                                                                      numpy.floor_divide, x, y)


def remainder(x, y):
    x, y = as_traced(x), as_traced(y)
    if REAL in (x.kind, y.kind):
        return subtract(x, multiply(y, floor(divide(x, y))))
    return _exact(numpy.remainder, x, y, op="remainder") if known(x, y) else _node("remainder", INTEGER, INTEGER, numpy.remainder, x, y)


def floor(x):
    x = as_traced(x)
    return x if x.kind != REAL else function_of_reals("floor", numpy.floor)(x)


def where(condition, x=None, y=None):
    if x is None:
        raise CannotTrace("numpy.where with a condition alone", "name what stands in either case")
    condition, x, y = truth_of(condition), as_traced(x), as_traced(y)
    kinds = {x.kind, y.kind}
    kind = REAL if REAL in kinds else INTEGER if INTEGER in kinds else BOOLEAN
    if known(condition, x, y) and kind != REAL:
        return _exact(numpy.where, condition, x, y)
    nodes = [condition.node, *(writer().to_kind(each.node, kind) for each in (x, y))]
    value = numpy.where(condition.value, x.value, y.value) if known(condition, x, y) else None
    return made(writer().elementwise("where", nodes, kind), value)


def sign(x):
    x = as_traced(x)
    negative_sign = where(less(x, 0), -1, as_traced(x) if x.kind == REAL else 0)  # of 0 and NaN: the number itself
    return where(less(0, x), 1, negative_sign)


def is_nan(x):
    x = as_traced(x)
    if x.kind != REAL:
        return constant(numpy.zeros(x.plain_shape, bool))
    return _node("is_nan", REAL, BOOLEAN, numpy.isnan, x)


def is_infinite(x):
    return equal(absolute(x), float("inf"))


def clip(x, low=None, high=None, **more):
    low, high = more.pop("a_min", low), more.pop("a_max", high)
    low, high = more.pop("min", low), more.pop("max", high)
    x = as_traced(x)
    if low is not None:
        x = maximum(x, low)
    return x if high is None else minimum(x, high)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    largest = float(numpy.finfo(numpy.float64).max)
    x = where(is_nan(x), nan, x)
    x = where(equal(x, float("inf")), largest if posinf is None else posinf, x)
    return where(equal(x, -float("inf")), -largest if neginf is None else neginf, x)


maximum, minimum = arithmetic("maximum", numpy.maximum), arithmetic("minimum", numpy.minimum)


def _but_nan(choose, x, y):
    """choose(x, y); if one of them is NaN, the other one."""
    return where(is_nan(x), y, where(is_nan(y), x, choose(x, y)))


def truncated(x):
    return multiply(sign(x), floor(absolute(x)))


def logarithm_to(base):
    """The logarithm to a base. It is exact where x is a known power of the base; a quotient of logarithms would not be."""
    def apply(x):
        x = as_traced(x)
        is_given = x.value is not None and (x.kind == INTEGER or writer().nodes[x.node]["op"] == "number")
        if is_given and (x.value > 0).all():
            whole = numpy.rint(numpy.log(x.value.astype(numpy.float64)) / numpy.log(base)).astype(numpy.int64)
            if all(Fraction(base) ** int(k) == Fraction(v) for k, v in zip(whole.ravel().tolist(), x.value.ravel().tolist())):
                return as_type(constant(whole), float)
        return divide(log(x), log(base))
    return apply


_expm1 = lambda x: subtract(exp(x), 1)

UFUNCS = {
    "add": add, "subtract": subtract, "multiply": multiply, "divide": divide, "true_divide": divide,
    "negative": negative, "positive": lambda x: copied(x), "absolute": absolute, "fabs": absolute, "power": power,
    "float_power": power, "floor_divide": floor_divide, "remainder": remainder, "square": lambda x: power(x, 2),
    "sqrt": lambda x: root(x, 1, 2), "cbrt": lambda x: root(x, 1, 3), "reciprocal": lambda x: divide(1, x),
    "exp": exp, "log": log, "log1p": function_of_reals("log1p", numpy.log1p), "sin": function_of_reals("sin", numpy.sin),
    "cos": function_of_reals("cos", numpy.cos), "tanh": function_of_reals("tanh", numpy.tanh), "floor": floor,
    "erf": erf, "erfc": lambda x: subtract(1, erf(x)),
    "tan": lambda x: divide(UFUNCS["sin"](x), UFUNCS["cos"](x)), "ceil": lambda x: negative(floor(negative(x))),
    "sinh": lambda x: divide(subtract(exp(x), exp(negative(x))), 2),
    "cosh": lambda x: divide(add(exp(x), exp(negative(x))), 2), "expm1": _expm1,
    "exp2": lambda x: power(2.0, x) if as_traced(x).ndim or as_traced(x).value is None else power(2, x),
    "log2": logarithm_to(2), "log10": logarithm_to(10),
    "logaddexp": lambda x, y: _node("log_add_exp", REAL, REAL, numpy.logaddexp, as_traced(x), as_traced(y)),
    "maximum": maximum, "minimum": minimum, "fmax": lambda x, y: _but_nan(maximum, x, y),
    "fmin": lambda x, y: _but_nan(minimum, x, y), "sign": sign,
    "trunc": truncated, "less": less, "less_equal": less_equal, "equal": equal, "not_equal": not_equal,
    "greater": comparison("less", numpy.greater, swapped=True),
    "greater_equal": comparison("less_equal", numpy.greater_equal, swapped=True),
    "logical_and": logic("and", numpy.logical_and), "logical_or": logic("or", numpy.logical_or),
    "logical_xor": lambda x, y: not_equal(multiply(truth_of(x), 1), multiply(truth_of(y), 1)),
    "logical_not": logical_not, "invert": lambda x: logical_not(x) if as_traced(x).kind == BOOLEAN else
    subtract(negative(x), 1),
    "bitwise_and": bitwise("and", logic("and", numpy.logical_and)),
    "bitwise_or": bitwise("or", logic("or", numpy.logical_or)),
    "bitwise_xor": bitwise("xor", lambda x, y: UFUNCS["logical_xor"](x, y)),
    "isnan": is_nan, "isinf": is_infinite,
    "isfinite": lambda x: logical_not(UFUNCS["logical_or"](is_nan(x), is_infinite(x))),
    "deg2rad": lambda x: divide(multiply(x, constant_pi()), 180), "radians": lambda x: UFUNCS["deg2rad"](x),
    "conjugate": as_traced, "hypot": lambda x, y: UFUNCS["sqrt"](
        add(power(x, 2), power(y, 2))),
}


def constant_pi():
    return made(writer().add("pi", (), REAL, ()), numpy.float64(numpy.pi))


def copied(x):
    x = as_traced(x)
    if x.kind != REAL and x.value is not None:
        return constant(x.value)
    return made(x.node, None if x.value is None else x.value.copy())


def as_type(x, dtype):
    """A cast. To another format of reals it changes nothing but the note of the narrowest float: a program has exact
    reals."""
    x, kind = as_traced(x), KIND_OF.get(numpy.dtype(dtype).kind)
    writer().casts_to(dtype)
    if kind is None:
        raise CannotTrace(f"a cast to {numpy.dtype(dtype)}")
    if kind == x.kind:
        return copied(x)
    if kind == BOOLEAN:
        return truth_of(x)
    if kind == INTEGER and x.kind == REAL:
        if x.value is None:
            raise CannotTrace("a cast of reals to integers", "write numpy.floor, and keep it real")
        with numpy.errstate(all="ignore"):  # NaN and infinities are whatever NumPy makes of them
            return constant(x.value.astype(numpy.int64))
    if kind == INTEGER and x.value is not None:
        return constant(x.value.astype(numpy.int64))
    value = None if x.value is None else x.value.astype(numpy.float64 if kind == REAL else numpy.int64)
    return made(writer().to_kind(x.node, kind), value)
