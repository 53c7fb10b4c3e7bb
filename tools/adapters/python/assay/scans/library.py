"""libassay_scan through ctypes: the structures of assay_scan.h, and calls whose errors are exceptions.

The library is $ASSAY_SCAN_LIBRARY, or the one beside this package, or what the system's loader finds. A call
releases the interpreter's lock while it computes.
"""
import ctypes
import functools
import os

from assay.installed import beside

_ABI, _SONAME = 1, "libassay_scan.so.0"
DTYPES = {"float32": 1, "float64": 2, "float16": 3, "bfloat16": 4}  # ASSAY_SCAN_F32, _F64, _F16, _BF16
IN_16_BITS = ("float16", "bfloat16")  # their states are float32
_NO_MEMORY, _INTERNAL = 8, 9


class Array(ctypes.Structure):
    """assay_const_array and assay_array; Array() is an absent one."""
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("size", ctypes.c_int64 * 3), ("stride", ctypes.c_int64 * 3)]

    @classmethod
    def from_address(cls, address, dtype, sizes, strides):
        """Strides count elements; dtype is one of DTYPES."""
        return cls(address, DTYPES[dtype], len(sizes), tuple(sizes), tuple(strides))


def _structure(*names):
    class Arrays(ctypes.Structure):
        _fields_ = [(name, Array) for name in names]
    return Arrays


Inputs = _structure("decay", "h", "s0", "s0_low")
Outputs = _structure("s", "s_n", "s_n_low")
Cotangents = _structure("s", "grad_s", "grad_s_n")
Gradients = _structure("grad_decay", "grad_h", "grad_s0")
Direction = _structure("tangent_decay", "tangent_h", "tangent_s0", "tangent_s0_low")
Tangents = _structure("tangent_s", "tangent_s_n", "tangent_s_n_low")


class _Execution(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_int32), ("target", ctypes.c_char_p), ("workspace", ctypes.c_void_p),
                ("workspace_size", ctypes.c_size_t), ("message", ctypes.c_char_p), ("message_size", ctypes.c_size_t)]


def _path():
    return os.environ.get("ASSAY_SCAN_LIBRARY") or beside("lib", _SONAME) or _SONAME


@functools.lru_cache(maxsize=None)
def _library():
    path = _path()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{path} cannot be loaded, and assay.scan is computed there ({error}); the environment "
                          "variable ASSAY_SCAN_LIBRARY may name another file") from None
    if library.assay_scan_abi() != _ABI:
        raise ImportError(f"{path} has the interface {library.assay_scan_abi()}, and this module needs {_ABI}")
    library.assay_scan_target.restype = ctypes.c_char_p
    return library


def call(function, threads, target, *structures):
    """Calls a function of assay_scan.h. ValueError names the argument that the function refuses."""
    message = ctypes.create_string_buffer(400)
    on = _Execution(threads, target.encode(), None, 0, ctypes.cast(message, ctypes.c_char_p), len(message))
    code = getattr(_library(), function)(ctypes.byref(on), *map(ctypes.byref, structures))
    if code:
        kind = {_NO_MEMORY: MemoryError, _INTERNAL: RuntimeError}.get(code, ValueError)
        raise kind(message.value.decode(errors="replace"))


def targets():
    """The instruction sets of this processor, slowest first.

        >>> from assay.scans.library import targets
        >>> h = numpy.zeros((1, 3, 1))
        >>> [assay.scan(h, h, target=name)[1].round(4).tolist() for name in targets()][0]
        [[1.3863]]
    """
    names = []
    while name := _library().assay_scan_target(len(names)):
        names.append(name.decode())
    return names
