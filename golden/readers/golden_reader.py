"""Reads safetensors files such as those of Assay's golden sets, with NumPy alone. CC0: copy it."""
import collections
import json
import math
import struct

import numpy

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "BOOL": "|b1"}
Tensor = collections.namedtuple("Tensor", "dtype values")


def read(path):
    """Returns tensors and metadata by name. bf16, which NumPy lacks, comes as float32, exactly. ValueError says what is
    wrong.

    >>> tensors, metadata = read("golden/sets/heinsen/scan-mild.bf16.safetensors")
    >>> tensors["h"].dtype, tensors["h"].values.dtype.name, tensors["h"].values.shape, metadata["operation"]
    ('BF16', 'float32', (2, 6, 2), 'heinsen/scan')
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        length = struct.unpack_from("<Q", data)[0]
        header, offset = json.loads(data[8:8 + length].decode()), 8 + length
        metadata, tensors = header.pop("__metadata__", {}), {}
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            shape, dtype, (begin, end) = entry["shape"], numpy.dtype(TYPES[entry["dtype"]]), entry["data_offsets"]
            size = math.prod(shape) * dtype.itemsize
            if min(shape, default=0) < 0 or end - begin != size or 8 + length + begin != offset:
                raise ValueError(f"the offsets of {name} do not fit its shape or its neighbours")
            offset += end - begin
            values = numpy.frombuffer(data[8 + length + begin:offset], dtype).reshape(shape)
            if entry["dtype"] == "BF16":
                values = (values.astype("<u4") << 16).view("<f4")
            tensors[name] = Tensor(entry["dtype"], values)
        if offset != len(data):
            raise ValueError("its tensors do not end where the file ends")
    except (struct.error, KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise ValueError(f"{path}: no safetensors file: {error!r}") from None
    return tensors, metadata
