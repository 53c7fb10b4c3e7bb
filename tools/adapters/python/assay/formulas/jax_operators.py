"""Primitives of JAX, recorded by the functions that record NumPy's. An operator takes the arrays
(assay/formulas/traced.py) and the parameters of an equation, as jax.lax names them."""
import itertools

from assay.formulas import contractions, functions, jax_indexing, shaping, sums
from assay.formulas.functions import UFUNCS
from assay.formulas.indexing import take
from assay.formulas.plain import numpy
from assay.formulas.program import BOOLEAN, REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.traced import as_traced, constant, writer

add, subtract, multiply, divide = (UFUNCS[name] for name in ("add", "subtract", "multiply", "divide"))
exp, negative, where = UFUNCS["exp"], UFUNCS["negative"], functions.where
maximum, minimum = UFUNCS["maximum"], UFUNCS["minimum"]
NO_ORDER = "equal numbers have no order"
_FORMATS = {(8, 7): "bf16", (5, 10): "f16", (8, 23): "f32"}  # by the bits of the exponent and of the digits
RANDOM = ("random_bits", "random_seed", "random_wrap", "random_unwrap", "random_fold_in", "random_split", "random_gamma",
          "random_clone", "threefry2x32", "rng_bit_generator", "rng_uniform")
ORDERS = ("sort", "top_k", "approx_top_k")
# JAX itself computes these on known integers and truths: the results are exact, so that they need not be traced.
COMPUTED_IF_KNOWN = ("div", "rem", "and", "or", "xor", "not", "shift_left", "shift_right_arithmetic", "shift_right_logical",
                     "gather", "population_count", "clz", "reduce_xor", "round", "argmax", "argmin", *ORDERS)


def _only(operator):
    """An operator of a primitive whose parameters change nothing here."""
    return lambda *arrays, **_: operator(*arrays)


# Elementwise.

def quotient(x, y, **_):
    """x / y; for integers it is cut toward 0."""
    if REAL in (x.kind, y.kind):
        return divide(x, y)
    size = UFUNCS["floor_divide"](functions.absolute(x), functions.absolute(y))
    return multiply(size, multiply(functions.sign(x), functions.sign(y)))


def remainder(x, y, **_):
    """x - y trunc(x / y), which has the sign of x."""
    if REAL in (x.kind, y.kind):
        return subtract(x, multiply(y, UFUNCS["trunc"](divide(x, y))))
    return subtract(x, multiply(y, quotient(x, y)))


def whole_power(x, *, y, **_):
    if x.kind == REAL or y < 0 or x.value is not None:
        return functions.power(x, int(y))
    found = constant(1)
    for _ in range(y):
        found = multiply(found, x)
    return found


def chosen(which, *cases, **_):
    if which.kind == BOOLEAN:
        return where(which, cases[1], cases[0]) if len(cases) == 2 else cases[0]
    found = cases[-1]
    for k in reversed(range(len(cases) - 1)):
        found = where(functions.equal(which, k), cases[k], found)
    return found


def nearest(x, *, rounding_method=0, **_):
    if x.value is None:
        raise CannotTrace("round() of numbers that the inputs decide", "a step has no digits to compare")
    away = numpy.sign(x.value) * numpy.floor(numpy.abs(x.value) + 0.5)
    found = numpy.rint(x.value) if int(rounding_method) else away
    return functions.as_type(constant(found.astype(numpy.int64)), float)


def is_kind_of_float(dtype):
    return str(dtype) in ("float64", "float32", "float16", "bfloat16")


def cast(x, *, new_dtype, **_):
    name = str(new_dtype)
    if is_kind_of_float(new_dtype):
        return functions.as_type(x, float)
    if not name.startswith(("int", "uint", "bool")):
        raise CannotTrace(f"arrays of {name}")
    return functions.as_type(x, bool if name == "bool" else numpy.int64)


def with_fewer_digits(x, *, exponent_bits, mantissa_bits, **_):
    if (exponent_bits, mantissa_bits) in _FORMATS:
        writer().casts_to_named(_FORMATS[exponent_bits, mantissa_bits])
    return x


def _power_of_2(operator):
    return lambda x, k, **_: operator(x, functions.power(2, k))


# Along axes.

def _reduced(reduce):
    return lambda x, *, axes, **_: reduce(x, axis=tuple(int(k) for k in axes)) if len(axes) else x


def _extreme(reduce_reals, combine):
    """Integers that the inputs decide are compared one after the other: no node reduces them."""
    def apply(x, *, axes, **_):
        if x.kind == REAL or x.value is not None:
            return _reduced(reduce_reals)(x, axes=axes)
        for axis in sorted(axes, reverse=True):
            x = _folded(combine, x, axis)[-1]
        return x
    return apply


def _folded(operator, x, axis):
    out = []
    for part in shaping.moveaxis(x, axis, 0):
        out.append(operator(out[-1], part) if out else part)
    return out


def _first_place(name, is_better):
    """The first place of the best integer or truth. Reals are refused: once rounded, equal ones have no order."""
    def apply(x, *, axes, **_):
        if x.kind == REAL:
            raise CannotTrace(f"jax.lax.{name} of numbers that the inputs decide", NO_ORDER)
        best = place = None
        for k, part in enumerate(shaping.moveaxis(functions.as_type(x, int), axes[0], 0)):
            better = None if best is None else is_better(part, best)
            place = shaping.zeros(part.plain_shape, int) if best is None else where(better, k, place)
            best = part if best is None else where(better, part, best)
        return place
    return apply


def _cumulative(operator):
    def apply(x, *, axis, reverse=False, **_):
        x = shaping.flip(x, axis) if reverse else x
        found = operator(x, axis) if x.plain_shape[axis] else x
        return shaping.flip(found, axis) if reverse else found
    return apply


def _all_folded(operator):
    return lambda x, axis: shaping.stack(_folded(operator, x, axis), axis)


def product(x, y, *, dimension_numbers, preferred_element_type=None, **_):
    """dot_general: the axes of batches first, then those of x, then those of y."""
    (gone_x, gone_y), (batch_x, batch_y) = dimension_numbers
    own = contractions._letters(x.ndim)
    other = list(contractions._letters(y.ndim, own))
    for a, b in itertools.chain(zip(gone_x, gone_y), zip(batch_x, batch_y)):
        other[b] = own[a]
    batch, gone = ([own[k] for k in axes] for axes in (batch_x, gone_x))
    rest = [letter for letter in [*own, *other] if letter not in batch and letter not in gone]
    out = "".join([*batch, *rest])
    if REAL in (x.kind, y.kind) or functions.known(x, y):
        return contractions.einsum(f"{own},{''.join(other)}->{out}", x, y)
    every = out + "".join(gone)  # integers: all products, and their sums
    spread = [shaping.reshape(shaping.transpose(one, sorted(range(one.ndim), key=lambda k: every.index(letters[k]))),
                              [one.plain_shape[letters.index(letter)] if letter in letters else 1 for letter in every])
              for one, letters in ((x, own), (y, other))]
    return sums.total(multiply(*spread), axis=tuple(range(len(out), len(every))))


def _over_windows(reduce, neutral):
    """Reduces each window: for each position in a window there is a slice of x, and the slices are stacked."""
    def apply(x, *, window_dimensions, window_strides, padding, base_dilation=None, window_dilation=None, **_):
        base_dilation, window_dilation = (each or (1,) * x.ndim for each in (base_dilation, window_dilation))
        x = padded(x, as_traced(neutral),
                   padding_config=[(low, high, by - 1) for (low, high), by in zip(padding, base_dilation)])
        spans = [(size - 1) * by + 1 for size, by in zip(window_dimensions, window_dilation)]
        counts = [max((size - span) // step + 1, 0) for size, span, step in zip(x.plain_shape, spans, window_strides)]
        parts = [x[tuple(slice(k * by, k * by + (count - 1) * step + 1 if count else k * by, step)
                         for k, by, count, step in zip(offsets, window_dilation, counts, window_strides))]
                 for offsets in itertools.product(*map(range, window_dimensions))]
        return reduce(shaping.stack(parts, 0), axis=0)
    return apply


# Shapes.

def broadcast(x, *, shape, broadcast_dimensions, **_):
    own = [1] * len(shape)
    for size, k in zip(x.plain_shape, broadcast_dimensions):
        own[k] = size
    return shaping.broadcast_to(shaping.reshape(x, tuple(own)), shape)


def reshaped(x, *, new_sizes, dimensions=None, **_):
    x = x if dimensions is None else shaping.transpose(x, dimensions)
    return shaping.reshape(x, tuple(new_sizes))


def concatenated(*parts, dimension, **_):
    found = shaping.concatenate(parts, dimension)
    if all(x.plain_shape[-1:] == (1,) for x in parts) and dimension == found.ndim - 1:
        jax_indexing.keep_columns(found, parts)
    return found


def sliced(x, *, start_indices, limit_indices, strides=None, **_):
    return x[tuple(slice(*each) for each in zip(start_indices, limit_indices, strides or (1,) * x.ndim))]


def padded(x, value, *, padding_config, **_):
    """Pads before, after and between the elements of each axis; a negative number cuts."""
    for axis, (before, after, between) in enumerate(padding_config):
        size = x.plain_shape[axis]
        if between and size:
            places = numpy.full(size + (size - 1) * between, size)
            places[::between + 1] = numpy.arange(size)
            one = shaping.full([1 if k == axis else length for k, length in enumerate(x.plain_shape)], value, x.dtype)
            x = take(shaping.concatenate([x, one], axis), constant(places), axis)
        widths = [(max(before, 0), max(after, 0)) if k == axis else (0, 0) for k in range(x.ndim)]
        x = shaping.pad(x, widths, constant_values=value)
        end = x.plain_shape[axis] - max(-after, 0)
        x = x[(*[slice(None)] * axis, slice(max(-before, 0), max(end, 0)))]
    return x


def counted(*, shape, dimension, dtype, **_):
    places = shaping.reshape(constant(numpy.arange(shape[dimension])), [-1 if k == dimension else 1 for k in range(len(shape))])
    return functions.as_type(shaping.broadcast_to(places, shape), float if is_kind_of_float(dtype) else int)


def parts_of(x, *, sizes, axis, **_):
    return shaping.split(x, numpy.cumsum(sizes)[:-1].tolist(), axis)


def tiled(x, *, reps, **_):
    return shaping.tile(x, reps)


def log_cumulative(x, axis):
    return _all_folded(UFUNCS["logaddexp"])(x, axis)


OPERATORS = {
    # elementwise
    **{name: _only(UFUNCS[ufunc]) for name, ufunc in {
        "add": "add", "add_any": "add", "sub": "subtract", "mul": "multiply", "neg": "negative", "abs": "absolute",
        "sign": "sign",
        "max": "maximum", "min": "minimum", "pow": "power", "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2",
        "expm1": "expm1", "log": "log", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "sinh": "sinh",
        "cosh": "cosh", "tanh": "tanh", "erf": "erf", "erfc": "erfc", "floor": "floor", "ceil": "ceil",
        "is_finite": "isfinite", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
        "ge": "greater_equal", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "not": "invert"}.items()},
    "div": quotient, "rem": remainder, "integer_pow": whole_power, "square": lambda x, **_: whole_power(x, y=2),
    "rsqrt": lambda x, **_: divide(1, functions.root(x, 1, 2)), "logistic": lambda x, **_: divide(1, add(1, exp(negative(x)))),
    "round": nearest, "select_n": chosen, "clamp": lambda low, x, high, **_: functions.clip(x, low, high),
    "shift_left": _power_of_2(multiply), "shift_right_arithmetic": _power_of_2(UFUNCS["floor_divide"]),
    "convert_element_type": cast, "reduce_precision": with_fewer_digits,
    **{name: lambda x, **_: x for name in ("copy", "copy_p", "stop_gradient", "name", "sharding_constraint", "reshard",
                                           "mesh_cast",
                                           "pvary", "layout_constraint")},
    **{name: lambda *arrays, **_: arrays for name in ("optimization_barrier", "device_put")},
    # along axes
    "reduce_sum": _reduced(sums.total), "reduce_prod": _reduced(sums.product), "reduce_and": _reduced(sums.all_),
    "reduce_or": _reduced(sums.any_), "reduce_max": _extreme(sums.largest, maximum),
    "reduce_min": _extreme(sums.smallest, minimum),
    "argmax": _first_place("argmax", UFUNCS["greater"]), "argmin": _first_place("argmin", UFUNCS["less"]),
    "cumsum": _cumulative(sums.cumulative), "cumprod": _cumulative(sums.cumulative_product),
    "cummax": _cumulative(_all_folded(maximum)), "cummin": _cumulative(_all_folded(minimum)),
    "cumlogsumexp": _cumulative(log_cumulative), "dot_general": product,
    "reduce_window_sum": _over_windows(sums.total, 0.0), "reduce_window_max": _over_windows(sums.largest, -float("inf")),
    "reduce_window_min": _over_windows(sums.smallest, float("inf")),
    # shapes
    "broadcast_in_dim": broadcast, "reshape": reshaped, "transpose": lambda x, *, permutation,
    **_: shaping.transpose(x, permutation),
    "squeeze": lambda x, *, dimensions, **_: shaping.squeeze(x, tuple(dimensions)),
    "expand_dims": lambda x, *, dimensions, **_: shaping.expand_dims(x, tuple(dimensions)),
    "rev": lambda x, *, dimensions, **_: shaping.flip(x, tuple(dimensions)),
    "concatenate": concatenated, "slice": sliced, "pad": padded,
    "iota": counted, "split": parts_of, "stack": lambda *parts, axis, **_: shaping.stack(parts, axis), "tile": tiled,
    "unstack": lambda x, *, axis, **_: list(shaping.moveaxis(x, axis, 0)),
    # by indices
    **jax_indexing.OPERATORS,
}
