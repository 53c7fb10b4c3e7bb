"""Convolutions, pools and other functions of windows, for torch_operators.py.

A window has positions along each axis; some may lie outside. One gather reads all windows. One element more than the
array has stands for the positions outside.
"""
from assay.formulas import contractions, functions, shaping, sums
from assay.formulas.functions import UFUNCS
from assay.formulas.indexing import take
from assay.formulas.plain import numpy
from assay.formulas.program import REAL
from assay.formulas.traced import as_traced, constant

_OUTSIDE = -1


def each_axis(x, count):
    """One number for each axis; torch takes one number for all axes, too."""
    x = [int(one) for one in x] if isinstance(x, (list, tuple)) else [int(x)]
    return x * count if len(x) == 1 else x


def _within(positions, size):
    return numpy.where((positions >= 0) & (positions < size), positions, _OUTSIDE)


def windows(x, positions, outside):
    """[..., places, elements of a window] of the last axes of x. `positions`: for each of these axes an array of places by
    elements."""
    x, count = as_traced(x), len(positions)
    shape = x.plain_shape
    lead, sizes = shape[:x.ndim - count], shape[x.ndim - count:]
    whole = int(numpy.prod(sizes))
    index, is_outside = numpy.zeros((1, 1), numpy.int64), numpy.zeros((1, 1), bool)
    for along, size in zip(positions, sizes):
        places, elements = index.shape[0] * along.shape[0], index.shape[1] * along.shape[1]
        is_outside = (is_outside[:, None, :, None] | (along == _OUTSIDE)[None, :, None, :]).reshape(places, elements)
        index = (index[:, None, :, None] * size + along[None, :, None, :]).reshape(places, elements)
    flat = shaping.reshape(x, (*lead, whole))
    if is_outside.any():
        flat = shaping.concatenate([flat, shaping.full((*lead, 1), outside, x.dtype)], -1)
        index = numpy.where(is_outside, whole, index)
    return take(flat, constant(index), len(lead))


# Convolutions.

def _read_by(size, window, stride, padding, dilation):
    places = (size + 2 * padding - dilation * (window - 1) - 1) // stride + 1
    positions = numpy.arange(places)[:, None] * stride - padding + numpy.arange(window) * dilation
    return _within(positions, size)


def _spread_by(size, window, stride, padding, dilation, more):
    """The input of a transposed convolution with stride - 1 zeros between its elements."""
    places = (size - 1) * stride - 2 * padding + dilation * (window - 1) + more + 1
    spread = numpy.arange(places)[:, None] + padding - numpy.arange(window) * dilation
    return _within(numpy.where(spread % stride == 0, spread // stride, _OUTSIDE), size)


def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """One sum over the channels of a group and the window."""
    x, weight = as_traced(x), as_traced(weight)
    count = x.ndim - 2
    sizes, window = x.plain_shape[2:], weight.plain_shape[2:]
    options = [each_axis(one, count) for one in (stride, padding, dilation, *([output_padding] if transposed else []))]
    positions = [(_spread_by if transposed else _read_by)(*each) for each in zip(sizes, window, *options)]
    batch, channels = x.plain_shape[:2]
    taken = windows(x, positions, 0.0)
    taken = shaping.reshape(taken, (batch, groups, channels // groups, *taken.plain_shape[2:]))
    in_group = "cm" if transposed else "mc"
    kernel = shaping.reshape(weight, (groups, weight.plain_shape[0] // groups, weight.plain_shape[1], -1))
    found = contractions.einsum(f"ngcpk,g{in_group}k->ngmp", taken, kernel)
    found = shaping.reshape(found, (batch, -1, *(len(along) for along in positions)))
    return found if bias is None else UFUNCS["add"](found, shaping.reshape(bias, (-1,) + (1,) * count))


# Pools.

def _pooled_places(size, window, stride, padding, dilation, ceil_mode):
    """How many windows there are: the last one may stick out where ceil_mode is set, but begins inside."""
    free = size + 2 * padding - dilation * (window - 1) - 1
    places = (-(-free // stride) if ceil_mode else free // stride) + 1
    return places - 1 if ceil_mode and (places - 1) * stride >= size + padding else places


def _pool_of(count):
    def options(x, kernel_size, stride, padding, dilation, ceil_mode):
        """(sizes, window, stride, padding, places) of each axis, and the positions."""
        sizes, window = as_traced(x).plain_shape[-count:], each_axis(kernel_size, count)
        stride = each_axis(stride, count) if stride not in (None, [], ()) else window
        padding, dilation = each_axis(padding, count), each_axis(dilation, count)
        places = [_pooled_places(*each, ceil_mode) for each in zip(sizes, window, stride, padding, dilation)]
        positions = [_within(numpy.arange(n)[:, None] * s - p + numpy.arange(w) * d, size)
                     for n, size, w, s, p, d in zip(places, sizes, window, stride, padding, dilation)]
        return list(zip(sizes, window, stride, padding, places)), positions
    return options


def _in_places(found, x, positions):
    return shaping.reshape(found, (*x.plain_shape[:x.ndim - len(positions)], *(len(along) for along in positions)))


def largest_in(count, unanswered):
    """The largest element of each window, and its place, which is refused where it is used."""
    def pool(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        x = as_traced(x)
        _, positions = _pool_of(count)(x, kernel_size, stride, padding, dilation, ceil_mode)
        return _largest_of(x, positions, unanswered)
    return pool


def _largest_of(x, positions, unanswered):
    found = _in_places(sums.largest(windows(x, positions, -float("inf")), axis=-1), x, positions)
    return found, unanswered(found.plain_shape)


def mean_in(count):
    def pool(x, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        x = as_traced(x)
        axes, positions = _pool_of(count)(x, kernel_size, stride, padding, 1, ceil_mode)
        divisors = []
        for size, window, stride_, padding_, places in axes:
            first = numpy.arange(places) * stride_ - padding_
            end = numpy.minimum(first + window, size + padding_)
            divisors.append(end - first if count_include_pad else numpy.minimum(end, size) - numpy.maximum(first, 0))
        return _mean_of(x, positions, divisors, divisor_override)
    return pool


def _mean_of(x, positions, divisors, divisor=None):
    """The sum of the elements inside, divided by `divisor`, or by the product of `divisors`: the elements that count by
    axis."""
    found = _in_places(sums.total(windows(x, positions, 0.0), axis=-1), x, positions)
    if divisor is None:
        counts = numpy.ones((), numpy.int64)
        for along in divisors:
            counts = counts[..., None] * along
        divisor = constant(counts) if (counts != counts.flat[0]).any() else int(counts.flat[0])
    return functions.divide(found, divisor)


def _parts(size, places):
    """The positions of each part of an axis of this size, and their number."""
    first = numpy.arange(places) * size // places
    counts = -(-(numpy.arange(places) + 1) * size // places) - first
    positions = first[:, None] + numpy.arange(counts.max())
    return numpy.where(positions < (first + counts)[:, None], positions, _OUTSIDE), counts


def _all_parts(x, output_size, count):
    return zip(*(_parts(size, places) for size, places in zip(x.plain_shape[-count:], each_axis(output_size, count))))


def adaptive_mean(count):
    def pool(x, output_size):
        x = as_traced(x)
        return _mean_of(x, *map(list, _all_parts(x, output_size, count)))
    return pool


def adaptive_largest(count, unanswered):
    def pool(x, output_size):
        x = as_traced(x)
        return _largest_of(x, list(_all_parts(x, output_size, count))[0], unanswered)
    return pool


# Elements picked by position.

def _picked(x, chosen):
    """For each of the last axes the positions that stand along it."""
    for axis, positions in zip(range(x.ndim - len(chosen), x.ndim), chosen):
        x = take(x, constant(positions), axis)
    return x


def nearest_elements(count):
    """upsample_nearest: torch computes the positions in f32."""
    def upsampled(x, output_size, *scales):
        x, sizes = as_traced(x), as_traced(x).plain_shape[-count:]
        scales = list(scales[0]) if scales and isinstance(scales[0], (list, tuple)) else list(scales)
        scales = scales if scales and scales[0] else [None] * count
        places = ([int(size * float(by)) for size, by in zip(sizes, scales)] if output_size is None
                  else each_axis(output_size, count))
        step = [numpy.float32(1 / float(by) if by else size / n) for size, by, n in zip(sizes, scales, places)]
        return _picked(x, [numpy.minimum(numpy.floor(numpy.arange(n, dtype=numpy.float32) * by).astype(numpy.int64), size - 1)
                           for n, by, size in zip(places, step, sizes)])
    return upsampled


def padded_by(mode):
    """"reflect" or "edge", as NumPy calls them. `widths`: two numbers an axis, the last axis first."""
    def padded(x, widths):
        x, count = as_traced(x), len(widths) // 2
        return _picked(x, [numpy.pad(numpy.arange(size), tuple(widths[2 * k:2 * k + 2]), mode)
                           for size, k in zip(x.plain_shape[-count:], range(count - 1, -1, -1))])
    return padded


def columns_of_windows(x, kernel_size, dilation, padding, stride):
    """torch.nn.functional.unfold"""
    x = as_traced(x)
    options = [each_axis(one, 2) for one in (kernel_size, stride, padding, dilation)]
    found = shaping.swapaxes(windows(x, [_read_by(*each) for each in zip(x.plain_shape[-2:], *options)],
                                     0.0 if x.kind == REAL else 0), -1, -2)
    return shaping.reshape(found, (*x.plain_shape[:-3], -1, found.plain_shape[-1]))


def operators(unanswered):
    """By ATen's names. `unanswered(name)`: what makes the refused places of a shape."""
    found = {"convolution": convolution, "im2col": columns_of_windows}
    for count in (1, 2, 3):
        found.update({f"upsample_nearest{count}d": nearest_elements(count), f"reflection_pad{count}d": padded_by("reflect"),
                      f"replication_pad{count}d": padded_by("edge")})
    for count in (2, 3):  # the operators of one axis use these
        refused_places = unanswered(f"max_pool{count}d")
        found.update({
            f"max_pool{count}d_with_indices": largest_in(count, refused_places), f"avg_pool{count}d": mean_in(count),
            f"_adaptive_avg_pool{count}d": adaptive_mean(count),
            f"adaptive_max_pool{count}d": adaptive_largest(count, refused_places)})
    return found
