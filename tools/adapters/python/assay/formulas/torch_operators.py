"""ATen's operators, recorded by the functions that record NumPy's. Here a tensor is an array (assay/formulas/traced.py); its
dtype is kept beside it (torch_tensors.py)."""
from assay.formulas import contractions, creating, functions, shaping, sums, torch_windows
from assay.formulas.functions import UFUNCS
from assay.formulas.indexing import put, scattered_set, take, take_along_axis, taken
from assay.formulas.plain import numpy
from assay.formulas.program import BOOLEAN, INTEGER, REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.traced import View, as_traced, constant, writer

add, subtract, multiply, divide, power = (UFUNCS[name] for name in ("add", "subtract", "multiply", "divide", "power"))
exp, log, tanh, negative, where = UFUNCS["exp"], UFUNCS["log"], UFUNCS["tanh"], UFUNCS["negative"], functions.where
maximum, minimum, less, greater = UFUNCS["maximum"], UFUNCS["minimum"], UFUNCS["less"], UFUNCS["greater"]


class Unanswered:
    """A result that takes a decision among reals: it is refused where it is used, and not where it is made."""

    def __init__(self, what, instead, shape):
        self.what, self.instead, self.plain_shape, self.kind = what, instead, tuple(shape), INTEGER


# Elementwise.

def scaled(operator):
    """x + alpha y"""
    def apply(x, y, *, alpha=1):
        return operator(x, y if alpha == 1 else multiply(y, alpha))
    return apply


def quotient(x, y, *, rounding_mode=None):
    if rounding_mode is None:
        return divide(x, y)
    if rounding_mode == "floor" or functions.known(as_traced(x), as_traced(y)):
        floored = UFUNCS["floor_divide"](x, y)
        if rounding_mode == "floor" or (as_traced(x).value >= 0).all() and (as_traced(y).value > 0).all():
            return floored
    return UFUNCS["trunc"](divide(x, y))


def sigmoid(x):
    return divide(1, add(1, exp(negative(x))))


def relu(x):
    return maximum(x, 0)


def leaky(x, negative_slope=0.01):
    return where(greater(x, 0), x, multiply(x, negative_slope))


def elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    below = multiply(subtract(exp(multiply(x, input_scale)), 1), alpha)
    return multiply(where(greater(x, 0), x, below), scale)


def softplus(x, beta=1, threshold=20):
    """log(1 + exp(beta x)) / beta, but x where beta x is above the threshold, as torch documents it."""
    scaled_x = x if beta == 1 else multiply(x, beta)
    found = UFUNCS["log1p"](exp(minimum(scaled_x, threshold)))
    return where(greater(scaled_x, threshold), x, found if beta == 1 else divide(found, beta))


def log_sigmoid(x):
    """min(x, 0) - log(1 + exp(-|x|)), as torch has it."""
    return subtract(minimum(x, 0), UFUNCS["log1p"](exp(negative(UFUNCS["absolute"](x)))))


def gelu(x, approximate="none"):
    if approximate == "none":
        return multiply(multiply(x, 0.5), add(1, UFUNCS["erf"](divide(x, functions.root(2, 1, 2)))))
    inner = multiply(functions.root(divide(2, functions.constant_pi()), 1, 2),
                     add(x, multiply(as_traced(0.044715), power(x, 3))))
    return multiply(multiply(x, 0.5), add(1, tanh(inner)))


def hard_sigmoid(x):
    return divide(functions.clip(add(x, 3), 0, 6), 6)


def clamp(x, min=None, max=None):
    return functions.clip(x, min, max)


def nearest(x, decimals=0):
    """Rounds known numbers to integers, halves to even ones."""
    x = as_traced(x)
    if x.value is None or decimals:
        raise CannotTrace("torch.round of numbers that the inputs decide", "a step has no digits to compare")
    return constant(numpy.rint(x.value).astype(numpy.int64)) if x.kind != REAL else functions.as_type(
        constant(numpy.rint(x.value).astype(numpy.int64)), float)


# Along axes.

def axes_of(dim):
    """The axes of `dim`; None and [] mean all axes, as in torch."""
    return None if dim is None or dim == [] or dim == () else tuple(dim) if isinstance(dim, (list, tuple)) else dim


def axes_in(x, dim):
    """The axes of a reduction; all for a number, which has no axis."""
    return axes_of(dim) if as_traced(x).ndim else None


def reduction(reduce):
    def apply(x, dim=None, keepdim=False, *, dtype=None, **_):
        return reduce(x, axis=axes_in(x, dim), keepdims=keepdim)
    return apply


def along(function):
    """The function along an axis; a tensor without axes counts as one with one element."""
    def apply(x, dim, *arguments, **more):
        if as_traced(x).ndim:
            return function(x, dim, *arguments, **more)
        return shaping.reshape(function(shaping.reshape(x, (1,)), 0, *arguments, **more), ())
    return apply


def with_places(reduce, name):
    """max and min: of all elements, of two tensors, or along an axis with the places. Rounding may decide between ties,
    so that places are refused where they are used."""
    def apply(x, *arguments, dim=None, keepdim=False):
        if arguments and not isinstance(arguments[0], int):
            return (maximum if name == "max" else minimum)(x, *arguments)
        if not arguments and dim is None:
            return reduce(x)
        dim, keepdim = (*arguments, keepdim)[:2] if arguments else (dim, keepdim)
        found = reduce(x, axis=axes_in(x, dim), keepdims=keepdim)
        return found, unanswered_places(name)(found.plain_shape)
    return apply


largest, smallest = sums.FUNCTIONS["max"], sums.FUNCTIONS["min"]


def variance(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    ddof = int(correction) if correction is not None else int(unbiased)
    return sums.variance(x, axis=axes_in(x, dim), ddof=ddof, keepdims=keepdim)


def deviation(*arguments, **more):
    return functions.root(variance(*arguments, **more), 1, 2)


def with_mean(spread):
    def apply(x, dim=None, *arguments, keepdim=False, **more):
        if isinstance(dim, bool):
            dim, arguments = None, (dim,)
        mean = sums.mean(x, axis=axes_in(x, dim), keepdims=keepdim or arguments[1:] == (True,))
        return spread(x, dim, *arguments, **({"keepdim": True} if keepdim else {}), **more), mean
    return apply


def without_nan(reduce):
    def apply(x, *arguments, **more):
        return reduction(reduce)(where(UFUNCS["isnan"](x), 0.0, x), *arguments, **more)
    return apply


def softmax(x, dim, *_, **__):
    x = as_traced(x)
    e = exp(subtract(x, largest(x, axis=dim, keepdims=True)))
    return divide(e, sums.total(e, axis=dim, keepdims=True))


def log_sum_exp(x, dim, keepdim=False):
    """log(sum(exp(x))), shifted by the maximum unless that is infinite."""
    dim = axes_in(x, dim)
    most = largest(x, axis=dim, keepdims=True)
    shift = where(UFUNCS["isinf"](most), 0.0, most)
    found = add(log(sums.total(exp(subtract(x, shift)), axis=dim, keepdims=True)), shift)
    return found if keepdim else shaping.squeeze(found, dim if dim is not None else tuple(range(as_traced(x).ndim)))


def log_softmax(x, dim, *_, **__):
    x = as_traced(x)
    centred = subtract(x, largest(x, axis=dim, keepdims=True))
    return subtract(centred, log(sums.total(exp(centred), axis=dim, keepdims=True)))


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    axis, ord = axes_in(x, dim), 2 if ord is None else ord
    size = UFUNCS["absolute"](x)
    if ord == 2:
        return functions.root(sums.total(power(x, 2), axis=axis, keepdims=keepdim), 1, 2)
    if ord in (float("inf"), -float("inf")):
        return (largest if ord > 0 else smallest)(size, axis=axis, keepdims=keepdim)
    if ord == 1:
        return sums.total(size, axis=axis, keepdims=keepdim)
    return power(sums.total(power(size, ord), axis=axis, keepdims=keepdim), 1 / ord)


def log_cumulative_sum_exp(x, dim):
    parts, out = shaping.moveaxis(x, dim, 0), []
    for k in range(len(parts)):
        out.append(UFUNCS["logaddexp"](out[-1], parts[k]) if out else parts[k])
    return shaping.stack(out, dim)


# Norms.

def normalized(x, axes, eps):
    """(x - mean) / sqrt(var + eps), and the factor 1 / sqrt(var + eps)."""
    centred = subtract(x, sums.mean(x, axis=axes, keepdims=True))
    factor = divide(1, functions.root(add(sums.mean(power(centred, 2), axis=axes, keepdims=True), eps), 1, 2))
    return multiply(centred, factor), factor


def affine(x, weight, bias):
    x = x if weight is None else multiply(x, weight)
    return x if bias is None else add(x, bias)


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5, *_):
    axes = tuple(range(-len(list(normalized_shape)), 0))
    found, factor = normalized(x, axes, eps)
    return affine(found, weight, bias), sums.mean(x, axis=axes, keepdims=True), factor


def rms_norm(x, normalized_shape, weight=None, eps=None, *_):
    axes = tuple(range(-len(list(normalized_shape)), 0))
    eps = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}[writer().narrowest] if eps is None else eps
    factor = divide(1, functions.root(add(sums.mean(power(x, 2), axis=axes, keepdims=True), eps), 1, 2))
    return affine(multiply(x, factor), weight, None), factor


def _by_channel(x, parameter):
    return None if parameter is None else shaping.reshape(parameter, (1, -1) + (1,) * (x.ndim - 2))


def group_norm(x, weight, bias, N, C, HxW, groups, eps):
    x = as_traced(x)
    parts = shaping.reshape(x, (x.plain_shape[0], groups, -1))
    found, factor = normalized(parts, (-1,), eps)
    found = affine(shaping.reshape(found, x.plain_shape), _by_channel(x, weight), _by_channel(x, bias))
    return found, sums.mean(parts, axis=-1), shaping.squeeze(factor, -1)


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps, *_):
    x = as_traced(x)
    if training:
        found, factor = normalized(x, (0, *range(2, x.ndim)), eps)
    else:
        factor = divide(1, functions.root(add(_by_channel(x, running_var), eps), 1, 2))
        found = multiply(subtract(x, _by_channel(x, running_mean)), factor)
    return affine(found, _by_channel(x, weight), _by_channel(x, bias)), running_mean, factor


def batch_norm_without_training(x, weight, bias, running_mean, running_var, momentum, eps):
    return batch_norm(x, weight, bias, running_mean, running_var, False, momentum, eps)


# Products.

def solved(matrix, right, *, left=True):
    """A^-1 B by elimination, row by row. Exact arithmetic needs no largest pivots. To a row whose pivot is 0 the rows
    below are added, each times its element of this column. The pivot is then a sum of squares: 0 only without an
    inverse."""
    matrix, right = as_traced(matrix), as_traced(right)
    is_vector = right.ndim == matrix.ndim - 1
    if not left:
        raise CannotTrace("linalg.solve from the right", "transpose both")
    size = matrix.plain_shape[-1]
    places = shaping.reshape(constant(numpy.arange(size)), (size, 1))
    both = shaping.concatenate([matrix, shaping.expand_dims(right, -1) if is_vector else right], -1)
    for k in range(size):
        column, row = both[..., :, k:k + 1], both[..., k:k + 1, :]
        below = where(greater(places, k), column, 0.0)
        helped = add(row, sums.total(multiply(below, both), axis=-2, keepdims=True))
        row = where(functions.equal(row[..., k:k + 1], 0), helped, row)
        row = divide(row, row[..., k:k + 1])
        both = where(functions.equal(places, k), row, subtract(both, multiply(column, row)))
    found = both[..., size:]
    return shaping.squeeze(found, -1) if is_vector else found


def inverse(matrix):
    return solved(matrix, creating.eye(as_traced(matrix).plain_shape[-1]))


def three_factors(x, y, z, expand1, expand2, expand3, sumdim, unroll_dim=1):
    """ATen's _trilinear, of which bilinear forms are made: the sum over axes of a product of three tensors."""
    parts = [shaping.expand_dims(one, tuple(axes)) if axes else one
             for one, axes in zip((x, y, z), (expand1, expand2, expand3))]
    return sums.total(multiply(multiply(parts[0], parts[1]), parts[2]), axis=tuple(sumdim))


def distances(x, y, p=2.0, *_):
    """The distances of each row of x from each row of y."""
    return vector_norm(subtract(shaping.expand_dims(x, -2), shaping.expand_dims(y, -3)), p, -1)


def cross_product(x, y, *, dim=-1):
    turned = [(shaping.roll(x, -k, dim), shaping.roll(y, k - 3, dim)) for k in (1, 2)]
    return subtract(multiply(*turned[0]), multiply(*turned[1]))


def plus_product(c, x, y, *, beta=1, alpha=1):
    product = contractions.matmul(x, y)
    return add(c if beta == 1 else multiply(c, beta), product if alpha == 1 else multiply(product, alpha))


def linear(x, weight, bias=None):
    found = contractions.einsum("...i,oi->...o", x, weight)
    return found if bias is None else add(found, bias)


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, **_):
    """torch.nn.functional.scaled_dot_product_attention."""
    query, key, value = as_traced(query), as_traced(key), as_traced(value)
    if dropout_p:
        raise CannotTrace("dropout", "a formula has one value for its inputs")
    if enable_gqa:
        times = query.plain_shape[-3] // key.plain_shape[-3]
        key, value = shaping.repeat(key, times, -3), shaping.repeat(value, times, -3)
    products = contractions.matmul(query, shaping.swapaxes(key, -1, -2))
    width = query.plain_shape[-1]
    scores = multiply(products, functions.root(width, -1, 2) if scale is None else scale)
    if is_causal:
        attn_mask = creating.tri(*products.plain_shape[-2:], dtype=bool)
    if attn_mask is not None:
        attn_mask = as_traced(attn_mask)
        scores = where(attn_mask, scores, -float("inf")) if attn_mask.kind == BOOLEAN else add(scores, attn_mask)
    return contractions.matmul(softmax(scores, -1), value)


# Shapes: views where torch has views.

def axis_in(dim, count):
    return dim % max(count, 1)


def select(x, dim, index):
    return x[(*[slice(None)] * axis_in(dim, x.ndim), int(index))]


def sliced(x, dim=0, start=None, end=None, step=1):
    return x[(*[slice(None)] * axis_in(dim, x.ndim), slice(start, end, step))]


def unsqueezed(x, dim):
    return shaping.expand_dims(x, dim % (x.ndim + 1))


def squeezed(x, dim=None):
    if dim is None:
        return shaping.squeeze(x)
    axes = {axis_in(one, x.ndim) for one in (dim if isinstance(dim, (list, tuple)) else [dim])}
    return shaping.squeeze(x, tuple(k for k in axes if x.ndim and x.plain_shape[k] == 1))


def expanded(x, size, *, implicit=False):
    own = (1,) * (len(size) - x.ndim) + x.plain_shape
    shape = [int(have if want == -1 else want) for want, have in zip(size, own)]

    def write(node, part):
        raise CannotTrace("a write into an expanded tensor", "one element stands in several places: write .clone() before")
    return x.viewed(View(lambda node: writer().broadcast(node, shape), lambda value: numpy.broadcast_to(value, shape), write,
                         shape))


def viewed(x, size, *_):
    return shaping.reshape(x, tuple(int(one) for one in size))


def split_sizes(x, sizes, dim=0):
    out, start = [], 0
    for size in sizes:
        out.append(sliced(x, dim, start, start + size))
        start += size
    return out


def split(x, size, dim=0):
    if isinstance(size, (list, tuple)):
        return split_sizes(x, size, dim)
    whole = x.plain_shape[axis_in(dim, x.ndim)]
    return [sliced(x, dim, k, k + size) for k in range(0, whole, size)] or [x]


def unbind(x, dim=0):
    return [select(x, dim, k) for k in range(x.plain_shape[axis_in(dim, x.ndim)])]


def concatenated(parts, dim=0):
    parts = [as_traced(x) for x in parts]
    return shaping.concatenate([x for x in parts if x.plain_shape != (0,)] or parts[:1], dim)


def repeated(x, repeats):
    return shaping.tile(x, repeats)


def interleaved(x, repeats=None, dim=None, *, output_size=None):
    if repeats is None:  # x has the counts, and its places are repeated
        return shaping.repeat(constant(numpy.arange(x.plain_shape[0])), x)
    return shaping.repeat(x, repeats, dim)


def strided(x, size, stride, storage_offset=None):
    """as_strided: a view of elements anywhere in the array."""
    whole = as_traced(x)
    if whole._views and whole._cell.shape != whole.plain_shape:
        raise CannotTrace("as_strided of a view", "write slices")
    places = numpy.lib.stride_tricks.as_strided(numpy.arange(int(numpy.prod(whole.plain_shape)))[storage_offset or 0:],
                                                size, [8 * step for step in stride])
    return by_places(whole, places)


def by_places(x, places):
    """The view of the elements at these places of x, which are counted in row-major order."""
    index, shape = numpy.ascontiguousarray(places), x.plain_shape
    inverse_order = index.ravel()

    def read(node):
        to = writer()
        return to.add("gather", (to.reshape(node, [int(numpy.prod(shape))]), to.constant(index)), to.kinds[node],
                      index.shape, axis=0)

    def write(node, part):
        return scattered_set(node, inverse_order, writer().reshape(part, [index.size]))

    def read_value(value):
        flat = value.reshape(-1)
        return numpy.lib.stride_tricks.as_strided(flat[places.flat[0] if places.size else 0:], places.shape,
                                                  [step // 8 * value.itemsize for step in places.strides])
    return x.viewed(View(read, read_value, write, index.shape))


def _places(x):
    return numpy.arange(int(numpy.prod(x.plain_shape)) or 1)[:int(numpy.prod(x.plain_shape))].reshape(x.plain_shape)


def diagonal(x, offset=0, dim1=0, dim2=1):
    return by_places(as_traced(x), numpy.diagonal(_places(x), offset, dim1, dim2))


def unfolded(x, dimension, size, step):
    dim = axis_in(dimension, x.ndim)
    windows = numpy.lib.stride_tricks.sliding_window_view(_places(x), size, dim)
    return by_places(x, windows[(*[slice(None)] * dim, slice(None, None, step))])


def diagonal_embedded(x, offset=0, dim1=-2, dim2=-1):
    size = x.plain_shape[-1] + abs(offset)
    square = where(creating.eye(size, k=offset, dtype=bool), 1, 0)
    rows = shaping.pad(x, [(0, 0)] * (x.ndim - 1) + [(max(-offset, 0), max(offset, 0))])
    found = where(functions.equal(square, 1), shaping.expand_dims(rows, -1), 0.0 if x.kind == REAL else 0)
    return shaping.moveaxis(found, (-2, -1), (dim1, dim2))


def padded(x, pad, value=0):
    """`pad` has two numbers for each axis, the last axis first; negative ones cut."""
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [tuple(pad[k:k + 2]) for k in range(len(pad) - 2, -1, -2)]
    cut = tuple(slice(max(-before, 0), size - max(-after, 0)) for (before, after), size in zip(widths, x.plain_shape))
    return shaping.pad(x[cut], [(max(before, 0), max(after, 0)) for before, after in widths], constant_values=value)


def pixels_shuffled(x, factor):
    *lead, channels, rows, columns = x.plain_shape
    parts = shaping.reshape(x, (*lead, channels // factor**2, factor, factor, rows, columns))
    lead_axes = len(lead)
    order = (*range(lead_axes + 1), lead_axes + 3, lead_axes + 1, lead_axes + 4, lead_axes + 2)
    return shaping.reshape(functions.copied(shaping.transpose(parts, order)), (*lead, -1, rows * factor, columns * factor))


def pixels_unshuffled(x, factor):
    *lead, channels, rows, columns = x.plain_shape
    parts = shaping.reshape(x, (*lead, channels, rows // factor, factor, columns // factor, factor))
    lead_axes = len(lead)
    order = (*range(lead_axes + 1), lead_axes + 2, lead_axes + 4, lead_axes + 1, lead_axes + 3)
    return shaping.reshape(functions.copied(shaping.transpose(parts, order)), (*lead, -1, rows // factor, columns // factor))


def turned(x, k=1, dims=(0, 1)):
    """The array turned by k quarters."""
    first, second = dims
    if k % 4 in (1, 2):
        x = shaping.flip(x, second)
    if k % 4 in (2, 3):
        x = shaping.flip(x, first)
    return functions.copied(x if k % 2 == 0 else shaping.swapaxes(x, first, second))


def part_written(write_to):
    """A copy of x with another part."""
    def apply(x, part, *where_):
        found = functions.copied(x)
        put(write_to(found, *where_), Ellipsis, part)
        return found
    return apply


# By indices.

def _as_key(indices):
    return tuple(slice(None) if index is None else index for index in indices)


def indexed(x, indices):
    return taken(x, _as_key(indices))


def put_at(x, indices, values, accumulate=False):
    found = functions.copied(x)
    if accumulate:
        if len(indices) != 1:
            raise CannotTrace("index_put with accumulate, of several arrays of indices")
        return added_at(found, 0, indices[0], values)
    put(found, _as_key(indices), values)
    return found


def added_at(x, dim, index, source, *, alpha=1):
    moved = functions.copied(shaping.moveaxis(x, dim, 0))
    source = source if as_traced(source).ndim == 0 else shaping.moveaxis(source, dim, 0)
    sums.scattered("add", moved, index, source if alpha == 1 else multiply(source, alpha))
    return shaping.moveaxis(moved, 0, dim)


def written_at(x, dim, index, new):
    found = functions.copied(x)
    put(shaping.moveaxis(found, dim, 0), (index,), shaping.moveaxis(new, dim, 0) if as_traced(new).ndim else new)
    return found


def gathered(x, dim, index, *, sparse_grad=False):
    x, index = as_traced(x), as_traced(index)
    cut = tuple(slice(None) if k == axis_in(dim, x.ndim) else slice(0, size) for k, size in enumerate(index.plain_shape))
    return take_along_axis(x[cut], index, dim)


def _grid(index, dim):
    """Indices as numpy.put_along_axis makes them: `index` along `dim`, its own places along the other axes."""
    places = list(numpy.ogrid[tuple(slice(0, size) for size in index.plain_shape)])
    return tuple(index if k == dim else constant(place) for k, place in enumerate(places))


def scattered(x, dim, index, source, *, reduce=None):
    x, index, source = as_traced(x), as_traced(index), as_traced(source)
    if reduce:
        raise CannotTrace(f"scatter with reduce={reduce!r}")
    if source.ndim:
        source = source[tuple(slice(0, size) for size in index.plain_shape)]
    dim = axis_in(dim, x.ndim)
    found = functions.copied(x)
    if index.value is None:
        if index.plain_shape[dim] != 1 and source.ndim:
            raise CannotTrace("scatter at indices that the inputs decide", "the order of writes would count")
        span = shaping.reshape(constant(numpy.arange(x.plain_shape[dim])), [-1 if k == dim else 1 for k in range(x.ndim)])
        is_there = functions.equal(shaping.expand_dims(span, dim), shaping.expand_dims(index, dim + 1))
        part = found[tuple(slice(0, size) if k != dim else slice(None) for k, size in enumerate(index.plain_shape))]
        put(part, Ellipsis, where(sums.any_(is_there, axis=dim), source, part))
        return found
    put(found, _grid(index, dim), source)
    return found


def scattered_sum(x, dim, index, source):
    x, index, source = as_traced(x), as_traced(index), as_traced(source)
    dim, shape = axis_in(dim, x.ndim), x.plain_shape
    place = constant(0)
    for k, part in enumerate(_grid(index, dim)):
        place = add(multiply(place, shape[k]), part)
    source = source[tuple(slice(0, size) for size in index.plain_shape)]
    flat = functions.copied(shaping.reshape(x, -1))
    sums.scattered("add", flat, shaping.reshape(shaping.broadcast_to(place, index.plain_shape), -1),
                   shaping.reshape(source, -1))
    return shaping.reshape(flat, shape)


def one_hot(x, num_classes=-1):
    if num_classes < 0:
        raise CannotTrace("one_hot without the number of classes", "write num_classes=...")
    return functions.as_type(functions.equal(shaping.expand_dims(x, -1), constant(numpy.arange(num_classes))), int)


def embedding(weight, indices, *_, **__):
    return take(weight, indices, 0)


def filled(x, mask, value):
    return where(mask, as_traced(value), x)


def fill(x, value):
    return shaping.full(x.plain_shape, value, x.dtype)


def only_if_known(name):
    """A choice among numbers that no input decides."""
    def apply(x, dim=None, keepdim=False):
        if as_traced(x).value is None:
            raise CannotTrace(f"torch.{name} of numbers that the inputs decide", "equal numbers have no order")
        return constant(getattr(numpy, name)(x.value, axis=dim, keepdims=keepdim))
    return apply


def item(x):
    return x.item()


def unanswered_places(name):
    return lambda shape: Unanswered(f"the places that torch.{name} gives", "equal numbers have no order", shape)


def identity(x, *_, **__):
    return x


# Losses. A reduction is none (0), the mean (1) or the sum (2).

def reduced(losses, reduction):
    return losses if reduction == 0 else (sums.mean if reduction == 1 else sums.total)(losses)


def loss(element_loss):
    def apply(x, y, reduction=1, *options):
        return reduced(element_loss(x, y, *options), reduction)
    return apply


def _quadratic_near_0(x, y, beta=1.0):
    apart = UFUNCS["absolute"](subtract(x, y))
    if not beta:
        return apart
    return where(less(apart, beta), divide(multiply(0.5, power(apart, 2)), beta), subtract(apart, multiply(0.5, beta)))


def _huber(x, y, delta=1.0):
    apart = UFUNCS["absolute"](subtract(x, y))
    return where(less(apart, delta), multiply(0.5, power(apart, 2)), multiply(delta, subtract(apart, multiply(0.5, delta))))


def cross_entropy_of_truths(x, y, weight=None, reduction=1):
    """Logarithms are at least -100, as torch documents it."""
    found = negative(add(multiply(y, maximum(log(x), -100.0)), multiply(subtract(1, y), maximum(log(subtract(1, x)), -100.0))))
    return reduced(found if weight is None else multiply(found, weight), reduction)


def cross_entropy_of_logits(x, y, weight=None, pos_weight=None, reduction=1):
    """(1 - y) x + (1 + (pos_weight - 1) y) log(1 + exp(-x))"""
    below = negative(log_sigmoid(x))
    if pos_weight is not None:
        below = multiply(below, add(multiply(subtract(pos_weight, 1), y), 1))
    found = add(multiply(subtract(1, y), x), below)
    return reduced(found if weight is None else multiply(found, weight), reduction)


def negative_log_likelihood(x, target, weight=None, reduction=1, ignore_index=-100):
    """The loss, and the sum of the weights."""
    x, target = as_traced(x), as_traced(target)
    axis = min(x.ndim - 1, 1)
    is_ignored = functions.equal(target, int(ignore_index))
    target = where(is_ignored, 0, target)
    chosen = shaping.squeeze(take_along_axis(x, shaping.expand_dims(target, axis), axis), axis)
    weights = where(is_ignored, 0.0, 1.0 if weight is None else take(weight, target, 0))
    found, count = where(is_ignored, 0.0, negative(multiply(chosen, weights))), sums.total(weights)
    if reduction == 1:
        found = divide(sums.total(found), count)
    return sums.total(found) if reduction == 2 else found, count


def times_log(x, y):
    """x log y; 0 where x is 0."""
    return where(functions.equal(x, 0), 0.0, multiply(x, log(y)))


def log_odds(x, eps=None):
    x = x if eps is None else clamp(x, eps, 1 - eps)
    return log(divide(x, subtract(1, x)))


OPERATORS = {
    # elementwise
    "add": scaled(add), "sub": scaled(subtract), "rsub": lambda x, y, *, alpha=1: scaled(subtract)(y, x, alpha=alpha),
    "mul": multiply, "div": quotient,
    "floor_divide": UFUNCS["floor_divide"],
    "remainder": UFUNCS["remainder"], "fmod": lambda x, y: subtract(x, multiply(y, UFUNCS["trunc"](divide(x, y)))),
    "pow": power, "maximum": maximum, "minimum": minimum, "fmax": UFUNCS["fmax"], "fmin": UFUNCS["fmin"],
    "logaddexp": UFUNCS["logaddexp"], "lerp": lambda x, y, w: add(x, multiply(w, subtract(y, x))),
    "addcmul": lambda c, x, y, *, value=1: add(c, multiply(multiply(x, y), value)),
    "addcdiv": lambda c, x, y, *, value=1: add(c, multiply(divide(x, y), value)),
    "lt": less, "le": UFUNCS["less_equal"], "gt": greater, "ge": UFUNCS["greater_equal"], "eq": functions.equal,
    "ne": functions.not_equal, "logical_and": UFUNCS["logical_and"], "logical_or": UFUNCS["logical_or"],
    "logical_xor": UFUNCS["logical_xor"], "logical_not": UFUNCS["logical_not"], "bitwise_and": UFUNCS["bitwise_and"],
    "bitwise_or": UFUNCS["bitwise_or"], "bitwise_xor": UFUNCS["bitwise_xor"], "bitwise_not": UFUNCS["invert"],
    "__lshift__": lambda x, k: multiply(x, power(2, k)), "__rshift__": lambda x, k: UFUNCS["floor_divide"](x, power(2, k)),
    "bitwise_left_shift": lambda x, k: multiply(x, power(2, k)),
    "bitwise_right_shift": lambda x, k: UFUNCS["floor_divide"](x, power(2, k)),
    "where": where, "masked_fill": filled, "clamp": clamp, "clamp_min": lambda x, low: clamp(x, low),
    "clamp_max": lambda x, high: clamp(x, None, high), "nan_to_num": lambda x, nan=None, posinf=None,
    neginf=None: functions.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf),
    **{name: UFUNCS[name] for name in ("exp", "log", "log1p", "log2", "log10", "expm1", "exp2", "sin", "cos", "tan", "tanh",
                                       "sinh", "cosh", "sqrt", "reciprocal", "sign", "floor", "ceil", "trunc", "isnan", "isinf",
                                       "deg2rad")},
    "isneginf": lambda x: functions.equal(x, -float("inf")), "isposinf": lambda x: functions.equal(x, float("inf")),
    "erf": UFUNCS["erf"], "erfc": UFUNCS["erfc"],
    "neg": negative, "abs": UFUNCS["absolute"], "sgn": UFUNCS["sign"], "rsqrt": lambda x: divide(1, functions.root(x, 1, 2)),
    "round": nearest, "relu": relu, "sigmoid": sigmoid,
    "silu": lambda x: multiply(x, sigmoid(x)), "gelu": gelu, "softplus": softplus, "elu": elu, "leaky_relu": leaky,
    "celu": lambda x, alpha=1.0: elu(x, alpha, 1.0, 1.0 / alpha),
    "mish": lambda x: multiply(x, tanh(softplus(x))), "hardtanh": lambda x, min_val=-1, max_val=1: clamp(x, min_val, max_val),
    "hardsigmoid": hard_sigmoid, "hardswish": lambda x: multiply(x, hard_sigmoid(x)),
    "log_sigmoid_forward": lambda x: (log_sigmoid(x), x),
    "prelu": lambda x, weight: where(greater(x, 0), x, multiply(weight if as_traced(weight).size == 1 else _by_channel(
        x, weight), x)), "_prelu_kernel": lambda x, weight: where(greater(x, 0), x, multiply(weight, x)),
    "glu": lambda x, dim=-1: (lambda a, b: multiply(a, sigmoid(b)))(*split(x, x.plain_shape[dim] // 2, dim)),
    "hardshrink": lambda x, lambd=0.5: where(UFUNCS["less_equal"](UFUNCS["absolute"](x), lambd), 0.0, x),
    "softshrink": lambda x, lambd=0.5: subtract(x, clamp(x, -lambd, lambd)), "logit": log_odds,
    "frac": lambda x: subtract(x, UFUNCS["trunc"](x)), "xlogy": times_log, "hypot": UFUNCS["hypot"],
    "threshold": lambda x, threshold, value: where(greater(x, threshold), x, value),
    # along axes
    "sum": reduction(sums.total), "mean": reduction(sums.mean), "amax": reduction(largest), "amin": reduction(smallest),
    "max": with_places(largest, "max"), "min": with_places(smallest, "min"), "all": reduction(sums.all_),
    "any": reduction(sums.any_), "prod": reduction(sums.product), "var": variance, "std": deviation,
    "var_mean": with_mean(variance), "std_mean": with_mean(deviation), "nansum": without_nan(sums.total),
    "aminmax": lambda x, *, dim=None, keepdim=False: tuple(
        reduce(x, axis=axes_in(x, dim), keepdims=keepdim) for reduce in (smallest, largest)),
    "trace": lambda x: sums.total(diagonal(x)),
    "cumsum": along(lambda x, dim: sums.cumulative(x, dim)), "cumprod": along(lambda x, dim: sums.cumulative_product(x, dim)),
    "_logcumsumexp": along(log_cumulative_sum_exp), "logcumsumexp": along(log_cumulative_sum_exp), "logsumexp": log_sum_exp,
    "_softmax": along(softmax), "_log_softmax": along(log_softmax),
    "linalg_vector_norm": vector_norm, "norm": vector_norm,
    "argmax": only_if_known("argmax"), "argmin": only_if_known("argmin"),
    "native_layer_norm": layer_norm, "native_group_norm": group_norm, "native_batch_norm": batch_norm,
    "_native_batch_norm_legit": batch_norm, "_native_batch_norm_legit_no_training": batch_norm_without_training,
    "_fused_rms_norm": rms_norm,
    # products
    "mm": contractions.matmul, "bmm": contractions.matmul, "mv": contractions.matmul, "dot": contractions.dot,
    "addmm": plus_product, "baddbmm": plus_product, "addmv": plus_product,
    "addr": lambda c, x, y, **more: plus_product(c, shaping.expand_dims(x, 1), shaping.expand_dims(y, 0), **more),
    "addbmm": lambda c, x, y, *, beta=1, alpha=1: scaled(add)(
        c if beta == 1 else multiply(c, beta), contractions.einsum("bij,bjk->ik", x, y), alpha=alpha),
    "_trilinear": three_factors, "_cdist_forward": distances, "_euclidean_dist": distances, "linalg_cross": cross_product,
    # losses
    "mse_loss": loss(lambda x, y: power(subtract(x, y), 2)), "smooth_l1_loss": loss(_quadratic_near_0),
    "huber_loss": loss(_huber),
    "binary_cross_entropy": cross_entropy_of_truths,
    "soft_margin_loss": loss(lambda x, y: UFUNCS["log1p"](exp(negative(multiply(x, y))))),
    "binary_cross_entropy_with_logits": cross_entropy_of_logits, "nll_loss_forward": negative_log_likelihood,
    "nll_loss2d_forward": negative_log_likelihood,
    # shapes
    "view": viewed, "_unsafe_view": viewed, "_reshape_alias": viewed, "permute": shaping.transpose,
    "transpose": shaping.swapaxes, "t": lambda x: shaping.transpose(x), "unsqueeze": unsqueezed, "squeeze": squeezed,
    "expand": expanded, "select": select, "slice": sliced, "split": split, "split_with_sizes": split_sizes,
    "unsafe_split": split, "unsafe_split_with_sizes": split_sizes, "unbind": unbind, "cat": concatenated,
    "stack": lambda parts, dim=0: shaping.stack(parts, dim), "flip": lambda x, dims: shaping.flip(x, tuple(dims)),
    "roll": lambda x, shifts, dims=(): shaping.roll(x, shifts, tuple(dims) or None), "repeat": repeated,
    "repeat_interleave": interleaved, "tril": creating.triangle(True), "triu": creating.triangle(False),
    "diagonal": diagonal, "diag": lambda x, k=0: diagonal_embedded(x, k) if x.ndim == 1 else functions.copied(diagonal(x, k)),
    "diag_embed": diagonal_embedded, "constant_pad_nd": padded, "unfold": unfolded,
    "pixel_shuffle": pixels_shuffled, "pixel_unshuffle": pixels_unshuffled,
    "rot90": turned, "narrow_copy": lambda x, dim, start, length: functions.copied(sliced(x, dim, start, start + length)),
    "as_strided": strided, "alias": identity, "detach": identity,
    **{name: lambda x: functions.copied(x) for name in ("lift_fresh", "lift")},
    "clone": lambda x, **_: functions.copied(x),
    "_to_copy": lambda x, **_: functions.copied(x), "copy": lambda x, y, *_: y, "fill": fill,
    "zero": lambda x: fill(x, 0), "slice_scatter": lambda x, part, *where_: part_written(sliced)(x, part, *where_),
    "select_scatter": part_written(select), "diagonal_scatter": part_written(diagonal),
    # by indices
    "index": indexed, "index_put": put_at, "_unsafe_index": indexed, "_index_put_impl": put_at, "index_add": added_at,
    "index_copy": written_at, "index_fill": written_at, "take": lambda x, index: take(x, index),
    "masked_select": lambda x, mask: taken(*shaping.broadcast_arrays(x, mask)),
    "index_select": lambda x, dim, index: take(x, index, dim), "gather": gathered, "scatter": scattered,
    "scatter_add": scattered_sum, "embedding": embedding,
    # by windows
    **torch_windows.operators(unanswered_places),
    # numbers
    "_local_scalar_dense": item,
    # what makes tensors
    "zeros": shaping.zeros, "empty": shaping.zeros, "ones": creating.ones, "full": shaping.full, "eye": creating.eye,
    "empty_strided": lambda size, stride, dtype=None: shaping.zeros(size, dtype),
    "arange": creating.arange, "scalar_tensor": lambda x, dtype=None: functions.as_type(x, dtype or float),
    "linspace": lambda start, end, steps=100, dtype=None: creating.linspace(start, end, steps, dtype=dtype),
    **{f"{name}_like": lambda x, *value, dtype=None, _create=create: _create(x.plain_shape, *value, dtype=dtype or x.dtype)
       for name, create in (("zeros", shaping.zeros), ("ones", creating.ones), ("empty", shaping.zeros),
                            ("full", shaping.full))},
    **{f"new_{name}": lambda x, size, *value, dtype=None, _create=create: _create(size, *value, dtype=dtype or x.dtype)
       for name, create in (("zeros", shaping.zeros), ("ones", creating.ones), ("empty", shaping.zeros),
                            ("full", shaping.full))},
    "new_empty_strided": lambda x, size, stride, dtype=None: shaping.zeros(size, dtype or x.dtype),
}
