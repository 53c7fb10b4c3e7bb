"""The log-linear recurrence [Heinsen 2024, eqs. (1), (3)] for NumPy arrays and PyTorch tensors on the CPU.

    import assay
    s, s_n = assay.scan(log_p, h, s0)        # s_i = log(e^(log_p_i + s_{i-1}) + e^(h_i)), i = 1..n
    s, s_n = assay.gated_scan(g, h, s0)      # the same with log_p = log sigmoid(g)
    s_n.sum().backward()                     # of tensors: the gradients in log_p (or g), h and s0
    tangent_s, tangent_s_n = assay.scan_jvp(log_p, h, s0, tangent_log_p, tangent_h, tangent_s0)   # also gated_scan_jvp

log_p, g and h are [B, n, d] and s0 is [B, d] (None: zeros), all float32 or all float64, with any strides and possibly
empty axes. Or log_p, g, h and s are float16 or bfloat16: then the states s0, s_n and low are float32, in which all is
computed, and s is rounded once. The domain is log_p <= 0 or -inf, h and s0 finite or -inf; a NaN stays in its
sequence and feature, from its token on. Results are s [B, n, d] and the last state s_n [B, d]. Their error
does not grow with n (assay_scan.h has the figures), and their bits do not depend on the number of threads. A sequence
may come in chunks:

    s, s_n, low = assay.scan(log_p, h, s0, low=True)
    more, s_n, low = assay.scan(more_log_p, more_h, s_n, low, low=True)   # the bits of one call over both

The state is kept in two numbers: low is the part of it that s_n lacks. Autograd follows s and s_n, not low.

Derivatives along a direction (float32 and float64) take tangents of the shapes of the inputs; that of s0 may be None,
for zeros. scan and gated_scan of dual tensors (torch.autograd.forward_ad) have the same.

Computed by libassay_scan (assay_scan.h), with no lock of Python held. Arrays with negative or odd strides are copied.
"""
import sys

from assay.scans.calls import call_forward, call_jvp, check_all, dtype_of_states
from assay.scans.library import Array

__all__ = ["gated_scan", "gated_scan_jvp", "scan", "scan_jvp"]


def scan(log_p, h, s0=None, s0_low=None, *, low=False, threads=None, target="best"):
    """(s, s_n), or (s, s_n, s_n_low) where `low`. `threads` is torch's number for tensors, one per processor for
    arrays, unless it is given; `target` is an instruction set (assay.scans.library.targets()). A wrong argument is a
    TypeError or a ValueError that begins with its name.

        >>> log_p, h = numpy.log(numpy.full((1, 4, 1), 0.5)), numpy.zeros((1, 4, 1))
        >>> s, s_n, low = assay.scan(log_p[:, :3], h[:, :3], low=True)
        >>> more, s_n = assay.scan(log_p[:, 3:], h[:, 3:], s_n, low)  # the next chunk
        >>> print(s.round(4).ravel(), more.round(4).ravel(), s_n.round(4).ravel())
        [0.4055 0.5596 0.6286] [0.6614] [0.6614]
    """
    return _scan(False, {"log_p": log_p, "h": h, "s0": s0, "s0_low": s0_low}, low, threads, target)


def gated_scan(g, h, s0=None, s0_low=None, *, low=False, threads=None, target="best"):
    """The same as scan, with log_p = log sigmoid(g).

        >>> g, h = numpy.zeros((1, 3, 1), "float32"), numpy.zeros((1, 3, 1), "float32")
        >>> s, s_n = assay.gated_scan(g, h)
        >>> print(s.round(4).ravel(), s_n.round(4).ravel())
        [0.4055 0.5596 0.6286] [0.6286]
    """
    return _scan(True, {"g": g, "h": h, "s0": s0, "s0_low": s0_low}, low, threads, target)


def scan_jvp(log_p, h, s0, tangent_log_p, tangent_h, tangent_s0, *, threads=None, target="best"):
    """(tangent_s, tangent_s_n), the derivative of (s, s_n) along the tangents; s0 and tangent_s0 may be None, for
    zeros. Autograd does not follow it.

        >>> log_p, h = numpy.log(numpy.full((1, 3, 1), 0.5)), numpy.zeros((1, 3, 1))
        >>> tangent_s, tangent_s_n = assay.scan_jvp(log_p, h, None, numpy.ones_like(log_p), numpy.zeros_like(h), None)
        >>> print(tangent_s.round(4).ravel())
        [0.3333 0.5714 0.7333]
    """
    given = {"log_p": log_p, "h": h, "s0": s0, "tangent_log_p": tangent_log_p, "tangent_h": tangent_h,
             "tangent_s0": tangent_s0}
    return _scan_jvp(False, given, threads, target)


def gated_scan_jvp(g, h, s0, tangent_g, tangent_h, tangent_s0, *, threads=None, target="best"):
    """The same as scan_jvp, with log_p = log sigmoid(g).

        >>> g, h = numpy.zeros((1, 3, 1)), numpy.zeros((1, 3, 1))
        >>> tangent_s, tangent_s_n = assay.gated_scan_jvp(g, h, None, numpy.ones_like(g), numpy.zeros_like(h), None)
        >>> print(tangent_s.round(4).ravel())
        [0.1667 0.2857 0.3667]
    """
    given = {"g": g, "h": h, "s0": s0, "tangent_g": tangent_g, "tangent_h": tangent_h, "tangent_s0": tangent_s0}
    return _scan_jvp(True, given, threads, target)


def _scan(gated, given, low, threads, target):
    _check_execution(threads, target)
    if _is_torch(given["h"]):
        import torch  # this module must not need it
        from assay.scans import torch_scans
        s, s_n, s_n_low = torch_scans.scan(gated, given, threads or torch.get_num_threads(), target)
    else:
        s, s_n, s_n_low = _with_numpy(gated, given, threads, target)
    return (s, s_n, s_n_low) if low else (s, s_n)


def _scan_jvp(gated, given, threads, target):
    _check_execution(threads, target)
    if _is_torch(given["h"]):
        import torch
        from assay.scans import torch_scans
        return torch_scans.scan_jvp(gated, given, threads or torch.get_num_threads(), target)
    import numpy
    check_all(given, numpy.ndarray)
    h = given["h"]
    outputs = [numpy.empty(shape, h.dtype) for shape in 2 * [h.shape, h.shape[:1] + h.shape[2:]]]
    inputs = [_readable(array) for array in given.values()]
    call_jvp(gated, threads or -1, target, _numpy_view, inputs[:3], inputs[3:], outputs)
    return outputs[2], outputs[3]


def _check_execution(threads, target):
    if not isinstance(target, str):
        raise TypeError(f"target: expected the name of an instruction set, but it is {target!r}")
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads < 2**31):
        raise ValueError(f"threads: expected None or a number from 1 on, but it is {threads!r}")


def _is_torch(array):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _numpy_view(array):
    if array is None:
        return Array()
    size = array.itemsize
    return Array.from_address(array.ctypes.data, str(array.dtype), array.shape, [step // size for step in array.strides])


def _readable(array):
    if array is None or array.flags.aligned and all(s >= 0 and s % array.itemsize == 0 for s in array.strides):
        return array
    return array.copy(order="C")


def _with_numpy(gated, given, threads, target):
    import numpy
    dtype = check_all(given, numpy.ndarray)
    h = given["h"]
    states = h.shape[:1] + h.shape[2:]
    state = h.dtype if dtype == dtype_of_states(dtype) else numpy.float32
    outputs = [numpy.empty(h.shape, h.dtype), numpy.empty(states, state), numpy.empty(states, state)]
    call_forward(gated, threads or -1, target, _numpy_view, [_readable(array) for array in given.values()], outputs)
    return outputs
