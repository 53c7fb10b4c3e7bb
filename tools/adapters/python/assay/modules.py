"""torch modules as functions: in evaluation mode, and in the dtype of a call."""
import copy
import itertools
import weakref

from assay.signature import is_module
from assay.tensors import FLOATING

_copies = weakref.WeakKeyDictionary()


def _dtypes_within(module):
    numbers = itertools.chain(module.parameters(), module.buffers())
    return {value.dtype for value in numbers if value.is_floating_point()}


def dtypes_of_module(function):
    """The names of the dtypes that the parameters and buffers of a module have; [] of any other function."""
    if not is_module(function):
        return []
    import torch
    types = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    return [name for name in FLOATING if types[name] in _dtypes_within(function)]


def module_in(function, dtype, device):
    """A copy of a module as `module.to(device, dtype).eval()` makes it; one with numbers of several dtypes keeps them,
    and without a device each stays where it is. Any other function as it is."""
    if not is_module(function):
        return function
    copies = _copies.setdefault(function, {})
    if (dtype, device) not in copies:
        to = dtype if len(_dtypes_within(function)) == 1 else None
        copies[dtype, device] = copy.deepcopy(function).eval().to(device=device, dtype=to)
    return copies[dtype, device]
