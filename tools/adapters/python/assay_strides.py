"""How inputs lie in memory: contiguous, or as the views that callers have: heads before tokens, one part of a wider
tensor, one component of a tensor of pairs. What lies between the elements of a view is NaN, so that code which reads it
shows; between integers, which may be indices, lie others of the same tensor."""
import numpy

STRIDES = ("transposed", "sliced", "spaced")


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
    return torch.stack([tensor, between()], -1)[..., 0]


def _swapped(rank):
    """Two axes exchanged: tokens and what follows them, such as heads; rows and columns of a matrix."""
    axes = list(range(rank))
    if rank > 1:
        axes[rank > 2], axes[1 + (rank > 2)] = axes[1 + (rank > 2)], axes[rank > 2]
    return axes
