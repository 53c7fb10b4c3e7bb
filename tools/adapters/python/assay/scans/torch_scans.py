"""The scans of assay.scans on tensors of PyTorch, with their derivatives."""
import torch

from assay.scans.calls import call_forward, call_jvp, check_all
from assay.scans.library import Array, Cotangents, Gradients, Inputs, call


def scan(gated, given, threads, target):
    """s, s_n and s_n_low of tensors by name."""
    _check(given)
    s, s_n, s_n_low = Scan.apply(*given.values(), gated, threads, target)
    return s, s_n, s_n_low.detach()


def scan_jvp(gated, given, threads, target):
    """tangent_s and tangent_s_n of tensors by name. Autograd does not follow them."""
    _check(given)
    with torch.no_grad():
        inputs = [None if tensor is None else tensor.resolve_neg() for tensor in given.values()]
    return _tangents(gated, threads, target, inputs[:3], inputs[3:])


def _check(given):
    check_all(given, torch.Tensor)
    for name, value in given.items():
        if value is not None and value.device.type != "cpu":
            raise ValueError(f"{name}: expected a tensor on the CPU, but it is on {value.device}")
        if value is not None and value.layout != torch.strided:
            raise ValueError(f"{name}: expected a strided tensor, but its layout is {value.layout}")


def _view(tensor):
    if tensor is None:
        return Array()
    return Array.from_address(tensor.data_ptr(), str(tensor.dtype)[len("torch."):], tensor.shape, tensor.stride())


def _tangents(gated, threads, target, inputs, direction):
    """tangent_s and tangent_s_n; a tangent that is None is 0."""
    h = inputs[1]
    zeros = torch.zeros((), dtype=h.dtype).expand(h.shape)
    direction = [*(zeros if tensor is None else tensor for tensor in direction[:2]), direction[2]]
    outputs = [torch.empty(shape, dtype=h.dtype) for shape in 2 * [h.shape, h.shape[:1] + h.shape[2:]]]
    call_jvp(gated, threads, target, _view, inputs, direction, outputs)
    return outputs[2], outputs[3]


class Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx, decay, h, s0, s0_low, gated, threads, target):
        # The imaginary part of a conjugate is a view whose memory has the other sign.
        inputs = [None if tensor is None else tensor.resolve_neg() for tensor in (decay, h, s0, s0_low)]
        states = h.shape[:1] + h.shape[2:]
        kept = torch.promote_types(h.dtype, torch.float32)
        s, s_n, s_n_low = outputs = [torch.empty(h.shape, dtype=h.dtype), torch.empty(states, dtype=kept),
                                     torch.empty(states, dtype=kept)]
        call_forward(gated, threads, target, _view, inputs, outputs)
        # s in 16 bits has too few digits for the weights of the derivative: None makes the vjp compute the states
        # again.
        ctx.save_for_backward(*inputs[:3], s if kept == h.dtype else None)
        ctx.save_for_forward(*inputs[:3])
        ctx.on = gated, threads, target
        ctx.set_materialize_grads(False)
        return s, s_n, s_n_low

    @staticmethod
    def backward(ctx, grad_s, grad_s_n, _):
        return *Adjoint.apply(*ctx.saved_tensors, grad_s, grad_s_n, *ctx.on), None, None, None, None

    @staticmethod
    def jvp(ctx, *direction):
        direction = [None if tensor is None else tensor.resolve_neg() for tensor in direction[:3]]
        tangents = _tangents(*ctx.on, ctx.saved_tensors, direction)
        return *tangents, torch.zeros_like(tangents[1])  # PyTorch 1.13 takes no None for an output


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
             Inputs(*map(_view, (decay, h, s0, None))), Cotangents(*map(_view, cotangents)),
             Gradients(*map(_view, gradients)))
        return gradients[0], gradients[1], None if s0 is None else gradients[2]

    @staticmethod
    def backward(ctx, *_):
        # Without this node a second derivative would be taken for zero.
        raise RuntimeError("assay.scan and assay.gated_scan have no second derivative")
