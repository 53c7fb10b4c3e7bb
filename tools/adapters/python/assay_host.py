"""Host for candidates written in Python: speaks Assay's candidate protocol, version 1.

    from assay_host import Candidate
    candidate = Candidate("my-scan", version="1.2")

    @candidate.torch("heinsen/scan", dtypes=["f32", "f64"])
    def scan(log_p, h, s0):
        ...
        return {"s": s, "s_n": s_n}

    candidate.serve()

A function gets the inputs of the operation by name (and the attributes of the call, if any) and returns its
outputs by name. A parameter `dtype` gets that of the call as numpy or torch name it: where all inputs are integers,
nothing else says in which dtype the outputs are wanted. Needs numpy; torch is imported only for functions registered with `Candidate.torch`.
What a function prints goes to stderr. bf16 reaches numpy functions as float32 (exact), and their float32
results are rounded to bf16; torch functions get torch.bfloat16.
"""
import inspect
import json
import math
import os
import struct
import sys
import traceback

import numpy

# Names in messages, names in safetensors files, little-endian numpy types. bf16 travels as its bits.
_DTYPES = (("f64", "F64", "<f8"), ("f32", "F32", "<f4"), ("f16", "F16", "<f2"), ("bf16", "BF16", "<u2"),
           ("i64", "I64", "<i8"), ("i32", "I32", "<i4"), ("bool", "BOOL", "|b1"))
_NUMPY_TYPE = {stored: numpy.dtype(code) for _, stored, code in _DTYPES}
_STORED_NAME = {numpy.dtype(code): stored for _, stored, code in _DTYPES if stored != "BF16"}
_KNOWN = {name for name, _, _ in _DTYPES}
# What the frameworks call the dtypes of calls; bf16 is float32 to numpy functions.
_TORCH_NAME = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_NUMPY_NAME = {**_TORCH_NAME, "bf16": "float32"}


class Unsupported(Exception):
    """Raised by a function to decline a call: Assay counts it as skipped, not as failed."""


def bf16_to_f32(bits):
    """The float32 values of bf16 bit patterns (uint16); exact."""
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def f32_to_bf16(values):
    """The bf16 bit patterns (uint16) of float32 values, rounded to nearest, ties to even."""
    bits = numpy.ascontiguousarray(values, dtype=numpy.float32).view(numpy.uint32)
    # Adding just under half of the last place, or exactly half where it is odd, carries as rounding does.
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1)).astype(numpy.uint32)) >> 16
    # The carry would turn some NaNs into infinities or zeros; they become quiet NaNs instead.
    return numpy.where(numpy.isnan(values), (bits >> 16) | 0x40, rounded).astype(numpy.uint16)


def read_safetensors(path):
    """The tensors of a file by name, each as (stored name of the dtype, numpy array); bf16 as its bits."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        array = numpy.frombuffer(bytearray(data[begin:end]), dtype=_NUMPY_TYPE[entry["dtype"]])
        tensors[name] = (entry["dtype"], array.reshape(entry["shape"]))
    return tensors


def write_safetensors(path, tensors):
    """Writes what read_safetensors returns, under a temporary name first."""
    header, chunks, offset = {}, [], 0
    for name, (stored, array) in sorted(tensors.items(), key=lambda item: (-item[1][1].itemsize, item[0])):
        chunk = numpy.ascontiguousarray(array, dtype=_NUMPY_TYPE[stored]).tobytes()
        header[name] = {"dtype": stored, "shape": list(array.shape), "data_offsets": [offset, offset + len(chunk)]}
        chunks.append(chunk)
        offset += len(chunk)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".tmp", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(chunks))
    os.replace(path + ".tmp", path)


def protocol_streams():
    """Standard input and output as files of their own. From then on reads of the functions find nothing, and their
    prints go to standard error: neither disturbs the protocol."""
    streams = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return streams


def _checked(outputs):
    if not isinstance(outputs, dict):
        raise TypeError(f"the function must return a dict of outputs by name, not {type(outputs).__name__}")
    return outputs


def _asks_for_dtype(function):
    try:
        return "dtype" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a function that is not written in Python
        return False


class _NumpyFunction:
    def __init__(self, function):
        self.function = function
        self.asks_for_dtype = _asks_for_dtype(function)

    def __call__(self, inputs, attributes, dtype=None):
        if self.asks_for_dtype:
            attributes = {**attributes, "dtype": numpy.dtype(_NUMPY_NAME[dtype])}
        arrays = {name: bf16_to_f32(array) if stored == "BF16" else array for name, (stored, array) in inputs.items()}
        has_bf16 = dtype == "bf16" or any(stored == "BF16" for stored, _ in inputs.values())
        return {name: self._store(name, numpy.asarray(value), has_bf16)
                for name, value in _checked(self.function(**arrays, **attributes)).items()}

    @staticmethod
    def _store(name, array, has_bf16):
        if has_bf16 and array.dtype == numpy.float32:
            return "BF16", f32_to_bf16(array)
        if array.dtype not in _STORED_NAME:
            raise TypeError(f"output '{name}' has dtype {array.dtype}, which Assay does not know")
        # Not cast: a result of another dtype is a fault that the gate must see.
        return _STORED_NAME[array.dtype], array


class _TorchFunction:
    def __init__(self, function):
        import torch
        self.torch = torch
        self.function = function
        self.asks_for_dtype = _asks_for_dtype(function)

    def __call__(self, inputs, attributes, dtype=None):
        with self.torch.no_grad():
            return self._store(_checked(self.function(**self._load(inputs), **self._settings(attributes, dtype))))

    def _settings(self, attributes, dtype):
        if not self.asks_for_dtype:
            return attributes
        return {**attributes, "dtype": getattr(self.torch, _TORCH_NAME[dtype])}

    def vjp(self, inputs, attributes, dtype=None):
        """Gradients by autograd: inputs are those of the function and grad_<output> for every output."""
        loaded = self._load(inputs)
        cotangents = {name[len("grad_"):]: value for name, value in loaded.items() if name.startswith("grad_")}
        leaves = {name: value.requires_grad_(value.is_floating_point())
                  for name, value in loaded.items() if not name.startswith("grad_")}
        wanted = {name: value for name, value in leaves.items() if value.requires_grad}
        outputs = _checked(self.function(**leaves, **self._settings(attributes, dtype)))
        # An output that depends on no input (there are no tokens, say) takes no part.
        used = [name for name in cotangents if outputs[name].requires_grad]
        gradients = self.torch.autograd.grad([outputs[name] for name in used], list(wanted.values()),
                                             [cotangents[name] for name in used],
                                             allow_unused=True) if used and wanted else [None] * len(wanted)
        return self._store({"grad_" + name: self.torch.zeros_like(value) if gradient is None else gradient
                            for (name, value), gradient in zip(wanted.items(), gradients)})

    def _load(self, inputs):
        def load(stored, array):
            if stored == "BF16":
                return self.torch.from_numpy(array.view(numpy.int16)).view(self.torch.bfloat16)
            return self.torch.from_numpy(array)
        return {name: load(*value) for name, value in inputs.items()}

    def _store(self, outputs):
        def store(name, value):
            if not self.torch.is_tensor(value):
                raise TypeError(f"output '{name}' is no torch tensor but {type(value).__name__}")
            value = value.detach().cpu().contiguous()
            if value.dtype == self.torch.bfloat16:
                return "BF16", value.view(self.torch.int16).numpy().view(numpy.uint16)
            array = value.numpy()
            if array.dtype not in _STORED_NAME:
                raise TypeError(f"output '{name}' has dtype {value.dtype}, which Assay does not know")
            return _STORED_NAME[array.dtype], array
        return {name: store(name, value) for name, value in outputs.items()}


class Candidate:
    """A set of operations under a name. `claims` are further members of the hello, such as
    compute={"bf16": "f32"}, flush_subnormals=True, variants={"block": [32, 64]} or
    properties={"deterministic": True}."""

    def __init__(self, name, version="", **claims):
        self._hello = {"protocol": 1, "name": name, "version": str(version), "operations": {}, "domain": {}, **claims}
        self._functions = {}

    def numpy(self, operation, dtypes, domain=None):
        """Registers a function of numpy arrays. Derivatives are operations of their own: "<operation>:vjp"."""
        def register(function):
            self._add(operation, dtypes, domain, _NumpyFunction(function))
            return function
        return register

    def torch(self, operation, dtypes, domain=None, vjp=True, vjp_domain=None):
        """Registers a function of torch tensors and, unless vjp=False, its derivative by autograd.
        A domain maps input names (or "state") to "finite" or [low, high]; vjp_domain is that of the derivative."""
        def register(function):
            host = _TorchFunction(function)
            self._add(operation, dtypes, domain, host)
            if vjp:
                self._add(operation + ":vjp", dtypes, vjp_domain, host.vjp)
            return function
        return register

    @property
    def operations(self):
        """The dtypes of each operation."""
        return self._hello["operations"]

    def _add(self, operation, dtypes, domain, function):
        unknown = [name for name in dtypes if name not in _KNOWN]
        if unknown or operation in self._functions:
            raise ValueError(f"{operation}: " + (f"unknown dtypes {unknown}" if unknown else "registered twice"))
        self._functions[operation] = function
        self._hello["operations"][operation] = list(dtypes)
        if domain:
            self._hello["domain"][operation] = domain

    def answer(self, message):
        """The answer to one message of the protocol."""
        if "hello" in message:
            return {"hello": self._hello}
        answer = {"id": message["id"], "ok": False}
        try:
            if message["operation"] not in self._functions:
                raise Unsupported(f"no operation {message['operation']}")
            outputs = self._functions[message["operation"]](read_safetensors(message["inputs"]), message["attributes"],
                                                              message["dtype"])
            write_safetensors(message["outputs"], outputs)
            answer["ok"] = True
        except Unsupported as reason:
            answer.update(unsupported=True, reason=str(reason))
        except Exception as error:  # whatever the function did wrong is an answer, not the end
            traceback.print_exc()
            answer["error"] = f"{type(error).__name__}: {error}"
        return answer

    def serve(self, streams=None):
        """Answers until the requests end; `streams` are those of protocol_streams, for the program that took them."""
        if os.environ.get("ASSAY_PROTOCOL") != "1":
            sys.exit(f"{sys.argv[0]} is a candidate for Assay; run: "
                     f"assay gate --candidate 'process:{sys.executable} {sys.argv[0]}'")
        requests, answers = streams or protocol_streams()
        for line in iter(requests.readline, ""):
            answers.write(json.dumps(self.answer(json.loads(line)), allow_nan=False) + "\n")
            answers.flush()
