"""How inputs lie in memory: contiguous, or as the views that callers have: heads before tokens, one part of a wider
tensor, one component of a tensor of pairs. What lies between the elements of a view is NaN, so that code which reads it
shows; between integers, which may be indices, lie others of the same tensor. An expanded view has the stride 0 along
every axis whose positions have equal values, such as one row of positions for all rows of a batch."""
import numpy

STRIDES = ("transposed", "sliced", "spaced", "expanded")


def can_expand(array):
    """Whether all positions of some axis have the same values."""
    return bool(_repeated_axes(array, _same_arrays))


def numpy_view(array, strides):
    """An array of the same values."""
    def between():
        if numpy.issubdtype(array.dtype, numpy.floating):
            return numpy.full_like(array, numpy.nan)
        return numpy.roll(array, 1)
    if array.ndim == 0 or strides is None:
        return array
    if strides == "transposed":
        axes = _swapped(array.ndim)
        return numpy.ascontiguousarray(array.transpose(axes)).transpose(axes)
    if strides == "sliced":
        return numpy.concatenate([between(), array], axis=-1)[..., array.shape[-1]:]
    if strides == "expanded":
        return numpy.broadcast_to(_first_of(array, _repeated_axes(array, _same_arrays)), array.shape)
    return numpy.stack([array, between()], axis=-1)[..., 0]


def torch_view(torch, tensor, strides):
    """A tensor of the same values, through which gradients go."""
    def between():
        return torch.full_like(tensor, float("nan")) if tensor.is_floating_point() else tensor.flatten().roll(1).view(
            tensor.shape)
    if tensor.dim() == 0 or strides is None:
        return tensor
    if strides == "transposed":
        axes = _swapped(tensor.dim())
        return tensor.permute(axes).contiguous().permute(axes)
    if strides == "sliced":
        return torch.cat([between(), tensor], -1)[..., tensor.shape[-1]:]
    if strides == "expanded":
        return _expanded(torch, tensor)
    return torch.stack([tensor, between()], -1)[..., 0]


def _same_arrays(x, y):
    return (x == y).all() and (numpy.copysign(1, x) == numpy.copysign(1, y)).all()


def _first_of(array, axes):
    return array[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(array.ndim))]


def _repeated_axes(array, same):
    return [axis for axis, size in enumerate(array.shape) if size > 1 and 0 not in array.shape
            and same(array, _first_of(array, [axis]))]


def _expanded(torch, tensor):
    axes = _repeated_axes(tensor.detach(), lambda x, y: bool(((x == y) & (torch.signbit(x) == torch.signbit(y))).all()))

    class Expanded(torch.autograd.Function):
        """Each element has a gradient of its own, as those of other views have."""
        @staticmethod
        def forward(context, whole):
            return _first_of(whole, axes).clone().expand(whole.shape)

        @staticmethod
        def backward(context, gradient):
            return gradient

    return Expanded.apply(tensor)


def _swapped(rank):
    """Two axes exchanged: tokens and what follows them, such as heads; rows and columns of a matrix."""
    axes = list(range(rank))
    if rank > 1:
        axes[rank > 2], axes[1 + (rank > 2)] = axes[1 + (rank > 2)], axes[rank > 2]
    return axes
