#!/usr/bin/env python3
"""Formulas of one's own in torch: functions of tensors as programs, for assay.truth and assay.judge.

Run by CTest with ASSAY set to the program; status 77 (skipped) where Python has no torch.
"""
import inspect
import json
import math
import os
import unittest

import frameworks

frameworks.needs("torch", "Debian: python3-torch")

import numpy as np
import torch
import torch.nn.functional as F

import assay
from assay.formulas import CannotTrace, asking, sampling, torch_tensors, trace
from assay.formulas.doors import as_function

RANDOM = torch.Generator().manual_seed(1)
CASES = []


def normal(*shape):
    return torch.randn(*shape, generator=RANDOM)


def uniform(*shape):
    return torch.rand(*shape, generator=RANDOM)


def case(*inputs, **settings):
    """A function and its inputs, in the order of its parameters: what people write."""
    def add(function):
        CASES.append((function, inputs, settings))
        return function
    return add


def is_new():
    return int(torch.__version__.partition(".")[0]) > 1


# Elementwise.

@case(normal(4, 6), normal(4, 6), normal(6))
def arithmetic(x, y, w):
    return (x + y, torch.add(x, y, alpha=2), x - w, 1 - x, torch.sub(x, y, alpha=3), torch.rsub(x, y, alpha=2), x * 2, -x,
            x / 3, x / y, 1 / y, torch.div(x, y, rounding_mode=None), x.neg(), torch.lerp(x, y, 0.25),
            torch.addcmul(x, y, w, value=0.5),
            torch.addcdiv(x, y, w.abs() + 1, value=2), x.mul(y), torch.true_divide(x, 7), x.square(), +x, torch.abs(x))


@case(normal(4, 6), uniform(4, 6) + 0.5)
def quotients(x, y):
    return (x // y * y, torch.floor_divide(x, y) + x, x % y + 1, torch.fmod(x, 2.0) * y,
            torch.div(x, y, rounding_mode="trunc") + x,
            torch.div(x, y, rounding_mode="floor") + x, torch.remainder(x, 0.75) + y)


@case(uniform(4, 6) + 0.5, normal(4, 6))
def powers(x, y):
    return (x ** 2, x ** 0.5, x ** -0.5, x ** y, 2 ** y, x.sqrt(), x.rsqrt(), x.reciprocal(), torch.pow(2.0, y), x.pow(3),
            torch.logaddexp(x, y), torch.hypot(x, y))


@case(normal(4, 6), normal(4, 6))
def choices(x, y):
    return (torch.maximum(x, y), torch.minimum(x, y), torch.max(x, y), torch.min(x, y), torch.fmax(x, y), torch.fmin(x, y),
            torch.where(x < y, x, y), torch.where(x > 0, x, 2.0), x.masked_fill(x <= y, 3.0), x.clamp(-0.5, 0.5),
            x.clamp(min=y),
            torch.clamp_min(x, 0.1), torch.clamp_max(x, 0.1), torch.clip(x, max=0.25), x.clamp_min(y), x.clamp_max(y))


@case(normal(4, 6), normal(4, 6))
def truths(x, y):
    a, b = x > 0, y >= 0
    return ((a & b) * x, torch.where(a | b, x, y), (a ^ b).float() + x, x * ~a, (x == y).float() + x, x * (x != y),
            x * (x.lt(0)),
            x * torch.logical_and(a, b), x * torch.logical_or(a, b), x * torch.logical_xor(a, b), x * torch.logical_not(x),
            x * (x <= y).to(x.dtype), x * a.all(), x * a.any(1, keepdim=True), x * torch.eq(a, b), x * torch.bitwise_and(a, b),
            x * torch.bitwise_or(a, b), x * torch.bitwise_xor(a, b), x * torch.isnan(x).logical_not(), x * torch.isfinite(y),
            x * ~torch.isinf(y), x * ~torch.isneginf(y), x * ~torch.isposinf(y), x * a.all(dim=-1, keepdim=True), x * a.any())


@case(normal(4, 6))
def integers(x):
    k = torch.arange(6)
    return (x * (k // 2), x * (k % 4), x * (k & 1), x * (k | 1), x * (k ^ 3), x * (1 << k), x * (k >> 1), x * (k << 1), x * ~k,
            x * torch.bitwise_left_shift(k, 2), x * torch.bitwise_right_shift(k, 1), x * (k > 2), x * k.sum(),
            x * k.float().mean(),
            x * torch.cumsum(k, 0), x * k.max(), x * k.argmax(), x * (k.flip(0).argsort()), x * k.clamp(1, 3), x * (k / 4),
            x * torch.div(k, 4, rounding_mode="floor"), x * torch.round(k / 4), x * k.argmin(), x * (k ** 2), x * abs(k - 3),
            x * torch.nonzero(k > 1).numel())


@case(normal(4, 6))
def functions_of_one(x):
    return (x.exp(), torch.log(x.abs() + 1), x.abs().log1p(), torch.log2(x.abs() + 2), torch.log10(x.abs() + 2), x.exp2(),
            x.sin(), x.cos(),
            x.tan(), x.tanh(), torch.sinh(x), torch.cosh(x), torch.expm1(x), torch.sign(x) + x, x.sgn() + x, x.floor() + x,
            x.ceil() + x, x.trunc() + x, torch.erf(x), torch.erfc(x), torch.special.erf(x), torch.special.expm1(x),
            torch.deg2rad(x), torch.nan_to_num(x), torch.sigmoid(x), x.frac(), torch.positive(x))


@case(normal(4, 6), uniform(6))
def activations(x, w):
    return (F.relu(x), F.relu6(x * 4), F.silu(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.softplus(x), F.softplus(x, 2, 1),
            F.elu(x), F.celu(x, 0.5), F.selu(x), F.leaky_relu(x, 0.1), F.mish(x), F.hardtanh(x), F.hardsigmoid(x),
            F.hardswish(x),
            F.logsigmoid(x), F.prelu(x, w), F.prelu(x, w[:1]), F.glu(x), F.threshold(x, 0.1, 2.0), F.tanhshrink(x),
            F.softsign(x),
            torch.logit(torch.sigmoid(x) * 0.5 + 0.25), F.softshrink(x, 0.25), F.hardshrink(x, 0.25), F.softmin(x, 1))


# Along axes.

@case(normal(3, 4, 5) + 0.5)
def sums(x):
    return (x.sum(), x.sum(-1), x.sum((0, 2), keepdim=True), torch.mean(x, dim=1), x.mean(), x.amax(1), x.amin((0, -1)),
            x.max(), x.min(), x.max(dim=1).values, x.max(-1, keepdim=True)[0], x.min(0)[0], torch.prod(x, 1), x.prod(), x.var(),
            x.var(1), x.var(dim=-1, unbiased=False, keepdim=True), x.std(0), torch.std(x, dim=(1, 2), unbiased=False),
            *torch.var_mean(x, 1),
            *torch.std_mean(x, -1), x.cumsum(1), x.cumprod(-1), torch.logcumsumexp(x, 1), torch.logsumexp(x, (0, 1)),
            x.softmax(1),
            F.log_softmax(x, dim=-1), torch.softmax(x, 0), x.norm(), x.norm(dim=1), x.norm(p=1, dim=-1, keepdim=True),
            torch.linalg.norm(x, dim=-1), torch.linalg.vector_norm(x, 3, dim=1), x.norm(float("inf"), 0), F.normalize(x, dim=1),
            torch.linalg.vector_norm(x, float("-inf"), 2), x.cumsum(0).flip(0), torch.aminmax(x).max, x.nansum(1))


@case(normal(()), torch.tensor(3.0))
def without_axes(x, y):
    return (x + y, x.softmax(0), x.sum(), x.sum(0), x[None] * y, x.mean(), x.expand(3) * 2, F.relu(x), x.exp() * y,
            x.reshape(1, 1), x.view(1), torch.stack([x, y]), x.amax(-1), x.log_softmax(0))


@case(normal(2, 6, 3, 2), uniform(6), normal(6), normal(6), uniform(6) + 0.5)
def norms(x, weight, bias, mean, var):
    rms = [F.rms_norm(x, (2,), weight[:2], 1e-5)] if hasattr(F, "rms_norm") else []
    return (F.layer_norm(x, (3, 2)), F.layer_norm(x.movedim(1, -1), (6,), weight, bias), F.group_norm(x, 3, weight, bias),
            F.instance_norm(x), F.batch_norm(x, mean, var, weight, bias),
            F.batch_norm(x, mean.clone(), var.clone(), training=True), *rms)


# Products.

@case(normal(3, 4), normal(4, 5), normal(5), normal(2, 3, 4), normal(2, 4, 5), normal(3, 5))
def products(a, b, v, p, q, c):
    return (a @ b, torch.mm(a, b), b @ v, torch.mv(b, v), v @ v, torch.dot(v, v), p @ q, torch.bmm(p, q), torch.matmul(p, b),
            a @ q,
            torch.addmm(c, a, b), torch.addmm(c, a, b, beta=0.5, alpha=2), torch.baddbmm(c[None], p, q), torch.outer(v, v),
            v.ger(v), torch.addmv(b[:, 0], b, v), F.linear(a, b.t(), v), F.linear(p, b.mT), torch.einsum("ij,jk->ik", a, b),
            torch.addr(c, a[:, 0], v),
            torch.einsum("bij,bjk,k->bi", p, q, v), torch.einsum("...i,ij->...j", p, b), torch.tensordot(p, b, 1), v.inner(v),
            torch.addbmm(c, p, q), torch.linalg.multi_dot([a, b, v]), torch.kron(c, v), F.bilinear(a, a, normal_of(5, 4, 4, a)),
            torch.cdist(a, a[:2] + 1), torch.cdist(a.repeat(9, 1), p[0]), torch.cross(a[:, :3], a[:, 1:], dim=1))


def normal_of(n, m, k, like):
    return (torch.arange(n * m * k).view(n, m, k) % 7).to(like) / 7


@case(normal(3, 3), normal(3, 2))
def solutions(a, b):
    well = a @ a.T + 3 * torch.eye(3)
    return torch.linalg.solve(well, b), torch.inverse(well), torch.linalg.inv(well), torch.linalg.solve(well, b[:, 0])


@case(normal(1, 2, 5, 4), normal(1, 2, 5, 4), normal(1, 2, 5, 4), causal=True)
def attention(q, k, v, causal=False):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
    if causal:
        scores = scores.masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


@case(normal(1, 2, 5, 4), normal(1, 2, 5, 4), normal(1, 2, 5, 4))
def attention_by_name(q, k, v):
    if not hasattr(F, "scaled_dot_product_attention"):
        return q * k
    return (F.scaled_dot_product_attention(q, k, v, is_causal=True),
            F.scaled_dot_product_attention(q, k, v, attn_mask=q @ k.mT))


# Shapes.

@case(normal(2, 3, 4))
def shapes(x):
    return (x.view(6, 4), x.view(-1), x.reshape(2, -1), x.flatten(1), x.permute(2, 0, 1), x.transpose(0, -1), x[0].t(), x.mT,
            x.unsqueeze(1), x.unsqueeze(-1).squeeze(-1), x[None].squeeze(), x[..., None].squeeze((1, 3)) if is_new() else x,
            x.expand(5, 2, 3, 4),
            x.select(1, -1), x.narrow(2, 1, 2), x[:, ::2], *x.split(2, -1), *x.split([1, 2], 1), *x.chunk(2, dim=2),
            *x.unbind(1),
            torch.cat([x, x * 2], dim=-1), torch.stack((x, x), 1), torch.hstack([x, x]), x.flip(0, 2), torch.roll(x, 1, -1),
            x.roll(2),
            torch.roll(x, (1, 2), (0, 1)), x.repeat(2, 1, 1), torch.tile(x, (2,)), x.repeat_interleave(2, dim=1), x.tril(),
            torch.triu(x, 1),
            x.diagonal(0, 1, 2), torch.diag_embed(x[0, 0]), torch.diag_embed(x, 1), torch.diag(x[0, 0]), F.pad(x, (1, 2)),
            F.pad(x, (-1, 0, 1, 1), value=2.0),
            x.unfold(2, 2, 1), x.as_strided((2, 2), (1, 4)), x.swapaxes(0, 1), x.movedim(0, -1), x.unflatten(2, (2, 2)),
            x.ravel(), torch.cat([torch.zeros(0), x[0, 0]]), x.view_as(x), x.expand_as(x[None]), x.broadcast_to(2, 2, 3, 4),
            torch.rot90(x[0]), *(torch.rot90(x[0], k) for k in (2, 3, -1, 4)), torch.rot90(x, 3, (2, 0)),
            torch.atleast_3d(x[0]), *torch.meshgrid(x[0, 0], x[0, 1], indexing="ij"), torch.diagonal(x[0]).sum(), x[0].trace(),
            *torch.tensor_split(x, 3, 2), x.index_select(1, torch.tensor([2, 0])), torch.unsqueeze(x, -2),
            torch.narrow_copy(x, 1, 0, 2),
            torch.slice_scatter(x, x[:, :1] * 2, 1, 0, 1, 1), torch.select_scatter(x, x[:, 0] * 2, 1, 1), torch.vstack([x, x]),
            torch.diagonal_scatter(x[0], x[0, :, 0] * 2), torch.flatten(x), torch.diff(x), x.fliplr())


@case(normal(4, 6), torch.tensor([2, 0, 3]), torch.tensor([[0, 1, 5, 2]] * 4))
def indices(x, i, j):
    k = torch.tensor([1, 2])
    return (x[i], x[:, k], x[k, k], x[i, :2], torch.gather(x, 1, j), x.gather(1, torch.tensor([[0], [1], [2], [3]])),
            F.embedding(i, x), x.index_select(0, i), torch.take_along_dim(x, j, 1), x[:, torch.tensor([True, False] * 3)],
            x.index_add(0, i, x[:3]),
            x.index_add(1, k, x[:, :2], alpha=2), x.index_put((k,), x[:2]), x.index_put((k,), x[:2], accumulate=True),
            x.scatter(1, torch.tensor([[0], [1], [2], [3]]), x[:, :1] * 3),
            x.scatter(1, torch.tensor([[0], [1], [2], [3]]), 2.0),
            x.scatter_add(1, j, x[:, :4]), torch.scatter(x, 1, j[:, :1], 7.0), x * F.one_hot(i, 6).sum(0),
            x[i][:, k][..., None], x.take(torch.tensor([0, 5, 7])), x.masked_select(torch.tensor([True, False] * 3)))


# What makes tensors, and casts.

@case(normal(3, 4))
def creations(x):
    n = torch.arange(4)
    return (x + torch.zeros(4), x * torch.ones(3, 1), x + torch.full((4,), 0.5), x @ torch.eye(4), x + torch.zeros_like(x),
            torch.ones_like(x) * x,
            torch.full_like(x, 0.25) * x, x.new_zeros(4) + x, x.new_ones(4) * x, x.new_full((4,), 2.0) * x, x * n,
            x * torch.arange(1, 9, 2), x * torch.linspace(0, 1, 4), x * torch.tensor([1.0, 2.0, 4.0, 8.0]), x * torch.tensor(3),
            x * torch.scalar_tensor(2.0), torch.empty_like(x).copy_(x),
            torch.empty(3, 4).fill_(2) * x, x.new_empty(3, 4).zero_() + x, torch.empty_strided((3, 4), (4, 1)).copy_(x),
            x * x.new_tensor(4.0), x * torch.arange(4.0), x * torch.arange(0, 1, 0.25), x * torch.tril(torch.ones(3, 4)),
            torch.where(torch.tril_indices(3, 4)[0, :4] > 0, x, 0.0),
            x.double().float(), x.to(torch.float32), x.type(torch.float32), x.float(), x * n.to(x.dtype), x * n.type_as(x),
            (x > 0).float() + x,
            x.new_empty_strided((3, 4), (4, 1)).copy_(x), x * torch.as_tensor(2.0))


# Views that are written through, and memory that is shared.

@case(normal(4, 6))
def an_expanded_one_sees_writes(x):
    b = x.clone()
    e = b.expand(3, -1, -1)
    b += 1
    return e * 2


@case(normal(4, 6))
def contiguous_ones(x):
    b, d = x.clone(), x.clone()
    c, e = b.t().contiguous(), d.contiguous()
    c += 1
    e += 1
    return b, c, d, e


@case(normal(4, 6))
def other_shapes_of_the_same(x):
    b = x.clone()
    copied = b.t().reshape(-1)
    copied += 1
    shared = b.reshape(-1)
    shared *= 2
    flat = b.flatten()
    flat[::2] = 0
    other = b.t().flatten()
    other += 1
    return b, copied, shared, flat, other


@case(normal(4, 6))
def the_same_tensor(x):
    b = x.clone()
    same, detached = b.to(b.dtype), b.detach()
    same += 1
    detached *= 3
    b.data.sub_(2)
    return b, same, detached


@case(normal(4, 6))
def writes_through_views(x):
    b = x.clone()
    b.diagonal().add_(5)
    b.unfold(1, 2, 2)[:, 0] *= 3
    b[:, 1].zero_()
    b.T[0].fill_(7)
    p, q = b.chunk(2, dim=-1)
    p += q
    b.select(0, 1).mul_(2)
    b.view(-1)[1:3].copy_(torch.ones(2))
    b.as_strided((2, 2), (5, 1), 1).neg_()
    b.unbind(0)[1].add_(b[0])
    b.split(2, 1)[0][...] = b[:, 2:4]
    b[None][0][2] = 0.25
    b.view(4, 2, 3)[:, 1] += 1
    b.permute(1, 0)[0] = 1.0
    return b


@case(normal(4, 6))
def writes_of_chosen_elements(x):
    b = x.clone()
    b[b > 0] = 0.5
    b.masked_fill_(b < -1, 2.0)
    b[torch.tensor([0, 1]), torch.tensor([1, 2])] = x[0, 0]
    b[:, torch.tensor([True, False] * 3)] = 3.0
    c = torch.zeros(4, 6)
    c.index_put_((torch.tensor([0, 2]),), x[:2])
    c.scatter_(1, torch.tensor([[0], [1], [2], [3]]), x[:, :1])
    c.scatter_add_(1, torch.tensor([[0, 0], [1, 1], [2, 2], [3, 3]]), x[:, :2])
    c.index_add_(0, torch.tensor([1, 1]), x[:2])
    c.index_copy_(0, torch.tensor([3]), x[:1])
    c.index_fill_(1, torch.tensor([5]), 0.5)
    c.fill_diagonal_(2.0)
    return b, c


@case(normal(4, 6))
def in_place(x):
    b = x.clone()
    b += x[0]
    b *= x[:, :1]
    b.sub_(x, alpha=2)
    b.div_(torch.tensor(3.0)).pow_(2).clamp_(min=0.5).sqrt_().exp_().log_()
    b.add_(1).addcmul_(x, x, value=0.5).lerp_(x, 0.5).tanh_().sigmoid_().relu_()
    return b, F.relu(x.clone(), inplace=True), x.clone().tril_()


@case(normal(4, 6))
def into_others(x):
    y, z = torch.empty(4, 6), torch.zeros(4)
    torch.add(x, 1, out=y)
    torch.exp(x[:2], out=y[:2])
    torch.sum(x, 1, out=z)
    w = torch.empty(4, 4)
    torch.matmul(x, x.t(), out=w)
    return y, z, w


@case(normal(5, 4))
def a_loop(x):
    h, out = torch.zeros(4), []
    for t in range(x.shape[0]):
        h = 0.5 * h + x[t]
        out.append(h)
    return torch.stack(out)


# Windows.

def windowed(axes):
    conv, transposed, largest, mean, parts, part_largest = (getattr(F, name.format(axes)) for name in (
        "conv{}d", "conv_transpose{}d", "max_pool{}d", "avg_pool{}d", "adaptive_avg_pool{}d", "adaptive_max_pool{}d"))

    def windows(x, w, one, back, b):
        return (conv(x, w[:, :, 0]), conv(x[:, :2], w[:, :2, 0], b, 2, 1), conv(x, w[:, :2, 0], b, padding=1, groups=2),
                conv(x, one, padding=2, dilation=2, groups=4), conv(x, w[:, :, 0], padding="same"), conv(x[0], w[:, :, 0]),
                transposed(x, back), transposed(x, back, torch.cat([b, b])[:6], 2, 1, 1, 2),
                transposed(x, back, stride=2, dilation=2),
                largest(x, 2), largest(x, 3, 2, 1, ceil_mode=True), largest(x, 2, 1, 1, 2),
                largest(x, 2, return_indices=True)[0],
                mean(x, 2), mean(x, 3, 2, 1, True), mean(x, 3, 2, 1, True, False), parts(x, 3), parts(x, 1), part_largest(x, 3),
                F.interpolate(x, scale_factor=2), F.interpolate(x, scale_factor=1.3), F.interpolate(x, size=[7] * axes),
                F.pad(x, (1, 2) * axes, mode="reflect"), F.pad(x, (1, 2) * axes, mode="replicate"),
                F.pad(x, (1, 2) * axes, mode="circular"))
    windows.__name__ = f"windows_of_{axes}"
    return windows


for _axes, _sizes in ((1, (9,)), (2, (7, 8)), (3, (4, 5, 4))):
    case(normal(2, 4, *_sizes), normal(6, 4, 1, *(3, 2, 2)[:_axes]), normal(4, 1, *(2,) * _axes),
         normal(4, 3, *(3, 2, 2)[:_axes]),
         normal(6))(windowed(_axes))


@case(normal(2, 4, 6, 6))
def pools_of_two_axes(x):
    return (F.avg_pool2d(x, 3, 2, 1, divisor_override=5), F.avg_pool2d(x, (2, 3), (1, 2)), F.max_pool2d(x, (2, 3)),
            F.unfold(x, 3, padding=1, stride=2), F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 3), F.lp_pool2d(x.abs() + 1, 2, 2))


# Complex numbers.

def frequencies(dim, end, theta=10000.0):
    frequencies_of_pairs = 1.0 / (theta ** (torch.arange(0, dim, 2)[:(dim // 2)].float() / dim))
    angles = torch.outer(torch.arange(end, dtype=torch.float32), frequencies_of_pairs)
    return torch.polar(torch.ones_like(angles), angles)


@case(normal(2, 5, 3, 6), normal(2, 5, 3, 6))
def rotation_as_complex_numbers(q, k):
    turn = frequencies(q.shape[-1], q.shape[1]).view(1, q.shape[1], 1, -1)
    pairs = [torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) for x in (q, k)]
    return tuple(torch.view_as_real(x * turn).flatten(3).type_as(q) for x in pairs)


TABLE = frequencies(6, 4)


@case(normal(4, 6))
def complex_numbers(x):
    z, y = torch.complex(x, x * 2), torch.view_as_complex(x.reshape(4, 3, 2))
    w = (z * z.conj() + 1j * z - 1).transpose(0, 1)[1:]
    s = torch.stack([y, y + 1]).unsqueeze(0).expand(2, -1, -1, -1)
    written = y.clone()
    written *= 2
    written[0] = written[1]
    return (w.real, w.imag, torch.view_as_real(s / (y + 2)), s.abs(), y.exp().real, torch.cat([y, y], 1).sum(1).imag,
            torch.imag(-y), torch.view_as_real(y * TABLE), torch.view_as_real(torch.polar(x.abs(),
                                                                          x)[torch.tensor([0, 2])].reshape(-1).contiguous()),
            torch.view_as_real(written / 2), torch.real(z - y.sum()))


# Losses.

@case(normal(5, 4), normal(5, 4), torch.tensor([0, 3, 1, 1, 2]))
def losses(x, y, target):
    return (F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y, delta=0.5),
            F.cross_entropy(x, target),
            F.cross_entropy(x, target, reduction="none"), F.cross_entropy(x, target, weight=y[0].abs() + 1),
            F.cross_entropy(x, target, label_smoothing=0.1 * is_new()),
            F.cross_entropy(x, y.softmax(-1)), F.nll_loss(x.log_softmax(1), target, reduction="sum"),
            F.cross_entropy(x, target, ignore_index=1),
            F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"), F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
            F.binary_cross_entropy_with_logits(x, y.sigmoid()), F.triplet_margin_loss(x, y, x - y),
            F.hinge_embedding_loss(x, y.sign()),
            F.cosine_similarity(x, y, dim=1), F.cosine_embedding_loss(x, y, torch.ones(5)), F.soft_margin_loss(x, y.sign()),
            F.pairwise_distance(x, y), F.margin_ranking_loss(x, y, torch.ones(5, 4)), F.poisson_nll_loss(x, y.abs()),
            F.mse_loss(x, y, reduction="none"), F.smooth_l1_loss(x, y, beta=0.5, reduction="sum"))


@case(normal(2, 3, 2, 2), torch.tensor([[[0, 1], [2, 2]], [[1, 1], [0, 2]]]))
def losses_of_images(x, target):
    return F.cross_entropy(x, target), F.nll_loss(F.log_softmax(x, 1), target, reduction="none")


# Operators that only other versions of torch dispatch.
OTHER_VERSIONS = {
    "_fused_rms_norm", "_index_put_impl", "_local_scalar_dense", "_logcumsumexp", "logcumsumexp", "_native_batch_norm_legit",
    "_native_batch_norm_legit_no_training", "_prelu_kernel", "prelu", "_reshape_alias", "_unsafe_index", "alias", "lift",
                  "diag",
    "repeat_interleave", "unsafe_split", "unsafe_split_with_sizes", "diag_embed", "_linalg_det"}


class RecordedOperators(dict):
    """The operators, and the names of those that were looked up."""

    def __init__(self, operators):
        super().__init__(operators)
        self.names = set()

    def get(self, name, other=None):
        self.names.add(name)
        return super().get(name, other)


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def called(function, values):
    return as_tuple(function(**{name: x.clone() if torch.is_tensor(x) else x for name, x in values.items()}))


class Tracing(unittest.TestCase):
    def test_what_torch_computes_is_right_and_other_numbers_are_wrong(self):
        recorded = RecordedOperators(torch_tensors.OPERATORS)
        self.addCleanup(setattr, torch_tensors, "OPERATORS", torch_tensors.OPERATORS)
        torch_tensors.OPERATORS = recorded
        for function, inputs, settings in CASES:
            values = {**dict(zip(inspect.signature(function).parameters, inputs)), **settings}
            found = called(function, values)
            with self.subTest(function.__name__):
                self.assertIn("right", assay.judge(function, found if len(found) > 1 else found[0], **values))
            wrong = [torch.where(y == 0, torch.ones_like(y), y * 1.001) for y in found]
            with self.subTest(function.__name__), self.assertRaisesRegex(AssertionError, "wrong"):
                assay.judge(function, tuple(wrong) if len(wrong) > 1 else wrong[0], **values)
            truth = assay.truth(function, **values)
            for k, y in enumerate(wrong):
                name = f"y{k}" if len(wrong) > 1 else "y"
                with self.subTest(function.__name__, output=k):
                    apart = np.abs(y.double().numpy() - np.asarray(truth[name], dtype=np.float64))
                    self.assertTrue((apart > np.asarray(truth.allowed[name])).any())
        self.assertLessEqual(set(recorded) - recorded.names, OTHER_VERSIONS)

    def test_a_sample_is_of_the_whole_call(self):
        """A sample of positions that do not reach one another has the elements that the whole call has there."""
        self.addCleanup(setattr, sampling, "MOST_STEPS", sampling.MOST_STEPS)
        self.addCleanup(setattr, sampling, "STEPS_OF_SAMPLE", sampling.STEPS_OF_SAMPLE)
        sampling.MOST_STEPS = sampling.STEPS_OF_SAMPLE = 0
        sampled = 0
        for function, inputs, settings in CASES:
            values = {**dict(zip(inspect.signature(function).parameters, inputs)), **settings}
            tensors, settings = asking.split_call(function, values)
            sample = sampling.sampled(asking.formula_of(function, tensors, settings), tensors)
            if sample is None:
                continue
            sampled += 1
            whole, few = called(function, values), called(function, {**settings, **sample.inputs})
            names = list(sample.formula.trace.outputs)
            for name, y in sample.sampled_outputs(dict(zip(names, whole))).items():
                with self.subTest(function.__name__, output=name):
                    torch.testing.assert_close(y, few[names.index(name)])
        self.assertGreater(sampled, 8)

    def test_what_a_sample_may_have(self):
        def scores(q, k):
            return (q @ k.transpose(-1, -2)).softmax(-1)

        def shifted(x):
            return torch.roll(x, 1, 0)

        def mean_of_rows(x):
            return x / x.shape[0]

        def convolved(x, w):
            return F.conv2d(x, w)

        def decayed(x, a):
            h, out = torch.zeros(x.shape[1]), []
            for t in range(x.shape[0]):
                h = a * h + x[t]
                out.append(h)
            return torch.stack(out)
        self.addCleanup(setattr, sampling, "MOST_STEPS", sampling.MOST_STEPS)
        self.addCleanup(setattr, sampling, "STEPS_OF_SAMPLE", sampling.STEPS_OF_SAMPLE)
        sampling.MOST_STEPS = sampling.STEPS_OF_SAMPLE = 0
        for function, inputs, places in (
                (scores, (normal(5, 8, 4), normal(5, 9, 4)), {"q": [2, 2, None], "k": [2, None, None], "y": [2, 2, None]}),
                (shifted, (normal(8, 5),), {"x": [None, 2], "y": [None, 2]}), (mean_of_rows, (normal(8, 1),), None),
                (lambda x: x * torch.ones(len(x)).sum(), (normal(8, 1),), None),
                (lambda x: x * torch.arange(len(x)).sum(), (normal(8, 1),), None),
                (lambda x, y: x + y[:len(x)].sum(), (normal(8, 1), normal(9)), None),
                (decayed, (normal(40, 6), uniform(6)), {"x": [None, 2], "a": [2], "y": [None, 2]}),
                (convolved, (normal(5, 3, 7, 7), normal(6, 3, 2, 2)),
                 {"x": [2, None, None, None], "w": [2, None, None, None], "y": [2, 2, None, None]})):
            tensors = dict(zip(inspect.signature(function).parameters, inputs))
            sample = sampling.sampled(asking.formula_of(function, tensors, {}), tensors)
            with self.subTest(function.__name__):
                self.assertEqual(sample and {name: [one if one is None else len(one) for one in positions]
                                            for name, positions in sample.places.items()},
                                 places)
        q, k = normal(5, 8, 4), normal(5, 9, 4)
        y = scores(q, k)
        self.assertRegex(assay.judge(scores, y, q=q, k=k), r"right: 36 elements.* \(a sample: 2 of 5 positions of axis 0 of y, 2 of 8")
        y[4, 7, 3] *= 1.001
        with self.assertRaisesRegex(AssertionError, r"wrong: y\[4, 7, 3\]"):
            assay.judge(scores, y, q=q, k=k)

    def test_numbers_of_sizes_and_settings_are_exact(self):
        """Nothing is captured, and the truth is that of the same function in NumPy."""
        def halves(x, theta=10000):
            n, d = x.shape
            angle = torch.outer(torch.arange(n).float(), 1.0 / theta ** (torch.arange(0, d, 2).float() / d))
            return x[:, :d // 2] * torch.cos(angle)

        def halves_of_arrays(x, theta=10000):
            n, d = x.shape
            return x[:, :d // 2] * np.cos(np.outer(np.arange(n), 1.0 / theta ** (np.arange(0, d, 2) / d)))
        x = normal(5, 6).double()
        for function, same in ((lambda x: x * x.shape[-1] ** -0.5, lambda x: x * x.shape[-1] ** -0.5),
                               (halves, halves_of_arrays),
                               (lambda x: x / math.sqrt(x.size(-1)), lambda x: x / np.sqrt(x.shape[-1])),
                               (lambda x: x * math.log(2) / 3, lambda x: x * np.log(2) / 3),
                               (lambda x: F.gelu(x), lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))),
                               (lambda x: (x * 0.1).sum(-1), lambda x: (x * 0.1).sum(-1)),
                               (lambda x: torch.exp(x * -math.pi), lambda x: np.exp(x * -np.pi))):
            own = trace(function, {"x": np.zeros(x.shape)})
            nodes = json.loads(own.text)["nodes"]
            self.assertFalse([node for node in nodes if node["op"] == "data" and node["kind"] == "real"])
            truth, other = assay.truth(function, x=x, dtype="f64"), assay.truth(same, x=x.numpy(), dtype="f64")
            np.testing.assert_array_equal(truth["y"], other["y"])

    def test_what_is_cast_to_is_told(self):
        for function, narrowest in ((lambda x: x.half() * 2, "f16"), (lambda x: x.to(torch.bfloat16).float(), "bf16"),
                                    (lambda x: x.float(), "f32"), (lambda x: x.double(), "f64"),
                                    (lambda x: x + torch.zeros(3, dtype=torch.float16), "f16")):
            self.assertEqual(trace(function, {"x": np.zeros(3)}).narrowest, narrowest)

    def test_what_is_captured_is_named(self):
        table = torch.tensor([0.1, 0.7, 0.3])
        (path, line), shape = trace(lambda x: x * table, {"x": np.zeros(3)}).captured[0]
        self.assertEqual((os.path.basename(path), shape), (os.path.basename(__file__), (3,)))

    def test_what_cannot_be_traced_says_where_and_what_to_write(self):
        kept = torch.zeros(3)

        def branch(x):
            if x.sum() > 0:
                return x
            return -x

        def gradient(x):
            x.sum().backward()
            return x

        def writes(x):
            kept.add_(x)
            return kept * 1

        def writes_by_index(x):
            kept[0] = x[0]
            return kept * 1

        def writes_through_a_view(x):
            torch.neg(x[:2], out=kept[1:])
            return kept * 1

        def expanded_and_written(x):
            y = x.expand(2, 3)
            y[0, 0] = 1
            return y * 1

        before = kept.clone()
        for function, said in (
                (branch, "torch.where|numpy.where"), (gradient, r"backward\(\)"), (writes, "was not made by the function"),
                (writes_through_a_view, "was not made by the function"), (writes_by_index, "was not made by the function"),
                               (lambda x: x * x[0].item(), r"item\(\)"),
                (lambda x: torch.from_numpy(x.numpy()), r"numpy\(\)"), (lambda x: x + torch.rand(3), "random numbers"),
                (lambda x: x + torch.randn_like(x), "random numbers"), (lambda x: F.dropout(x, 0.5), "dropout"),
                (lambda x: torch.nn.Dropout()(x), "dropout"), (lambda x: torch.topk(x, 2).values, "torch.topk.*no order"),
                (lambda x: x.sort().values, "torch.sort.*no order"), (lambda x: x * torch.argmax(x), "torch.argmax.*no order"),
                (lambda x: x * x.max(0).indices, "the places that torch.max gives"), (lambda x: x[x > 0], "x.mask."),
                (lambda x: x * float(x[0]), r"float\(\)"), (lambda x: x * len(x.tolist()), r"tolist\(\)"),
                               (lambda x: torch.special.i0(x), "not traced"),
                (lambda x: torch.fft.fft(x).real, "not traced"), (lambda x: x.clone().unsqueeze_(0), r"unsqueeze\(\)"),
                (lambda x: torch.complex(x, x), "view_as_real"),
                               (lambda x: torch.complex(x, x).tanh().real, "of their two parts"),
                (lambda x: F.max_pool1d(x[None], 2, return_indices=True)[1] * 1.0, "the places that"),
                               (expanded_and_written, "expanded"),
                (lambda x: torch.round(x), "torch.round")):
            with self.subTest(said), self.assertRaisesRegex(CannotTrace, said) as refused:
                trace(function, {"x": np.zeros(3)})
            self.assertIn("torch_formulas_test.py:", str(refused.exception))
        self.assertTrue(torch.equal(kept, before))

    def test_the_parameters_of_a_module_are_inputs_and_its_buffers_numbers(self):
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.out, self.drop = torch.nn.Linear(6, 6), torch.nn.Dropout(0.5)
                self.register_buffer("shift", torch.arange(6.0) / 7)

            def forward(self, x, is_shifted=True):
                return self.drop(self.out(x)) + (self.shift if is_shifted else 0)
        block, x = Block(), torch.randn(3, 6)
        formula = as_function(block)
        self.assertEqual(list(formula.parameters), ["out_weight", "out_bias"])
        y = block.eval()(x).detach()
        block.train()
        assay.testing.assert_close(y, block, x)
        assay.testing.assert_close(y - block.shift, block, x, False)
        assay.testing.assert_close(2 * (y - block.shift) + block.shift, block, x, out_weight=2 * block.out.weight.detach(),
                                   out_bias=2 * block.out.bias.detach())
        with self.assertRaisesRegex(AssertionError, "formula/block: wrong"):
            assay.testing.assert_close(y * 1.001, block, x)
        with self.assertRaisesRegex(TypeError, "missing a required argument: 'x'"):
            assay.testing.assert_close(y, block)
        self.assertTrue(block.training)

    def test_parameters_of_one_name_are_refused(self):
        module = torch.nn.Linear(2, 2)
        module.a = torch.nn.Linear(2, 2)
        module.register_parameter("a_weight", torch.nn.Parameter(torch.zeros(2)))
        with self.assertRaisesRegex(TypeError, "Linear: two of its parameters have one name with _ for each dot"):
            as_function(module)

    def test_a_system_with_another_order_of_rows(self):
        """A pivot is 0, from the start or after a step. LAPACK exchanges rows there; the program adds the rows
        below."""
        def solve(a, b):
            return torch.linalg.solve(a, b)
        b = normal(3, 2)
        for a in (torch.eye(3)[[1, 2, 0]], torch.tensor([[1.0, 1, 2], [1, 1, 3], [2, 5, 1]])):
            assay.judge(solve, solve(a, b), a=a, b=b)
            with self.assertRaisesRegex(AssertionError, "wrong"):
                assay.judge(solve, solve(a, b) * 1.001, a=a, b=b)

    def test_a_gate_of_a_module(self):
        frameworks.check_gates(self, """\
import torch, assay
class RMSNorm(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 2, d))
    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
norm = assay.formula(x="B n 16")(RMSNorm(16))
def without_weight(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) + 0 * weight
""", "norm", right=("norm",), wrong=("without_weight",))

    def test_a_function_that_names_no_framework_is_in_that_of_its_arrays(self):
        x, norms = normal(4, 6), {"norm": lambda x, eps: x.square().mean(-1, keepdims=True).add(eps).rsqrt() * x}
        self.assertIn("right", assay.judge(lambda x: norms["norm"](x, 1e-6), norms["norm"](x, 1e-6), x=x))
        self.assertIn("right", assay.judge(lambda x: (x * x).sum(-1), (x * x).sum(-1).numpy(), x=x.numpy()))

    def test_strict_asks_what_roundings_make(self):
        a, b = normal(64, 1024), normal(1024, 64)

        def product(a, b):
            return torch.matmul(a, b)
        self.assertIn("right", assay.judge(product, a @ b, a=a, b=b, strict=True))
        half = (a @ b).half().float()
        self.assertIn("right", assay.judge(product, half, a=a, b=b))
        with self.assertRaisesRegex(AssertionError, "random roundings"):
            assay.judge(product, half, a=a, b=b, strict=True)

    def test_torch_is_as_it_was(self):
        before = torch.get_default_dtype(), torch.is_grad_enabled()
        with self.assertRaises(CannotTrace):
            trace(lambda x: torch.sort(x).values, {"x": np.zeros(3)})
        self.assertEqual(before, (torch.get_default_dtype(), torch.is_grad_enabled()))
        self.assertIs(type(torch.zeros(3)), torch.Tensor)

    def test_a_cache_keeps_nothing_of_a_trace(self):
        kept = {}
        function = lambda x: x * kept.setdefault(3, torch.cos(torch.arange(3.0)))
        trace(function, {"x": np.zeros(3)})
        with self.assertRaisesRegex(CannotTrace, "an earlier trace"):
            trace(function, {"x": np.zeros(3)})


if __name__ == "__main__":
    unittest.main()
