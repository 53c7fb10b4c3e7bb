"""Primitives of JAX that read and write at indices."""
from assay.formulas import functions, shaping, sums
from assay.formulas.functions import add, multiply, where
from assay.formulas.indexing import put, scattered_set, take, taken
from assay.formulas.plain import numpy
from assay.formulas.program import REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.traced import constant, made, writer

_both = functions.UFUNCS["logical_and"]


def _within(start, last):
    """JAX moves a slice that would lie outside to the nearest place inside."""
    if start.value is not None:
        return constant(numpy.clip(start.value, 0, last))
    return functions.clip(start, 0, last)


def part_at(x, *starts, slice_sizes, **_):
    """dynamic_slice"""
    starts = [_within(start, size - length) for start, size, length in zip(starts, x.plain_shape, slice_sizes)]
    known = tuple(slice(None) if start.value is None else slice(int(start.value), int(start.value) + length)
                  for start, length in zip(starts, slice_sizes))
    x = x[known]
    for axis, (start, length) in enumerate(zip(starts, slice_sizes)):
        if start.value is None:
            x = take(x, add(constant(numpy.arange(length)), start), axis)
    return x


def with_part_at(x, part, *starts, **_):
    """dynamic_update_slice. Where the inputs decide a start, each element has a condition: whether it lies in the
    part."""
    lengths = part.plain_shape
    starts = [_within(start, size - length) for start, size, length in zip(starts, x.plain_shape, lengths)]
    box = tuple(slice(None) if start.value is None else slice(int(start.value), int(start.value) + length)
                for start, length in zip(starts, lengths))
    found, is_inside = functions.copied(x), constant(True)
    for axis, (start, length, size) in enumerate(zip(starts, lengths, x.plain_shape)):
        if start.value is None:
            place = functions.subtract(constant(numpy.arange(size)), start)
            part = take(part, functions.clip(place, 0, length - 1), axis)
            inside = _both(functions.less_equal(0, place), functions.less(place, length))
            is_inside = _both(is_inside, shaping.reshape(inside, [-1 if k == axis else 1 for k in range(x.ndim)]))
    put(found, box, part if is_inside.value is not None else where(is_inside, part, x[box]))
    return found


def keep_columns(indices, parts):
    """Keeps the columns of an array of indices: JAX puts i and j of x[i, j] into one, and one of them alone may be
    known."""
    indices.columns = parts


def _column(indices, k):
    parts = vars(indices).get("columns")
    return indices[..., k] if parts is None else parts[k][..., 0]


class _Places:
    """Where each window of a gather or scatter begins, and which axes of the array a window has."""

    def __init__(self, shape, indices, axes_of_starts, axes_without, batches, batches_of_indices, sizes, mode):
        self.shape, self.sizes, self.batch = shape, sizes, indices.plain_shape[:-1]
        self.kept = [k for k in range(len(shape)) if k not in axes_without and k not in batches]
        self.starts = {axis: _column(indices, k) for k, axis in enumerate(axes_of_starts)}
        for axis, batch_axis in zip(batches, batches_of_indices):
            places = shaping.reshape(constant(numpy.arange(shape[axis])),
                                     [-1 if k == batch_axis else 1 for k in range(len(self.batch))])
            self.starts[axis] = shaping.broadcast_to(places, self.batch)
        self.is_inside = constant(numpy.ones(self.batch, bool))
        self.mode = str(getattr(mode, "name", mode)).upper()
        for axis, start in self.starts.items():
            self._check(axis, start)

    def _check(self, axis, start):
        last = self.shape[axis] - self.sizes[axis]
        if start.value is not None and (start.value >= 0).all() and (start.value <= last).all() or "PROMISE" in self.mode:
            return
        self.starts[axis] = _within(start, last)
        if "FILL" in self.mode:
            self.is_inside = _both(self.is_inside, functions.equal(start, self.starts[axis]))

    def is_always_inside(self):
        return self.is_inside.value is not None and bool(self.is_inside.value.all())

    def moving(self):
        """The axes along which windows begin at other places than 0, or are not whole."""
        whole = [k for k in self.kept if self.sizes[k] == self.shape[k]]
        return [k for k in range(len(self.shape)) if k in self.starts and k not in whole]

    def indices_of(self, axes):
        """For each of these axes the places of all elements: the axes of the batch, then those of windows along them."""
        window_axes = [axis for axis in axes if axis in self.kept]
        out = []
        for axis in axes:
            start = shaping.reshape(self.starts[axis],
                                    (*self.batch, *[1] * len(window_axes))) if axis in self.starts else constant(0)
            if axis in window_axes:
                span = [self.sizes[axis] if one == axis else 1 for one in window_axes]
                start = add(start, shaping.reshape(constant(numpy.arange(self.sizes[axis])), span))
            out.append(start)
        whole = (*self.batch, *(self.sizes[axis] for axis in window_axes))
        return [shaping.broadcast_to(one, whole) for one in out], window_axes


def gathered(x, indices, *, dimension_numbers, slice_sizes, mode=None, fill_value=None, **_):
    numbers = dimension_numbers
    batches = tuple(getattr(numbers, "operand_batching_dims", ()))
    places = _Places(x.plain_shape, indices, numbers.start_index_map, numbers.collapsed_slice_dims, batches,
                     getattr(numbers, "start_indices_batching_dims", ()), slice_sizes, mode)
    axes = places.moving()
    fixed = [k for k in range(x.ndim) if k not in axes]
    x = x[tuple(slice(None) if k in axes else slice(0, size) for k, size in enumerate(slice_sizes))]
    x = shaping.transpose(x, [*axes, *fixed])
    window_axes = []
    if axes:
        keys, window_axes = places.indices_of(axes)
        x = taken(x, tuple(keys))
    else:
        x = shaping.broadcast_to(x, (*places.batch, *x.plain_shape))
    lead, dropped = len(places.batch), [k for k in fixed if k not in places.kept]
    x = shaping.squeeze(x, tuple(lead + len(window_axes) + fixed.index(k) for k in dropped)) if dropped else x
    order = [*window_axes, *(k for k in fixed if k in places.kept)]  # of the axes behind those of the batch
    x = shaping.transpose(x, [*range(lead), *(lead + order.index(k) for k in places.kept)])
    if not places.is_always_inside():
        is_inside = shaping.reshape(places.is_inside, (*places.batch, *[1] * len(places.kept)))
        outside = fill_value if fill_value is not None else float("nan") if x.kind == REAL else 0
        x = where(is_inside, x, outside)
    return shaping.moveaxis(x, tuple(range(lead, x.ndim)), tuple(numbers.offset_dims))


def _written_places(x, indices, updates, dimension_numbers, mode):
    """Where windows begin, and the updates: the axes of the batch, then those of the windows."""
    numbers = dimension_numbers
    batches = tuple(getattr(numbers, "operand_batching_dims", ()))
    windows = list(numbers.update_window_dims)
    gone = [*numbers.inserted_window_dims, *batches]
    kept = [k for k in range(x.ndim) if k not in gone]
    sizes = [1] * x.ndim
    for axis, k in zip(kept, windows):
        sizes[axis] = updates.plain_shape[k]
    places = _Places(x.plain_shape, indices, numbers.scatter_dims_to_operand_dims, numbers.inserted_window_dims, batches,
                     getattr(numbers, "scatter_indices_batching_dims", ()), sizes, mode)
    return places, shaping.transpose(updates, [*(k for k in range(updates.ndim) if k not in windows), *windows])


def _flat_places(places, x):
    """The place of each element of each window in the array, counted through."""
    keys, window_axes = places.indices_of(list(range(x.ndim)))
    flat = constant(0)
    for axis, key in enumerate(keys):
        flat = add(multiply(flat, x.plain_shape[axis]), key)
    return flat


def added_at(x, indices, updates, *, dimension_numbers, mode=None, **_):
    places, updates = _written_places(x, indices, updates, dimension_numbers, mode)
    if not places.is_always_inside():
        updates = where(shaping.reshape(places.is_inside, (*places.batch, *[1] * len(places.kept))), updates, 0)
    if x.kind != REAL:
        return _one_after_another(x, places, updates, add)
    axes = places.moving()
    if len(axes) == 1 and axes[0] not in places.kept:  # whole rows
        found = functions.copied(shaping.moveaxis(x, axes[0], 0))
        sums.scattered("add", found, places.starts[axes[0]], updates)
        return shaping.moveaxis(found, 0, axes[0])
    found = functions.copied(shaping.reshape(x, -1))
    sums.scattered("add", found, shaping.reshape(_flat_places(places, x), -1), shaping.reshape(updates, -1))
    return shaping.reshape(found, x.plain_shape)


def written_at(x, indices, updates, *, dimension_numbers, mode=None, unique_indices=False, update_jaxpr=None, **_):
    places, updates = _written_places(x, indices, updates, dimension_numbers, mode)
    if all(start.value is not None for start in places.starts.values()):
        is_inside = numpy.broadcast_to(places.is_inside.value.reshape(*places.batch, *[1] * len(places.kept)),
                                       updates.plain_shape)
        flat, part = _flat_places(places, x).value[is_inside], updates
        if not is_inside.all():
            part = shaping.reshape(part, -1)[constant(numpy.flatnonzero(is_inside))]
        if x.kind != REAL and x.value is not None and updates.value is not None:
            found = x.value.copy()
            found.reshape(-1)[flat.ravel()] = part.value.ravel()
            return constant(found)
        part = writer().reshape(writer().to_kind(part.node, x.kind), [flat.size])
        return made(scattered_set(x.node, flat.ravel(), part))
    if not unique_indices and not _are_apart(places):
        raise CannotTrace("x.at[i].set(y) at indices that the inputs decide", "the order of writes would count: "
                          "add, or say unique_indices=True")
    return _one_after_another(x, places, updates, lambda old, new: new)


def _are_apart(places):
    """Whether no two windows have the same known starts."""
    count = int(numpy.prod(places.batch))
    known = [numpy.asarray(start.value).ravel() for start in places.starts.values() if start.value is not None]
    return count <= 1 or bool(known) and len(set(zip(*(one.tolist() for one in known)))) == count


def _one_after_another(x, places, updates, operator):
    for index in numpy.ndindex(*places.batch):
        starts = [places.starts[axis][index] if axis in places.starts else constant(0) for axis in range(x.ndim)]
        old = part_at(x, *starts, slice_sizes=places.sizes)
        new = operator(old, shaping.reshape(updates[index], tuple(places.sizes)))
        if not places.is_always_inside():
            new = where(places.is_inside[index], new, old)
        x = with_part_at(x, new, *starts)
    return x


def combined_at(operator):
    def apply(x, indices, updates, *, dimension_numbers, mode=None, **_):
        return _one_after_another(x, *_written_places(x, indices, updates, dimension_numbers, mode), operator)
    return apply


OPERATORS = {
    "dynamic_slice": part_at, "dynamic_update_slice": with_part_at, "gather": gathered, "scatter": written_at,
    "scatter_add": added_at, "scatter-add": added_at,
    **{f"scatter{dash}{name}": combined_at(functions.UFUNCS[operator]) for dash in "-_" for name, operator in (
        ("mul", "multiply"), ("min", "minimum"), ("max", "maximum"), ("sub", "subtract"))},
}
