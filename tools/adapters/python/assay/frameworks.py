"""Calls of functions of NumPy arrays and of torch tensors with the tensors of a message, (stored name, array) each."""
import contextlib
import sys

import numpy

from assay.devices import device_named, wait_for
from assay.signature import named_parameters, takes
from assay.strides import numpy_view, torch_view
from assay.tensors import KNOWN, STORED_NAME, bf16_to_f32, f32_to_bf16, stored_of


class InputOverwritten(Exception):
    """The function changed an input in place."""


@contextlib.contextmanager
def _inputs_kept(given, array_of):
    """An error unless the body leaves the values as they are."""
    def content(value):
        return tuple(value.shape), array_of(value).tobytes()
    before = {name: content(value) for name, value in given.items()}
    yield
    changed = [f"'{name}'" for name, value in given.items() if content(value) != before[name]]
    if changed:
        raise InputOverwritten(f"the function overwrote its input{'s' * (len(changed) > 1)} {' and '.join(changed)} in "
                               "place: the caller's own data is changed after the call; change a copy")


def is_of_numbers(value):
    """Whether a value is a number of Python, or a list of such: they have no dtype of their own."""
    if isinstance(value, (list, tuple)):
        return all(map(is_of_numbers, value))
    return type(value) in (bool, int, float)


def _array(name, value, dtype, float_type):
    """The stored name and the array of an output that is no torch tensor of a torch function."""
    try:
        stored, array = stored_of(value)
    except ValueError:
        if not isinstance(value, (list, tuple)):
            raise
        raise _no_tensor(name, value) from None
    if is_of_numbers(value) and array.dtype == numpy.float64:
        array = array.astype(float_type)
        stored = STORED_NAME[array.dtype]
    if dtype == "bf16" and stored == "F32":
        return "BF16", f32_to_bf16(array)
    if stored is None:
        raise TypeError(f"output '{name}' is of type {type(value).__name__}, of which NumPy makes no array of numbers"
                        if array.dtype == object else
                        f"output '{name}' has dtype {array.dtype}, which Assay does not know: known are {', '.join(KNOWN)}")
    # Not cast: a result of another dtype is a fault that the gate must see.
    return stored, array


def _no_tensor(name, value):
    return TypeError(f"output '{name}' is a {type(value).__name__} of {len(value)} values, no tensor: join them to one")


def _checked(outputs):
    if not isinstance(outputs, dict):
        raise TypeError(f"the function must return a dict of outputs by name, not {type(outputs).__name__}")
    return outputs


def _taken(function, attributes):
    """The settings that the function has parameters for. The others have their standard values: the hello lists the
    parameters (Candidate._add), so no other value is requested."""
    known = named_parameters(function)
    return attributes if known is None else {name: value for name, value in attributes.items() if name in known}


# bf16 is f32 in NumPy.
_NUMPY_TYPES = {"f64": numpy.float64, "f32": numpy.float32, "f16": numpy.float16, "bf16": numpy.float32}


class NumpyFunction:
    def __init__(self, function):
        self.function = function
        self.takes_dtype = takes(function, "dtype")

    def __call__(self, inputs, attributes, dtype, strides=None):
        arrays = {name: numpy_view(bf16_to_f32(array) if stored == "BF16" else array, strides)
                  for name, (stored, array) in inputs.items()}
        dtype_argument = {"dtype": _NUMPY_TYPES[dtype]} if self.takes_dtype else {}
        with _inputs_kept(arrays, lambda array: array):
            outputs = _checked(self.function(**arrays, **_taken(self.function, attributes), **dtype_argument))
        stored_as = "bf16" if any(stored == "BF16" for stored, _ in inputs.values()) else dtype
        return {name: _array(name, value, stored_as, _NUMPY_TYPES[dtype]) for name, value in outputs.items()}


_NO_AUTOGRAD = "declare vjp=False, or give the derivative's function as vjp"


class TorchFunction:
    """`device`: where the inputs lie when the function is called, as torch names it, such as "cuda:1"."""

    def __init__(self, function, device=None):
        try:
            import torch
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise ModuleNotFoundError(f"functions of torch tensors need torch, which {sys.executable} does not have: install "
                                      "it there", name="torch") from None
        self.torch = torch
        self.device = device_named(torch, device or "cpu")
        self.function = function
        self.types = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
        self.takes_dtype = takes(function, "dtype")

    def __call__(self, inputs, attributes, dtype, strides=None):
        with self.torch.no_grad():
            given = {name: self._view(value, strides) for name, value in self._load(inputs).items()}
            return self._store(self._call(given, attributes, dtype), dtype)

    def vjp(self, inputs, attributes, dtype, strides=None):
        """Gradients by autograd: inputs are those of the function and grad_<output> for every output."""
        loaded = self._load(inputs)
        cotangents = {name[len("grad_"):]: self._view(value, strides)
                      for name, value in loaded.items() if name.startswith("grad_")}
        leaves = {name: value.requires_grad_(value.is_floating_point())
                  for name, value in loaded.items() if not name.startswith("grad_")}
        wanted = {name: value for name, value in leaves.items() if value.requires_grad}
        # Copies: torch refuses to overwrite a leaf in words that name no input.
        given = {name: self._view(value.clone() if name in wanted else value, strides)
                 for name, value in leaves.items()}
        try:
            outputs = self._call(given, attributes, dtype)
        except RuntimeError as error:
            if "requires grad" not in str(error):
                raise
            raise TypeError(f"autograd cannot differentiate the function: {_NO_AUTOGRAD}: {error}") from error
        # An output that depends on no input (there are no tokens, say) takes no part.
        used = [name for name in cotangents if self._differentiable(name, outputs, cotangents[name]).requires_grad]
        gradients = self.torch.autograd.grad([outputs[name] for name in used], list(wanted.values()),
                                             [cotangents[name] for name in used],
                                             allow_unused=True) if used and wanted else [None] * len(wanted)
        if not used and wanted:
            self._check_that_nothing_matters(
                leaves, lambda values: self._call({name: self._view(value.detach().clone(), strides)
                                                   for name, value in values.items()}, attributes, dtype))
        return self._store({"grad_" + name: self.torch.zeros_like(value) if gradient is None else gradient
                            for (name, value), gradient in zip(wanted.items(), gradients)}, dtype)

    def _check_that_nothing_matters(self, inputs, call):
        """An error where an output changes with an input, although autograd knows a path from no output to any. A part
        that is detached, as published chunks are, has gradients of 0, which are judged. Half of an input lies in most
        domains; where the function does not take it, nothing is said."""
        def content(values):
            outputs = call(values)
            return {name: stored_of(outputs[name])[1].tobytes() for name in outputs}
        with self.torch.no_grad():
            before = content(inputs)
            if content(inputs) != before:  # by chance: what changes tells nothing
                return
            for name, value in inputs.items():
                if not value.is_floating_point() or not value.numel():
                    continue
                try:
                    after = content({**inputs, name: value.detach() / 2})
                except Exception:  # whatever the function raises
                    continue
                for output in before:
                    if after.get(output) != before[output]:
                        raise TypeError(f"autograd finds no path from {output} to {name}: is the result detached, or "
                                        f"computed outside torch? Else {_NO_AUTOGRAD}")

    def _call(self, tensors, attributes, dtype):
        dtype_argument = {"dtype": self.types[dtype]} if self.takes_dtype else {}
        with _inputs_kept(tensors, lambda tensor: stored_of(tensor)[1]):
            return _checked(self.function(**tensors, **_taken(self.function, attributes), **dtype_argument))

    def _differentiable(self, name, outputs, cotangent):
        value = outputs.get(name)
        if not self.torch.is_tensor(value):
            raise TypeError(f"output '{name}' is no torch tensor but {type(value).__name__}, which autograd cannot "
                            f"differentiate: {_NO_AUTOGRAD}")
        if value.shape != cotangent.shape:
            raise TypeError(f"output '{name}' must have the shape {list(cotangent.shape)} but has {list(value.shape)}")
        return value

    def _view(self, tensor, strides):
        return torch_view(self.torch, tensor, strides)

    def _load(self, inputs):
        def load(stored, array):
            if stored == "BF16":
                return self.torch.from_numpy(array.view(numpy.int16)).view(self.torch.bfloat16)
            return self.torch.from_numpy(array)
        return {name: load(*value).to(self.device) for name, value in inputs.items()}

    def _store(self, outputs, dtype):
        def store(name, value):
            if isinstance(value, (list, tuple)) and not is_of_numbers(value):
                raise _no_tensor(name, value)
            if not self.torch.is_tensor(value):
                return _array(name, value, dtype, _NUMPY_TYPES[dtype])
            stored, array = stored_of(value)
            if stored is None:
                raise TypeError(f"output '{name}' has dtype {value.dtype}, which Assay does not know: known are "
                                f"{', '.join(KNOWN)}")
            return stored, array
        wait_for(self.torch, self.device)  # also for what runs beside the stream that copies wait for
        return {name: store(name, value) for name, value in outputs.items()}
