"""Functions of torch tensors as programs: the operators that torch dispatches, below autograd, are recorded by the
functions that record NumPy's (torch_operators.py). A few functions are recorded by the names that users call
(_BY_NAME)."""
import contextlib
import functools

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from assay.formulas import contractions, functions
from assay.formulas.indexing import put
from assay.formulas.plain import numpy
from assay.formulas.program import BOOLEAN, INTEGER, REAL
from assay.formulas.refusal import CannotTrace, line_of_caller
from assay.formulas.torch_complex import MAKING, Complex, is_complex, operator_of, pair
from assay.formulas.torch_operators import OPERATORS, Unanswered, attention, inverse, linear, one_hot, solved
from assay.formulas.traced import Size, Traced, as_traced, captured, constant, is_tracing, writer

FRAMEWORK = "torch"
HAS_DTYPES = True  # a function may refuse some
_FLOATS = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
_TYPES = {name: dtype for dtype, name in _FLOATS.items()}
_RANDOM = ("rand", "randn", "randint", "randperm", "normal", "uniform", "bernoulli", "multinomial", "native_dropout",
           "exponential", "random", "dropout", "_fused_dropout")
_CREATING = ("zeros", "empty", "ones", "full", "eye", "arange", "scalar_tensor", "linspace", "empty_strided")
_SHAPING = ("squeeze", "unsqueeze", "view", "_unsafe_view", "reshape", "detach", "alias", "transpose", "permute", "t")
_ORDERS = ("sort", "topk", "kthvalue", "median", "nanmedian", "mode", "cummax", "cummin", "unique_consecutive", "_unique2")
_PLACEMENT = ("layout", "device", "pin_memory", "memory_format", "non_blocking", "generator", "names")


def _strides(array):
    """The strides of a view: reshape() and contiguous() depend on them."""
    if not isinstance(array, Traced) or not array._views:
        return None
    plain = numpy.empty(array._cell.shape, numpy.bool_)
    for view in array._views:
        plain = view.read_value(plain)
    return plain.strides


class TracedTensor(torch.Tensor):
    """A tensor whose numbers are an array that records (assay/formulas/traced.py)."""

    @staticmethod
    def __new__(cls, array, dtype):
        made = torch.Tensor._make_wrapper_subclass(cls, array.plain_shape, strides=_strides(array), dtype=dtype)
        made._array = array
        return made

    @property
    def array(self):
        if isinstance(self._array, Unanswered):
            raise CannotTrace(self._array.what, self._array.instead)
        return self._array

    @property
    def shape(self):
        return torch.Size(map(Size, self._array.plain_shape))

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def __repr__(self, **_):
        return f"<traced tensor {list(self._array.plain_shape)} of {self.dtype}>"

    def __len__(self):
        return len(self._array)

    def __format__(self, format_spec):
        return format(self._array, format_spec)

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), more=None):
        name = getattr(function, "__name__", "")
        if name in _BY_NAME and is_tracing():
            more = dict(more or {})
            out = more.pop("out", None)
            with _kept_refusal():
                found = _result(name, _BY_NAME[name], arguments, more)
                return found if out is None else _write(out, found.array)
        return super().__torch_function__(function, types, arguments, more or {})

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), more=None):
        if not is_tracing():
            raise CannotTrace("a tensor that an earlier trace made", "the function keeps it, in a cache or a global")
        return dispatched(function, arguments, dict(more or {}))


_refusals = []  # of the function that is traced: torch may raise another TypeError in their place


@contextlib.contextmanager
def _kept_refusal():
    try:
        yield
    except CannotTrace as refusal:
        _refusals.append(refusal)
        raise


class Recording(TorchDispatchMode):
    """While a function is traced: records operators that take no traced tensor, such as torch.zeros."""

    def __torch_dispatch__(self, function, types, arguments=(), more=None):
        with _kept_refusal():
            return dispatched(function, arguments, dict(more or {}))


def array_of(tensor):
    """The array behind a tensor. A tensor that the function did not make is captured."""
    if isinstance(tensor, TracedTensor):
        return tensor.array
    known = writer().foreign
    if id(tensor) not in known:
        plain = _plain(tensor)
        if plain.dtype.kind == "c":
            array = Complex(captured(plain.real.astype(float)), captured(plain.imag.astype(float)))
        elif plain.dtype.kind == "f" and not plain.ndim:
            array = as_traced(plain.item())
        else:
            array = captured(plain) if plain.dtype.kind == "f" else constant(plain)
        known[id(tensor)] = tensor, array
    return known[id(tensor)][1]


def _plain(tensor):
    with torch.no_grad():
        tensor = tensor.detach().cpu().resolve_conj()
        return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def _mapped(change, x):
    if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size):
        return type(x)(_mapped(change, one) for one in x) if type(x) in (list, tuple) else [_mapped(change, one) for one in x]
    return change(x)


def _array_argument(x):
    if isinstance(x, torch.Tensor):
        return array_of(x)
    if type(x) is float:  # C++ may have passed on the double of an exact expression
        return writer().exact.get(x, x)
    return x


def _tensors_in(x):
    if isinstance(x, (list, tuple)):
        for one in x:
            yield from _tensors_in(one)
    elif isinstance(x, torch.Tensor):
        yield x


def _is_of_kind(dtype, kind):
    if kind == REAL:
        return dtype in _FLOATS
    return dtype == torch.bool if kind == BOOLEAN else not (dtype in _FLOATS or dtype == torch.bool or dtype.is_complex)


def _promoted(given, kind):
    """The dtype to which torch promotes: a tensor without axes counts only if no other is of this kind."""
    fitting = [x for x in given if _is_of_kind(x.dtype, kind)]
    found = None
    for x in [x for x in fitting if x.dim()] or fitting:
        found = x.dtype if found is None else torch.promote_types(found, x.dtype)
    if found is None and kind == REAL and (parts := [x.dtype for x in given if x.dtype.is_complex]):
        return torch.float64 if torch.complex128 in parts else torch.float32
    return found or (torch.get_default_dtype() if kind == REAL else torch.int64)


def _complex_type(given):
    found = [x.dtype for x in given if x.dtype.is_complex]
    if found:
        return functools.reduce(torch.promote_types, found)
    return torch.complex128 if _promoted(given, REAL) == torch.float64 else torch.complex64


def _numpy_type(dtype):
    if dtype in _FLOATS:
        return numpy.dtype({"bf16": "f4"}.get(_FLOATS[dtype], f"f{torch.finfo(dtype).bits // 8}"))
    if dtype.is_complex or getattr(dtype, "is_quantized", False) or "float8" in str(dtype):
        raise CannotTrace(f"tensors of {dtype}")
    return numpy.dtype(bool if dtype == torch.bool else numpy.int64)


def _note_cast(dtype):
    """Records that the function casts to this dtype."""
    if dtype in _FLOATS:
        writer().casts_to_named(_FLOATS[dtype])


def _wrapped(found, given, dtype):
    if isinstance(found, (list, tuple)):
        return type(found)(_wrapped(one, given, dtype) for one in found)
    if isinstance(found, Unanswered):
        return TracedTensor(found, torch.int64)
    if isinstance(found, Complex):
        return TracedTensor(found, _complex_type(given))
    if not isinstance(found, Traced):
        return found  # a number, such as that of item()
    if dtype is None or not _is_of_kind(dtype, found.kind):
        dtype = torch.bool if found.kind == BOOLEAN else _promoted(given, found.kind)
    return TracedTensor(found, dtype)


def _shares(x, y):
    if isinstance(x, Complex) and isinstance(y, Complex):
        return _shares(x.real, y.real)
    return isinstance(x, Traced) and isinstance(y, Traced) and x._cell is y._cell


def _write(tensor, found):
    if not isinstance(tensor, TracedTensor) or any(_shares(tensor.array, array) for _, array in writer().foreign.values()):
        raise CannotTrace("a tensor that is written to and was not made by the function",
                          "its result would hang on the calls before")
    _note_cast(tensor.dtype)
    if isinstance(tensor.array, Complex):
        for part, new in zip(pair(tensor.array), pair(found)):
            put(part, Ellipsis, new)
    else:
        put(tensor.array, Ellipsis, found)
    return tensor


def dispatched(function, arguments, more):
    name = function._overloadpacket.__name__
    out = more.pop("out", None)
    is_in_place = name.endswith("_") and not name.startswith("__") and name != "_"
    base = name[:-1] if is_in_place else name
    if base in _RANDOM or base.removesuffix("_like") in _RANDOM:
        raise CannotTrace("random numbers", "a formula has one value for its inputs; dropout is none in evaluation mode")
    if is_in_place and base in ("squeeze", "unsqueeze", "transpose", "t", "swapaxes", "swapdims", "resize", "set",
                                "as_strided"):
        raise CannotTrace(f"{name}()", f"write the result of {base}()")
    operator = OPERATORS.get(base) or MAKING.get(base)
    if operator is None and not any(x.dtype.is_complex for x in _tensors_in(arguments)):
        return _computed_by_torch(function, base, arguments, more)
    found = _result(base, operator, arguments, more)
    if is_in_place:
        return _write(arguments[0], found.array if isinstance(found, TracedTensor) else found)
    return found if out is None else _write(out, found.array)


def _result(name, operator, arguments, more):
    dtype = more.pop("dtype", None)
    given = list(_tensors_in([arguments, list(more.values())]))
    if name in _SHAPING and isinstance(getattr(arguments[0], "_array", None), Unanswered):
        return _wrapped(_still_unanswered(operator, *arguments, **more), given, dtype)
    more = {word: _mapped(_array_argument, x) for word, x in more.items() if word not in _PLACEMENT}
    if dtype is not None:
        _note_cast(dtype)
    if name in _CREATING or name.startswith("new_") or name.endswith("_like"):
        dtype = dtype or (given[0].dtype if given and name not in _CREATING else None)
        more["dtype"] = None if dtype is None else _numpy_type(dtype)
        return _wrapped(operator(*_mapped(_array_argument, arguments), **more), given, dtype)
    arrays = _mapped(_array_argument, arguments)
    if is_complex(arrays):
        return _wrapped(operator_of(name, operator)(*arrays, **more), given, dtype)
    found = operator(*arrays, **more)
    if dtype is not None and isinstance(found, Traced):
        found = functions.as_type(found, _numpy_type(dtype))
    return _wrapped(found, given, dtype)


def _still_unanswered(operator, x, *arguments, **more):
    """An unanswered result in another shape."""
    shape = operator(constant(numpy.zeros(x._array.plain_shape, numpy.int64)), *arguments, **more).plain_shape
    return Unanswered(x._array.what, x._array.instead, shape)


def _computed_by_torch(function, name, arguments, more):
    """An operator that torch computes on known integers and truths: the result is exact, so it need not be traced."""
    def plain(x):
        if isinstance(x, TracedTensor):
            array = x.array
            return None if array.value is None or array.kind == REAL else torch.from_numpy(numpy.ascontiguousarray(array.value))
        return x
    tensors = list(_tensors_in([arguments, list(more.values())]))
    if name in _ORDERS and any(plain(x) is None for x in tensors):
        raise CannotTrace(f"torch.{name} of numbers that the inputs decide", "equal numbers have no order")
    if any(plain(x) is None or x.is_floating_point() for x in tensors):
        raise CannotTrace(f"torch.{name} is not traced")
    found = function(*_mapped(plain, arguments), **{word: _mapped(plain, x) for word, x in more.items()})
    if any(x.is_floating_point() or x.is_complex() for x in _tensors_in(found)):
        raise CannotTrace(f"torch.{name} is not traced")
    return _mapped(lambda x: TracedTensor(constant(x.numpy()), x.dtype) if isinstance(x, torch.Tensor) else x, found)


def _refused(what, instead=""):
    def refuse(*_, **__):
        raise CannotTrace(what, instead)
    return refuse


_LEAVES = "what leaves torch is not traced"
_BY_NAME = {
    "matmul": contractions.matmul, "__matmul__": contractions.matmul, "__rmatmul__": lambda y, x: contractions.matmul(x, y),
    "linear": linear, "linalg_solve": solved, "linalg_inv": inverse, "inverse": inverse, "one_hot": one_hot,
    "scaled_dot_product_attention": attention, "_scaled_dot_product_attention": attention,
    "item": lambda x: x.item(), "tolist": lambda x: x.tolist(), "__bool__": bool, "__int__": int, "__float__": float,
    "__index__": lambda x: x.__index__(), "numpy": _refused("numpy()", _LEAVES),
    "__array__": _refused("an array of numbers", _LEAVES),
    "data_ptr": _refused("data_ptr()", "a kernel cannot be traced: a formula is written in torch's own operators"),
    "backward": _refused("backward()", "the gradient of a formula is taken of the formula"),
}


def _einsum(equation, *operands, **more):
    if not isinstance(equation, str):
        raise CannotTrace("torch.einsum of lists of axes", "write the letters")
    operands = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return contractions.einsum(equation, *operands, **more)


_BY_NAME["einsum"] = _einsum


@contextlib.contextmanager
def default_dtype(dtype):
    """Within the block tensors made without a dtype have this one; f32 if it has 16 bits."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype if dtype in (torch.float32, torch.float64) else torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def recorded(function, given, settings, narrowest):
    """The outputs by name, of traced inputs. `narrowest`: the float that inputs seem to be of."""
    floats = _TYPES[narrowest]
    types = {REAL: floats, INTEGER: torch.int64, BOOLEAN: torch.bool}
    tensors = {name: TracedTensor(array, types[array.kind]) for name, array in given.items()}
    with default_dtype(floats), torch.no_grad(), Recording():
        _refusals.clear()
        try:
            found = function(**tensors, **settings)
        except TypeError as error:
            raise _refusals[-1] if _refusals else error
        return {name: array_of(x) if isinstance(x, torch.Tensor) else as_traced(x) for name, x in named_outputs(found).items()}


def named_outputs(found):
    """The parts of what a function returned, by name. A part that is None is left out."""
    if isinstance(found, dict):
        return {str(name): x for name, x in found.items() if x is not None}
    if isinstance(found, (tuple, list)):
        parts = [x for x in found if x is not None]
        return {"y": parts[0]} if len(parts) == 1 else {f"y{k}": x for k, x in enumerate(parts)}
    return {} if found is None else {"y": found}


def run(function, arrays, settings, narrowest):
    """The outputs of the function itself. Inputs and outputs are arrays of NumPy."""
    floats = _TYPES[narrowest]

    def tensor(array):
        made = torch.from_numpy(numpy.array(array))
        return made.to(floats) if made.is_floating_point() else made
    with default_dtype(floats), torch.no_grad():
        found = function(**{name: tensor(array) for name, array in arrays.items()}, **settings)
        return {name: _plain(torch.as_tensor(x)) for name, x in named_outputs(found).items()}


def outputs_in(dtype, function, arguments, named):
    """The outputs as tensors, through which gradients go."""
    with default_dtype(dtype):
        return {name: torch.as_tensor(y).to(dtype) for name, y in named_outputs(function(*arguments, **named)).items()}


class _FirstNan(TorchDispatchMode):
    """Finds the operator that first makes a NaN of numbers that are no NaN."""

    def __init__(self):
        super().__init__()
        self.found = None

    def __torch_dispatch__(self, function, types, arguments=(), more=None):
        result = function(*arguments, **(more or {}))
        if self.found is None and _has_nan(result) and not _has_nan([arguments, list((more or {}).values())]):
            path, line = line_of_caller()
            self.found = f"NaN in {function._overloadpacket.__name__.strip('_')} at {path}:{line}"
        return result


def _has_nan(x):
    return any(one.is_floating_point() and bool(one.isnan().any()) for one in _tensors_in(x))


def where_nan_begins(function, arrays, settings, narrowest):
    """"NaN in log at reference.py:12"; None where there is none."""
    mode = _FirstNan()
    with mode:
        run(function, arrays, settings, narrowest)
    return mode.found
