"""The tensors of Assay's messages: dtypes, bf16, and safetensors files."""
import json
import os
import struct

import numpy

# Names in messages, names in safetensors files, little-endian numpy types. bf16 travels as its bits.
DTYPES = (("f64", "F64", "<f8"), ("f32", "F32", "<f4"), ("f16", "F16", "<f2"), ("bf16", "BF16", "<u2"),
           ("i64", "I64", "<i8"), ("i32", "I32", "<i4"), ("bool", "BOOL", "|b1"))
_NUMPY_TYPE = {stored: numpy.dtype(code) for _, stored, code in DTYPES}
STORED_NAME = {numpy.dtype(code): stored for _, stored, code in DTYPES if stored != "BF16"}
KNOWN = [name for name, _, _ in DTYPES]
FLOATING = KNOWN[:4]


def stored_of(value):
    """A tensor or array of any framework, wherever it lies, or numbers, as it stands in a file: its stored name and a
    NumPy array, bf16 as its bits. The name is None where Assay knows no such dtype."""
    if hasattr(value, "detach"):  # a tensor of torch, with or without a gradient
        value = value.detach().cpu().contiguous()
        if str(value.dtype) == "torch.bfloat16":
            return "BF16", value.view(__import__("torch").int16).numpy().view(numpy.uint16)
        value = value.numpy()
    try:
        array = numpy.asarray(value) if hasattr(value, "__array__") or not hasattr(value, "__dlpack__") else (
            numpy.from_dlpack(value))
    except Exception as reason:  # of CuPy, say: NumPy itself reads no other device than the CPU, and no bf16
        return stored_of(_by_torch(value, reason))
    if array.dtype.name == "bfloat16":  # of the package ml_dtypes, as JAX and TensorFlow have it
        return "BF16", array.view(numpy.uint16)
    return STORED_NAME.get(array.dtype.newbyteorder("<")), array


def _by_torch(value, reason):
    """A value that NumPy does not take, as a tensor of torch."""
    if not hasattr(value, "__dlpack__"):
        raise reason
    try:
        import torch
        return torch.from_dlpack(value)
    except Exception as also:
        raise TypeError(f"a {type(value).__name__} comes to the CPU neither by NumPy ({reason}) nor by torch ({also}): "
                        "return an array of NumPy") from None


def bf16_to_f32(bits):
    """The float32 values of bf16 bit patterns (uint16); exact."""
    return numpy.asarray(bits.astype(numpy.uint32) << numpy.uint32(16)).view(numpy.float32)  # one number is an array, too


def f32_to_bf16(values):
    """The bf16 bit patterns (uint16) of float32 values, rounded to nearest, ties to even."""
    bits = numpy.asarray(values, dtype=numpy.float32).view(numpy.uint32)
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
