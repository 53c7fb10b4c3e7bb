"""Functions along axes: reductions, cumulative sums and products, differences, norms, orders, numpy.add.at."""
from assay.formulas.plain import numpy

from assay.formulas import functions as f
from assay.formulas.indexing import _wrapped
from assay.formulas.program import BOOLEAN, INTEGER, REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.shaping import broadcast_to, concatenate, diagonal, expand_dims, moveaxis, reshape, stack
from assay.formulas.traced import as_traced, constant, made, writer


def _axes(x, axis):
    if axis is None:
        return list(range(x.ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for one in axes:
        if not -x.ndim <= int(one) < x.ndim:
            raise ValueError(f"axis {int(one)} is out of bounds for array of dimension {x.ndim}")
    return sorted(int(one) % x.ndim for one in axes)


def _integer_total(x, axes, keepdims):
    """The sum of integers: the last element of a cumulative sum along each axis."""
    for axis in reversed(axes):
        box = [slice(None)] * axis + [slice(-1, None) if keepdims else -1]
        x = f.copied(cumulative(x, axis)[tuple(box)])
    return x


def reduction(op, kind, function):
    """A reduction of reals or of truths (`kind`); sums of integers are integers."""
    def apply(x, axis=None, dtype=None, out=None, keepdims=False, where=None, initial=None, **_):
        x = as_traced(x)
        if where is not None or initial is not None:
            raise CannotTrace(f"`where` or `initial` of numpy.{op}", "write numpy.where before")
        if out is not None:
            raise CannotTrace("`out` of a reduction that is not named", "write out=...")
        if dtype is not None and x.kind != REAL and numpy.dtype(dtype).kind == "f":
            x = f.as_type(x, dtype)
        axes, to = _axes(x, axis), writer()
        if x.kind != REAL and kind == REAL and x.value is not None:
            return constant(function(x.value, axis=tuple(axes), keepdims=keepdims))
        if op == "sum" and x.kind != REAL and all(x.plain_shape[k] for k in axes):
            return _integer_total(x, axes, keepdims)
        node, shape = to.to_kind(x.node, kind) if kind == REAL else f.truth_of(x).node, x.plain_shape
        kept = [1 if k in axes else size for k, size in enumerate(shape)]
        if axes:
            node = to.add(op, (node,), kind, [size for k, size in enumerate(shape) if k not in axes], axes=axes)
        value = None if x.value is None else numpy.asarray(function(x.value, axis=tuple(axes), keepdims=keepdims))
        if keepdims:
            node = to.reshape(node, kept)
        return constant(value) if value is not None and kind == BOOLEAN else made(node, value)
    return apply


def choice(op, kind, function):
    """A reduction without a parameter `dtype`, such as numpy.max."""
    reduced = reduction(op, kind, function)
    return lambda x, axis=None, out=None, keepdims=False, **more: reduced(x, axis, None, out, keepdims, **more)


total = reduction("sum", REAL, numpy.sum)
mean_of = reduction("mean", REAL, numpy.mean)
largest = choice("largest", REAL, numpy.max)


def mean(x, *axis, **more):
    return mean_of(f.as_type(x, float), *axis, **more)


def smallest(x, *axis, **more):
    return f.negative(largest(f.negative(x), *axis, **more))


def variance(x, axis=None, dtype=None, out=None, ddof=0, keepdims=False, **_):
    """In two passes, as in NumPy: the mean first, then the squares about it."""
    x = f.as_type(x, float)
    count = int(numpy.prod([x.plain_shape[k] for k in _axes(x, axis)]))
    squares = f.power(f.subtract(x, mean(x, axis=axis, keepdims=True)), 2)
    return f.divide(total(squares, axis=axis, keepdims=keepdims), count - ddof)


def deviation(x, *axis, **more):
    return f.root(variance(x, *axis, **more), 1, 2)


def cumulative(x, axis=None, dtype=None, out=None):
    x = as_traced(x)
    x, axis = (reshape(x, -1), 0) if axis is None else (x, axis % x.ndim)
    x = f.multiply(x, 1) if x.kind == BOOLEAN else x
    if x.kind == INTEGER and x.value is not None:
        return constant(numpy.cumsum(x.value, axis))
    value = None if x.value is None else numpy.cumsum(x.value, axis)
    return made(writer().add("cumulative_sum", (x.node,), x.kind, x.plain_shape, axis=axis), value)


def _counted(x):
    """Truths as 0 and 1."""
    return f.multiply(x, 1) if x.kind == BOOLEAN else x


def product(x, axis=None, keepdims=False, **_):
    """One factor after the other."""
    x = as_traced(x)
    if x.kind != REAL and x.value is not None:
        return constant(numpy.prod(x.value, axis=axis, keepdims=keepdims))
    x = _counted(x)
    if isinstance(axis, (tuple, list)):
        for one in reversed(_axes(x, axis)):
            x = product(x, one, keepdims)
        return x
    x, axis = (reshape(x, -1), 0) if axis is None else (x, axis % x.ndim)
    parts = moveaxis(x, axis, 0)
    out = as_traced(1.0)
    for k in range(len(parts)):
        out = parts[k] if k == 0 else f.multiply(out, parts[k])
    return expand_dims(out, axis) if keepdims else out


def cumulative_product(x, axis=None, **_):
    x = _counted(as_traced(x))
    x, axis = (reshape(x, -1), 0) if axis is None else (x, axis % x.ndim)
    parts, out = moveaxis(x, axis, 0), []
    for k in range(len(parts)):
        out.append(parts[k] if k == 0 else f.multiply(out[-1], parts[k]))
    return stack(out, axis)


def average(x, axis=None, weights=None):
    x = as_traced(x)
    if weights is None:
        return mean(x, axis)
    weights = as_traced(weights)
    if weights.ndim != x.ndim:  # one for each place along the axis
        weights = reshape(weights, (-1,) + (1,) * (x.ndim - 1 - axis % x.ndim))
    weights = broadcast_to(weights, x.plain_shape)
    return f.divide(total(f.multiply(x, weights), axis), total(weights, axis))


def difference(x, n=1, axis=-1, prepend=None, append=None):
    x = as_traced(x)
    ends = []
    for end in (prepend, append):
        if end is not None and as_traced(end).ndim == 0:
            end = broadcast_to(end, [1 if k == axis % x.ndim else size for k, size in enumerate(x.plain_shape)])
        ends.append([] if end is None else [end])
    x = concatenate([*ends[0], x, *ends[1]], axis)
    for _ in range(n):
        along = moveaxis(x, axis, 0)
        x = moveaxis(f.subtract(along[1:], along[:-1]), 0, axis)
    return x


def norm(x, ord=None, axis=None, keepdims=False):
    is_of_matrices = len(axis) == 2 if isinstance(axis, (tuple, list)) else axis is None and as_traced(x).ndim == 2
    if ord not in (None, 2, "fro") or (ord == 2 and is_of_matrices):  # of matrices it is the largest singular value
        raise CannotTrace(f"numpy.linalg.norm of order {ord}")
    return f.root(total(f.power(x, 2), axis=axis, keepdims=keepdims), 1, 2)


# Choices along an axis.

def ordering(name):
    def apply(x, axis=-1 if name in ("argsort", "sort") else None, **more):
        x = as_traced(x)
        if x.value is None:
            raise CannotTrace(f"numpy.{name} of numbers that the inputs decide", "equal ones have no order")
        return constant(getattr(numpy, name)(x.value, axis=axis, **more))
    return apply


def ufunc_method(name, method, arguments, more):
    reductions = {"add": total, "maximum": largest, "minimum": smallest, "multiply": product, "logical_and": all_,
                  "logical_or": any_}
    if method in ("reduce", "accumulate"):
        words = ("axis", "dtype", "out", "keepdims") if method == "reduce" else ("axis", "dtype", "out")
        arguments, more = arguments[:1], {**dict(zip(words, arguments[1:])), **more}
    if method == "reduce" and name in reductions:
        return reductions[name](*arguments, **{"axis": 0, **more})
    if method == "accumulate" and name in ("add", "multiply"):
        return {"add": cumulative, "multiply": cumulative_product}[name](*arguments, **{"axis": 0, **more})
    if method == "outer":
        x, y = (as_traced(one) for one in arguments)
        return f.UFUNCS[name](reshape(x, x.plain_shape + (1,) * y.ndim), y)
    if method == "at" and name in ("add", "subtract"):
        return scattered(name, *arguments)
    raise CannotTrace(f"numpy.{name}.{method} is not traced")


def scattered(name, x, indices, added):
    """numpy.add.at, along the first axes."""
    to = writer()
    index = indices if isinstance(indices, tuple) else (indices,)
    index, added = as_traced(index[0] if len(index) == 1 else None), as_traced(added)
    if index.kind != INTEGER:
        raise CannotTrace("numpy.add.at with other than one array of indices")
    if x.kind != REAL:
        raise CannotTrace(f"numpy.{name}.at of integers", "make the array of floats")
    index = _wrapped(index, x.plain_shape[0])
    shape = index.plain_shape + x.plain_shape[1:]
    added = f.negative(added) if name == "subtract" else added
    node = to.add("scatter_add", (x.node, index.node, to.broadcast(to.to_kind(added.node, REAL), shape)), REAL,
                  x.plain_shape, axis=0)
    x.write(node, None)


all_, any_ = choice("all", BOOLEAN, numpy.all), choice("any", BOOLEAN, numpy.any)
FUNCTIONS = {
    "sum": total, "mean": mean, "average": average,
    "max": largest, "amax": largest, "min": smallest, "amin": smallest, "any": any_, "all": all_, "var": variance,
    "std": deviation, "cumsum": cumulative, "prod": product, "cumprod": cumulative_product, "diff": difference,
    "norm": norm, "argmax": ordering("argmax"),
    "argmin": ordering("argmin"), "argsort": ordering("argsort"), "sort": lambda x, axis=-1, **_: _no_sort(x, axis),
    "count_nonzero": lambda x, axis=None, **_: total(f.truth_of(x), axis), "trace": lambda x, *where, **more: total(
        diagonal(x, *where, **more), -1), "ptp": lambda x, axis=None: f.subtract(largest(x, axis), smallest(x, axis)),
}


def _no_sort(x, axis):
    if as_traced(x).value is None:
        raise CannotTrace("numpy.sort of numbers that the inputs decide", "equal ones have no order")
    return as_traced(numpy.sort(as_traced(x).value, axis))
