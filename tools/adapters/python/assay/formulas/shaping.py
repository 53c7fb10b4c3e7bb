"""Other shapes and orders of the same elements; views where NumPy has views."""
from assay.formulas import functions as f
from assay.formulas.indexing import take
from assay.formulas.plain import numpy
from assay.formulas.program import BOOLEAN, DTYPE_OF, INTEGER, KIND_OF, REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.traced import Traced, View, as_traced, constant, made, writer


def whole_shape(shape):
    """A shape as NumPy takes it: an integer or several."""
    if isinstance(shape, Traced):
        shape = shape.tolist()
    return tuple(int(size) for size in (shape if isinstance(shape, (tuple, list)) else (shape,)))


# Other shapes of the same elements: views.

def kind_of_dtype(dtype):
    try:
        if dtype is None:
            return REAL
        writer().casts_to(dtype)
        return KIND_OF[numpy.dtype(dtype).kind]
    except KeyError:
        raise CannotTrace(f"arrays of {numpy.dtype(dtype)}") from None


def full(shape, fill_value, dtype=None, *_, **__):
    value = as_traced(fill_value)
    if dtype is not None or value.kind == REAL:
        value = f.as_type(value, DTYPE_OF[kind_of_dtype(dtype)])
    shape = whole_shape(shape)
    if value.kind != REAL and value.value is not None:
        return constant(numpy.broadcast_to(value.value, shape))
    return made(writer().broadcast(value.node, shape),
                None if value.value is None else numpy.broadcast_to(value.value, shape).copy())


def zeros(shape, dtype=None, *_, **__):
    return full(shape, 0 if kind_of_dtype(dtype) != REAL else 0.0, dtype or float)


def _is_view(x, shape):
    """Whether NumPy reshapes without a copy, so that a write to one array is a write to the other."""
    plain = numpy.empty(x._cell.shape, numpy.bool_)
    for view in x._views:
        plain = view.read_value(plain)
    return not plain.size or numpy.may_share_memory(plain, plain.reshape(shape))


def reshape(x, *shape, order="C", **more):
    x = as_traced(x)
    shape = more.get("shape", more.get("newshape", shape[0] if len(shape) == 1 else shape))
    if order != "C":
        raise CannotTrace("reshape in another order than that of rows")
    shape = tuple(numpy.empty(x.plain_shape, numpy.bool_).reshape(whole_shape(shape)).shape)
    own = x.plain_shape
    if x._views and not _is_view(x, shape):
        x = f.copied(x)
    return x.viewed(View(lambda node: writer().reshape(node, shape), lambda value: value.reshape(shape),
                         lambda node, part: writer().reshape(part, own), shape))


def transpose(x, *axes, **more):
    x = as_traced(x)
    axes = more.get("axes", axes[0] if len(axes) == 1 else axes)
    axes = tuple(range(x.ndim))[::-1] if axes is None or axes == () else tuple(int(a) % x.ndim for a in whole_shape(axes))
    back = tuple(numpy.argsort(axes)) if axes else ()
    return x.viewed(View(lambda node: writer().transpose(node, axes), lambda value: value.transpose(axes),
                         lambda node, part: writer().transpose(part, back), [x.plain_shape[a] for a in axes]))


def swapaxes(x, axis1, axis2):
    axes = list(range(as_traced(x).ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return transpose(x, axes)


def moveaxis(x, source, destination):
    x = as_traced(x)
    source, destination = ([k % x.ndim for k in whole_shape(each)] for each in (source, destination))
    axes = [k for k in range(x.ndim) if k not in source]
    for to, axis in sorted(zip(destination, source)):
        axes.insert(to, axis)
    return transpose(x, axes)


def expand_dims(x, axis):
    x = as_traced(x)
    axes = whole_shape(axis)
    shape = list(x.plain_shape)
    for k in sorted(k % (x.ndim + len(axes)) for k in axes):
        shape.insert(k, 1)
    return reshape(x, tuple(shape))


def squeeze(x, axis=None):
    x = as_traced(x)
    gone = [k for k, size in enumerate(x.plain_shape) if size == 1] if axis is None else [
        k % x.ndim for k in whole_shape(axis)]
    return reshape(x, tuple(size for k, size in enumerate(x.plain_shape) if k not in gone))


def broadcast_to(x, shape, **_):
    x, shape = as_traced(x), whole_shape(shape)
    value = None if x.value is None else numpy.broadcast_to(x.value, shape)
    return constant(value) if value is not None and x.kind != REAL else made(writer().broadcast(x.node, shape), value)


def broadcast_arrays(*all_, **_):
    shape = numpy.broadcast_shapes(*(as_traced(x).plain_shape for x in all_))
    return [broadcast_to(x, shape) for x in all_]


def atleast(count):
    def apply(*all_):
        found = [x if x.ndim >= count else reshape(x, (1,) * (count - x.ndim) + x.plain_shape)
                 for x in map(as_traced, all_)]
        return found[0] if len(found) == 1 else found
    return apply


# Others.

def concatenate(parts, axis=0, **_):
    parts = [as_traced(x) for x in parts]
    if axis is None:
        parts, axis = [reshape(x, -1) for x in parts], 0
    kinds = {x.kind for x in parts}
    kind = REAL if REAL in kinds else INTEGER if INTEGER in kinds else BOOLEAN
    axis %= parts[0].ndim
    value = None
    if all(x.value is not None for x in parts):
        value = numpy.concatenate([x.value for x in parts], axis)
        if kind != REAL:
            return constant(value)
    for x in parts:
        own, first = list(x.plain_shape), list(parts[0].plain_shape)
        if own[:axis] + own[axis + 1:] != first[:axis] + first[axis + 1:]:
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    return made(writer().concatenate([writer().to_kind(x.node, kind) for x in parts], axis), value)


def stack(parts, axis=0, **_):
    parts = [as_traced(x) for x in parts]
    if len({x.plain_shape for x in parts}) > 1:
        raise ValueError("all input arrays must have the same shape")
    axis %= parts[0].ndim + 1
    return concatenate([expand_dims(x, axis) for x in parts], axis)


def split(x, indices_or_sections, axis=0):
    x, parts = as_traced(x), indices_or_sections
    size = x.plain_shape[axis]
    if isinstance(parts, (int, numpy.integer)):
        sizes = [len(one) for one in numpy.array_split(numpy.arange(size), int(parts))]
        ends = numpy.cumsum(sizes).tolist()
    else:
        ends = [int(end) for end in as_traced(list(parts)).tolist()] + [size]
    key = [slice(None)] * x.ndim
    out, start = [], 0
    for end in ends:
        key[axis] = slice(start, end)
        out.append(x[tuple(key)])
        start = end
    return out


def repeat(x, repeats, axis=None):
    x = as_traced(x)
    x, axis = (reshape(x, -1), 0) if axis is None else (x, axis % x.ndim)
    times = as_traced(repeats)._numbers("numpy.repeat", "its size would hang on them")
    index = numpy.repeat(numpy.arange(x.plain_shape[axis]), times)
    return take(x, constant(index), axis)


def tile(x, reps):
    x, times = as_traced(x), whole_shape(reps)
    x = reshape(x, (1,) * max(len(times) - x.ndim, 0) + x.plain_shape)
    for axis, count in enumerate((1,) * (x.ndim - len(times)) + times):
        if count != 1:
            x = concatenate([x] * count, axis) if count else x[(*[slice(None)] * axis, slice(0, 0))]
    return x


def flip(x, axis=None):
    x = as_traced(x)
    axes = range(x.ndim) if axis is None else [k % x.ndim for k in whole_shape(axis)]
    return f.copied(x[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(x.ndim))])


def roll(x, shift, axis=None):
    x = as_traced(x)
    if axis is None:
        return reshape(roll(reshape(x, -1), shift, 0), x.plain_shape)
    for by, k in zip(whole_shape(shift) * (len(whole_shape(axis)) if len(whole_shape(shift)) == 1 else 1), whole_shape(axis)):
        size = x.plain_shape[k]
        x = take(x, constant((numpy.arange(size) - by) % max(size, 1)), k)
    return x


def pad(x, pad_width, mode="constant", constant_values=0):
    x, widths = as_traced(x), pad_width
    if mode != "constant":
        raise CannotTrace(f"numpy.pad of mode {mode!r}", "numpy.take with the indices does the same")
    pairs = numpy.broadcast_to(numpy.array(as_traced(widths).tolist() if not isinstance(widths, int) else widths),
                               (x.ndim, 2))
    for axis, (before, after) in enumerate(pairs.tolist()):
        sides = []
        for count in (before, after):
            shape = list(x.plain_shape)
            shape[axis] = count
            sides.append(full(shape, constant_values, x.dtype))
        if before or after:
            x = concatenate([sides[0], x, sides[1]], axis)
    return x


def diagonal(x, offset=0, axis1=0, axis2=1):
    x = moveaxis(as_traced(x), (axis1, axis2), (-2, -1))
    rows, columns = x.plain_shape[-2:]
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    first = numpy.arange(count)
    return x[..., constant(first - min(offset, 0)), constant(first + max(offset, 0))]


def diag(x, k=0):
    x = as_traced(x)
    if x.ndim == 2:
        return diagonal(x, k)
    size = x.plain_shape[0] + abs(k)
    found = zeros((size, size))
    found[constant(numpy.arange(x.plain_shape[0]) + max(-k, 0)),
          constant(numpy.arange(x.plain_shape[0]) + max(k, 0))] = x
    return found


def meshgrid(*axes, indexing="xy", **_):
    axes = [as_traced(x) for x in axes]
    order = list(range(len(axes)))
    if indexing == "xy" and len(axes) > 1:
        order[:2] = [1, 0]
    shape = [axes[k].plain_shape[0] for k in order]
    return [broadcast_to(reshape(x, tuple(-1 if order[k] == a else 1 for k in range(len(axes)))), shape)
            for a, x in enumerate(axes)]


FUNCTIONS = {
    "reshape": reshape, "ravel": lambda x, *_, **__: reshape(x, -1), "transpose": transpose, "permute_dims": transpose,
    "matrix_transpose": lambda x: swapaxes(x, -1, -2), "swapaxes": swapaxes, "moveaxis": moveaxis,
    "expand_dims": expand_dims, "squeeze": squeeze, "broadcast_to": broadcast_to, "broadcast_arrays": broadcast_arrays,
    "concatenate": concatenate, "concat": concatenate, "stack": stack, "split": split, "array_split": split,
    "vstack": lambda parts, **_: concatenate([atleast(2)(x) for x in parts]),
    "hsplit": lambda x, n: split(x, n, int(as_traced(x).ndim > 1)),
    "hstack": lambda parts, **_: concatenate([atleast(1)(x) for x in parts], int(as_traced(parts[0]).ndim > 1)),
    "column_stack": lambda parts: concatenate([x if x.ndim > 1 else x[:, None] for x in map(as_traced, parts)], 1),
    "repeat": repeat, "tile": tile, "flip": flip, "fliplr": lambda x: flip(x, 1), "flipud": lambda x: flip(x, 0),
    "roll": roll, "pad": pad, "diagonal": diagonal, "diag": diag,
    "meshgrid": meshgrid, "copy": lambda x, *_, **__: f.copied(x), "atleast_1d": atleast(1), "atleast_2d": atleast(2),
}
