"""The log-linear recurrence [Heinsen 2024, eqs. (1), (3)] for NumPy arrays and PyTorch tensors on the CPU.

    import assay
    s, s_n = assay.scan(log_p, h, s0)        # s_i = log(e^(log_p_i + s_{i-1}) + e^(h_i)), i = 1..n
    s, s_n = assay.gated_scan(g, h, s0)      # the same with log_p = log sigmoid(g)
    s_n.sum().backward()                     # of tensors: the gradients in log_p (or g), h and s0

log_p, g and h are [B, n, d] and s0 is [B, d] (None: zeros), all float32 or all float64, with any strides and possibly
empty axes. Or log_p, g, h and s are float16 or bfloat16: then the states s0, s_n and low are float32, in which all is
computed, and s is rounded once. The domain is log_p <= 0 or -inf, h and s0 finite or -inf; a NaN stays in its
sequence and feature, from its token on. Results are s [B, n, d] and the last state s_n [B, d], with an error that does not grow with n (assay_scan.h
has the figures); their bits do not depend on the number of threads. A sequence may come in chunks:

    s, s_n, low = assay.scan(log_p, h, s0, low=True)
    more, s_n, low = assay.scan(more_log_p, more_h, s_n, low, low=True)   # the bits of one call over both

low is what s_n lacks of the state, which is kept in two numbers. Its gradient is not followed: that of s_n is all.

Computed by libassay_scan (assay_scan.h), with no lock of Python held. Arrays with negative or odd strides are copied.
"""
import sys

from assay_scan_library import DTYPES, IN_16_BITS, Array, Cotangents, Gradients, Inputs, Outputs, call

__all__ = ["gated_scan", "scan"]


def scan(log_p, h, s0=None, s0_low=None, *, low=False, threads=None, target="best"):
    """(s, s_n), or (s, s_n, s_n_low) where `low`. `threads` is torch's number for tensors, one per processor for
    arrays, unless it is given; `target` is an instruction set (assay_scan_library.targets()). A wrong argument is a
    TypeError or a ValueError that begins with its name."""
    return _scan(False, {"log_p": log_p, "h": h, "s0": s0, "s0_low": s0_low}, low, threads, target)


def gated_scan(g, h, s0=None, s0_low=None, *, low=False, threads=None, target="best"):
    """As scan, for log_p = log sigmoid(g)."""
    return _scan(True, {"g": g, "h": h, "s0": s0, "s0_low": s0_low}, low, threads, target)


def _scan(gated, given, low, threads, target):
    if not isinstance(target, str):
        raise TypeError(f"target: expected the name of an instruction set, but it is {target!r}")
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads < 2**31):
        raise ValueError(f"threads: expected None or a number from 1 on, but it is {threads!r}")
    torch = sys.modules.get("torch")
    is_torch = torch is not None and isinstance(given["h"], torch.Tensor)
    compute = _with_torch if is_torch else _with_numpy
    s, s_n, s_n_low = compute(gated, given, threads, target)
    return (s, s_n, s_n_low) if low else (s, s_n)


def _checked(name, value, kind, dtype, rank):
    """An error unless the value is an array of this kind and has the dtype that goes with h (None: it is h) and as many
    axes."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}: expected a {kind.__module__}.{kind.__name__}, but it is a "
                        f"{type(value).__module__}.{type(value).__name__}")
    own = str(value.dtype).replace("torch.", "")
    if own not in DTYPES:
        raise TypeError(f"{name}: its dtype {own} is not offered; expected {' or '.join(DTYPES)}")
    if dtype is not None and dtype.split()[0] != own:
        raise TypeError(f"{name}: expected the dtype {dtype}, but it is {own}")
    if value.ndim != rank:
        raise ValueError(f"{name}: expected {'[B, n, d]' if rank == 3 else '[B, d]'}, but its shape is "
                         f"{list(value.shape)}")
    return own


def _check_all(given, kind):
    """The dtype of h."""
    dtype = _checked("h", given["h"], kind, None, 3)
    for name, value in given.items():
        state = name.startswith("s0")
        if value is not None or not state:
            own = f"{_dtype_of_states(dtype)} of a state" if state and dtype in IN_16_BITS else f"{dtype} of h"
            _checked(name, value, kind, own, 2 if state else 3)
    return dtype


def _dtype_of_states(dtype):
    return "float32" if dtype in IN_16_BITS else dtype


def _forward(gated, threads, target, view, inputs, outputs):
    call("assay_gated_scan" if gated else "assay_scan", threads, target, Inputs(*map(view, inputs)),
         Outputs(*map(view, outputs)))


def _with_numpy(gated, given, threads, target):
    import numpy
    dtype = _check_all(given, numpy.ndarray)

    def view(array):
        if array is None:
            return Array()
        size = array.itemsize
        return Array.of(array.ctypes.data, str(array.dtype), array.shape, [step // size for step in array.strides])

    def readable(array):
        if array is None or array.flags.aligned and all(s >= 0 and s % array.itemsize == 0 for s in array.strides):
            return array
        return array.copy(order="C")

    h = given["h"]
    states = h.shape[:1] + h.shape[2:]
    state = h.dtype if dtype == _dtype_of_states(dtype) else numpy.float32
    outputs = [numpy.empty(h.shape, h.dtype), numpy.empty(states, state), numpy.empty(states, state)]
    _forward(gated, threads or -1, target, view, [readable(array) for array in given.values()], outputs)
    return outputs


def _with_torch(gated, given, threads, target):
    import torch
    _check_all(given, torch.Tensor)
    for name, value in given.items():
        if value is not None and value.device.type != "cpu":
            raise ValueError(f"{name}: expected a tensor on the CPU, but it is on {value.device}")
        if value is not None and value.layout != torch.strided:
            raise ValueError(f"{name}: expected a strided tensor, but its layout is {value.layout}")
    return _torch_function().apply(*given.values(), gated, threads or torch.get_num_threads(), target)


def _torch_view(tensor):
    if tensor is None:
        return Array()
    return Array.of(tensor.data_ptr(), str(tensor.dtype)[len("torch."):], tensor.shape, tensor.stride())


def _torch_function():
    """The torch.autograd.Function. Made at the first call: this module must not need torch."""
    global _made
    if _made is not None:
        return _made
    import torch

    class Scan(torch.autograd.Function):
        @staticmethod
        def forward(ctx, decay, h, s0, s0_low, gated, threads, target):
            # The imaginary part of a conjugate is a view whose memory has the other sign.
            inputs = [None if tensor is None else tensor.resolve_neg() for tensor in (decay, h, s0, s0_low)]
            states = h.shape[:1] + h.shape[2:]
            kept = torch.promote_types(h.dtype, torch.float32)
            s, s_n, s_n_low = outputs = [torch.empty(h.shape, dtype=h.dtype), torch.empty(states, dtype=kept),
                                         torch.empty(states, dtype=kept)]
            _forward(gated, threads, target, _torch_view, inputs, outputs)
            # States in 16 bits do not tell the weights: they are computed again.
            ctx.save_for_backward(*inputs[:3], s if kept == h.dtype else None)
            ctx.on = gated, threads, target
            ctx.mark_non_differentiable(s_n_low)
            ctx.set_materialize_grads(False)
            return s, s_n, s_n_low

        @staticmethod
        def backward(ctx, grad_s, grad_s_n, _):
            return *Adjoint.apply(*ctx.saved_tensors, grad_s, grad_s_n, *ctx.on), None, None, None, None

    class Adjoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx, decay, h, s0, s, grad_s, grad_s_n, gated, threads, target):
            states = h.shape[:1] + h.shape[2:]
            kept = torch.promote_types(h.dtype, torch.float32)
            gradients = [torch.empty(h.shape, dtype=h.dtype), torch.empty(h.shape, dtype=h.dtype),
                         torch.empty(states, dtype=kept)]
            grad_s = torch.zeros(h.shape, dtype=h.dtype) if grad_s is None else grad_s
            cotangents = [None if tensor is None else tensor.resolve_neg() for tensor in (s, grad_s, grad_s_n)]
            call("assay_gated_scan_vjp" if gated else "assay_scan_vjp", threads, target,
                 Inputs(*map(_torch_view, (decay, h, s0, None))), Cotangents(*map(_torch_view, cotangents)),
                 Gradients(*map(_torch_view, gradients)))
            return gradients[0], gradients[1], None if s0 is None else gradients[2]

        @staticmethod
        def backward(ctx, *_):
            # Without this node a second derivative would be taken for zero.
            raise RuntimeError("assay.scan and assay.gated_scan have no second derivative")

    _made = Scan
    return Scan


_made = None
