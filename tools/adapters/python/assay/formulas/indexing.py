"""x[...], as a box of elements, by lists of indices, or by a mask; and assignment to these."""
from assay.formulas.plain import numpy

from assay.formulas.program import BOOLEAN, INTEGER, REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.traced import Traced, View, as_traced, constant, made, writer


def _plain_key(key):
    """A tuple of slices, integers, None, `...`, and arrays of indices or masks."""
    key = key if isinstance(key, tuple) else (key,)
    out = []
    for one in key:
        if isinstance(one, (list, tuple, range)):
            one = as_traced(list(one)) if len(one) else constant(numpy.zeros(0, numpy.int64))
        elif isinstance(one, numpy.ndarray):
            one = as_traced(one)
        if isinstance(one, slice):
            one = slice(*(None if x is None else int(x.__index__()) for x in (one.start, one.stop, one.step)))
        elif isinstance(one, Traced) and one.kind == REAL:
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        elif isinstance(one, Traced) and one.kind == INTEGER and one.ndim == 0 and one.value is not None:
            one = int(one.value)
        elif isinstance(one, (int, numpy.integer)) and not isinstance(one, (bool, numpy.bool_)):
            one = int(one)
        elif isinstance(one, (bool, numpy.bool_)):
            raise CannotTrace("an index that is one truth")
        out.append(one)
    return tuple(out)


def _expanded(x, key):
    """The key with slices in place of `...`, so that each axis has one; a mask stands for its axes."""
    count = sum(one.ndim if isinstance(one, Traced) and one.kind == BOOLEAN else 1
                for one in key if one is not None and one is not Ellipsis)
    if count > x.ndim:
        raise IndexError(f"too many indices for array: array is {x.ndim}-dimensional, but {count} were indexed")
    place = next((k for k, one in enumerate(key) if one is Ellipsis), len(key))
    return (*key[:place], *[slice(None)] * (x.ndim - count), *key[place + 1:])


def box_view(shape, key):
    """The view of basic indices."""
    ranges, dropped, out, axis = [], [], [], 0
    for one in key:
        if one is None:
            out.append(1)
            continue
        size = shape[axis]
        if isinstance(one, slice):
            ranges.append(range(*one.indices(size)))
            out.append(len(ranges[-1]))
        else:
            if not -size <= one < size:
                raise IndexError(f"index {one} is out of bounds for axis {axis} with size {size}")
            ranges.append(range(one % size, one % size + 1))
            dropped.append(axis)
        axis += 1
    def write(node, part):
        return _box_written(node, writer().reshape(part, [len(r) for r in ranges]), shape, ranges)

    return View(lambda node: writer().reshape(writer().slices(node, ranges), out),
                lambda value: value[(*key, Ellipsis)], write, out)  # an array, also of one element


def _box_written(node, part, shape, ranges):
    """The array with the elements of `part` in a box of it, of which each axis has a range."""
    to = writer()
    if 0 in [len(r) for r in ranges]:
        return node
    stepped = next((axis for axis, r in enumerate(ranges) if r.step != 1), None)
    if stepped is None:
        return to.add("update", (node, part), to.kinds[node], shape, start=[r.start for r in ranges])
    # Writes along the whole of this axis: at each position of it the old element or the new one.
    size, whole = shape[stepped], list(ranges)
    whole[stepped] = range(size)
    source = numpy.arange(size)
    source[list(ranges[stepped])] = size + numpy.arange(len(ranges[stepped]))
    both = to.concatenate([to.slices(node, whole), part], stepped)
    mixed = to.add("gather", (both, to.constant(source)), to.kinds[node], [len(r) for r in whole], axis=stepped)
    return _box_written(node, mixed, shape, whole)


def scattered_set(node, places, part):
    """The array with the elements of `part` at these places, counted through; the last of several counts."""
    to, shape = writer(), writer().shapes[node]
    size = int(numpy.prod(shape))
    source = numpy.arange(size)
    source[places] = size + numpy.arange(len(places))
    both = to.concatenate([to.reshape(node, [size]), part], 0)
    taken_nodes = to.add("gather", (both, to.constant(source)), to.kinds[node], [size], axis=0)
    return to.reshape(taken_nodes, shape)


def taken(x, key):
    key = _expanded(x, _plain_key(key))
    if not any(isinstance(one, Traced) for one in key):
        return x.viewed(box_view(x.plain_shape, key))
    # NumPy broadcasts them with the arrays.
    key = tuple(constant(one) if isinstance(one, int) else one for one in _without_masks(key))
    arrays = [k for k, one in enumerate(key) if isinstance(one, Traced)]
    # The box first, then all arrays of indices: their axes stand together, in front if others lie between them.
    before = tuple(slice(None) if isinstance(one, Traced) else one for one in key)
    axes = [k for k, one in enumerate(_kept(key)) if isinstance(one, Traced)]
    boxed = x.viewed(box_view(x.plain_shape, before))
    picks = [key[k] for k in arrays]
    if all(p.value is not None for p in picks) and x.value is not None and x.kind != REAL:
        return constant(boxed.value[tuple(_with_picks(boxed.ndim, axes, [p.value for p in picks]))])
    return _picked(boxed, axes, picks, together=axes == list(range(axes[0], axes[0] + len(axes))))


def _kept(key):
    """The keys of the axes of the box: integers vanish."""
    return [one for one in key if not isinstance(one, int)]


def _with_picks(ndim, axes, values):
    out = [slice(None)] * ndim
    for axis, value in zip(axes, values):
        out[axis] = value
    return out


def _without_masks(key):
    out = []
    for one in key:
        if isinstance(one, Traced) and one.kind == BOOLEAN:
            if one.value is None:
                raise CannotTrace("x[mask] of a mask that the inputs decide", "its size would hang on them: write "
                                  "numpy.where(mask, x, ...)")
            out += [constant(places) for places in numpy.nonzero(one.value)]
        else:
            out.append(one)
    return tuple(out)


def _wrapped(index, size):
    """The index, counted from the end where it is negative."""
    from assay.formulas import functions
    if index.value is not None:
        if index.value.size and not (-size <= index.value.min() and index.value.max() < size):
            raise IndexError(f"index out of bounds for an axis of {size}")
        return constant(index.value % max(size, 1))
    return functions.where(functions.less(index, 0), functions.add(index, size), index)


def _picked(x, axes, picks, together):
    from assay.formulas import functions
    to, shape = writer(), x.plain_shape
    index = constant(0)
    for axis, pick in zip(axes, picks):
        index = functions.add(functions.multiply(index, shape[axis]), _wrapped(pick, shape[axis]))
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    rows = int(numpy.prod([shape[axis] for axis in axes]))
    flat = to.reshape(to.transpose(x.node, [*axes, *rest]), [rows, *(shape[axis] for axis in rest)])
    own = index.plain_shape
    node = to.add("gather", (flat, index.node), x.kind, [*own, *(shape[axis] for axis in rest)], axis=0)
    value = None
    if x.value is not None and all(p.value is not None for p in picks):
        value = x.value[tuple(_with_picks(x.ndim, axes, [p.value for p in picks]))]
    if together:
        where = axes[0]
        order = list(range(len(own), len(own) + where)) + list(range(len(own))) + list(
            range(len(own) + where, len(own) + len(rest)))
        node = to.transpose(node, order)
    return made(node, value)


def put(x, key, new):
    from assay.formulas import functions
    key, new = _expanded(x, _plain_key(key)), as_traced(new)
    if new.kind != x.kind and not (new.kind == REAL and x.kind != REAL):
        new = functions.as_type(new, {"real": float, "integer": int, "boolean": bool}[x.kind])
    if new.kind == REAL and x.kind != REAL:
        raise CannotTrace("reals that are written into integers or truths", "make the array of floats")
    masks = [one for one in key if isinstance(one, Traced) and one.kind == BOOLEAN and one.ndim]
    if any(one.value is None for one in masks) or (len(masks) == 1 and _is_one_for_all(x, key, new)):
        return _put_where(x, key, new)
    key = _without_masks(key)
    if any(isinstance(one, Traced) for one in key):
        return _put_at(x, key, new)
    view = x.viewed(box_view(x.plain_shape, key))
    _write(view, new)


def _fitted(new, shape):
    """The array with the axes of its destination: NumPy leaves out leading axes."""
    own = new.plain_shape
    while len(own) > len(shape) and own[0] == 1:
        own = own[1:]
    return writer().broadcast(writer().reshape(new.node, own), shape)


def _write(view, new):
    shape = view.plain_shape
    value = None
    if new.value is not None:
        value = numpy.broadcast_to(new.value.reshape(new.plain_shape[max(new.ndim - len(shape), 0):]), shape)
    if view.kind != REAL and value is not None and view._cell.value is not None:
        old = view._cell.value.copy()
        part = old
        for one in view._views:
            part = one.read_value(part)
        part[...] = value
        view._cell.assign(None, old)
        return
    view.write(_fitted(new, shape), value)


def _is_one_for_all(x, key, new):
    """Whether x[:, mask] = y has the same y wherever the mask is true."""
    place = next(k for k, one in enumerate(key) if isinstance(one, Traced))
    whole = all(isinstance(one, slice) and one == slice(None) for k, one in enumerate(key) if k != place)
    return whole and new.ndim <= x.ndim - place - key[place].ndim


def _put_where(x, key, new):
    from assay.formulas import functions
    place = next(k for k, one in enumerate(key) if isinstance(one, Traced))
    mask = key[place]
    if any(one != slice(None) for one in key if not isinstance(one, Traced)) or len(
            [one for one in key if isinstance(one, Traced)]) > 1:
        raise CannotTrace("x[mask, ...] = y beside other indices", "write numpy.where(mask, y, x)")
    rest = x.ndim - place - mask.ndim
    if new.ndim > rest:
        raise CannotTrace("x[mask] = y of an array y", "write numpy.where(mask, y, x)")
    mask = mask[(..., *[None] * rest)]
    chosen = functions.where(mask, new, x)
    x.write(writer().broadcast(chosen.node, x.plain_shape), chosen.value)


def _put_at(x, key, new):
    if any(isinstance(one, Traced) and one.value is None for one in key):
        raise CannotTrace("x[i] = y at indices that the inputs decide", "the order of writes would count")
    numbers = tuple(one.value if isinstance(one, Traced) else one for one in key)
    places = numpy.arange(int(numpy.prod(x.plain_shape))).reshape(x.plain_shape)[numbers]
    part = writer().reshape(_fitted(new, places.shape), [places.size])
    node = scattered_set(x.node, places.ravel(), part)
    value = None
    if x.value is not None and new.value is not None:
        value = x.value.copy()
        value[numbers] = new.value
    x.write(node, value)


def take(x, indices, axis=None, **more):
    from assay.formulas import functions
    x = as_traced(x)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis % x.ndim)
    if more.get("mode", "raise") != "raise":
        raise CannotTrace(f"numpy.take of mode {more['mode']!r}", "write numpy.clip or % of the indices")
    return functions.copied(taken(x, (*[slice(None)] * axis, as_traced(indices))))


def take_along_axis(x, indices, axis=-1):
    x, indices = as_traced(x), as_traced(indices)
    axis %= x.ndim
    to = writer()
    want = [size if k == axis else max(size, other) for k, (size, other) in enumerate(zip(indices.plain_shape,
                                                                                         x.plain_shape))]
    nodes = to.broadcast(x.node, [x.plain_shape[k] if k == axis else size for k, size in enumerate(want)])
    index = to.broadcast(_wrapped(indices, x.plain_shape[axis]).node, want)
    value = None
    if x.value is not None and indices.value is not None:
        value = numpy.take_along_axis(x.value, indices.value, axis)
    return made(to.add("take_along", (nodes, index), x.kind, want, axis=axis), value)


FUNCTIONS = {"take": take, "take_along_axis": take_along_axis}
