"""A safetensors file as arrays of doubles, and numbers rounded to its formats."""

import json
import math
import struct

import numpy

from mpmath.libmp import fnan, finf, fninf

FORMATS = {  # precision, exponent of the smallest subnormal, largest finite number
    "F64": (53, -1074, float.fromhex("0x1.fffffffffffffp+1023")),
    "F32": (24, -149, float.fromhex("0x1.fffffep+127")),
    "F16": (11, -24, 65504.0),
    "BF16": (8, -133, float.fromhex("0x1.fep+127")),
}
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4}


def doubles(dtype, data):
    """The numbers as doubles, exactly. ValueError for an integer that is no double."""
    if dtype == "BF16":
        return (numpy.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").astype("f8")
    values = numpy.frombuffer(data, {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}[dtype])
    out = values.astype("f8")
    if dtype[0] == "I" and not (out.astype(values.dtype) == values).all():
        raise ValueError("an integer that is no double")
    return out


def read(path):
    """{name: (dtype, array of doubles)} and the metadata."""
    with open(path, "rb") as file:
        data = file.read()
    length, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    data = data[8 + length:]
    metadata = header.pop("__metadata__", {})
    out, offset = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        if begin != offset or end - begin != SIZES[entry["dtype"]] * math.prod(entry["shape"]) or end > len(data):
            raise ValueError(f"{path}: the bytes of {name} are not where they should be")
        out[name] = entry["dtype"], doubles(entry["dtype"], data[begin:end]).reshape(entry["shape"])
        offset = end
    if offset != len(data):
        raise ValueError(f"{path}: bytes after the last tensor")
    return out, metadata


def nearest(x, dtype, side):
    """The number of `dtype` nearest to x, as a double; ties to even. `side` is the sign of what x lacks."""
    sign, man, exp, bits = x
    if not man:
        return {fnan: math.nan, finf: math.inf, fninf: -math.inf}.get(x, 0.0)
    precision, smallest, largest = FORMATS[dtype]
    quantum = max(exp + bits - precision, smallest)
    dropped = quantum - exp
    if dropped > bits + 1:
        return 0.0
    if dropped <= 0:
        out = int(man) << -dropped
    else:
        out, rest, half = int(man >> dropped), man & ((1 << dropped) - 1), 1 << (dropped - 1)
        outwards = -side if sign else side
        out += rest > half or (rest == half and (outwards > 0 or (outwards == 0 and out % 2 == 1)))
    if quantum + out.bit_length() > 1100:
        out = math.inf
    else:
        out = math.ldexp(out, quantum) if quantum + out.bit_length() <= 1024 else math.inf
        out = out if out <= largest else math.inf
    return -out if sign else out


def rounded(x, dtype):
    """The double that every number inside the interval rounds to, None where they round differently."""
    if dtype[0] == "I":
        return float(int(x.lo[1]) << x.lo[2]) * (-1 if x.lo[0] else 1) if x.is_point and x.lo[2] >= 0 else None
    side = 1 if x.open else 0
    low = nearest(x.lo, dtype, side)
    high = nearest(x.hi, dtype, -side)
    return low if low == high or (math.isnan(low) and math.isnan(high)) else None
