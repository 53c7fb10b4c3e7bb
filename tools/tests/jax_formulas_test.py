#!/usr/bin/env python3
"""Formulas of one's own in JAX: functions of jax.numpy's arrays as programs, for assay.truth and assay.judge.

Run by CTest with ASSAY set to the program; status 77 (skipped) where Python has no JAX.
"""
import functools
import inspect
import json
import math
import os
import unittest

import frameworks

frameworks.needs("jax", "pip install jax")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import assay
from assay.formulas import CannotTrace, jax_programs, trace

RANDOM = np.random.default_rng(1)
CASES = []


def normal(*shape):
    return np.asarray(RANDOM.normal(size=shape), dtype=np.float32)


def uniform(*shape):
    return RANDOM.uniform(size=shape).astype(np.float32)


def whole(*numbers):
    return np.array(numbers, dtype=np.int32)


def case(*inputs, **settings):
    """A function and its inputs, in the order of its parameters: what people write."""
    def add(function):
        CASES.append((function, inputs, settings))
        return function
    return add


# Elementwise.

@case(normal(4, 6), normal(4, 6), normal(6))
def arithmetic(x, y, w):
    return (x + y, x - w, 1 - x, x * 2, -x, x / 3, x / y, 1 / y, jnp.square(x), jnp.abs(x), x * y + w, +x, jnp.reciprocal(y),
            x - 0.5 * y,
            jnp.negative(x), jnp.true_divide(x, 7), jnp.multiply(x, w))


@case(uniform(4, 6) + 0.5, normal(4, 6))
def powers(x, y):
    return (x ** 2, x ** 0.5, x ** -0.5, x ** y, 2 ** y, jnp.sqrt(x), lax.rsqrt(x), jnp.cbrt(x), jnp.power(2.0, y), x ** 3,
            x ** -2,
            jnp.logaddexp(x, y), jnp.hypot(x, y), jnp.exp2(y))


@case(normal(4, 6), uniform(4, 6) + 0.5)
def quotients(x, y):
    return x // y * y, jnp.floor_divide(x, y) + x, x % y + 1, jnp.fmod(x, 2.0) * y, lax.rem(x, y) + 2, jnp.trunc(x) + y


@case(normal(4, 6), normal(4, 6))
def choices(x, y):
    return (jnp.maximum(x, y), jnp.minimum(x, y), jnp.where(x < y, x, y), jnp.where(x > 0, x, 2.0), jnp.clip(x, -0.5, 0.5),
            jnp.clip(x, min=y),
            jnp.select([x > 1, x > 0], [x, y], 3.0), lax.select(x > y, x, y), lax.clamp(-0.25, x, y + 3), jnp.fmax(x, y),
            jnp.fmin(x, y))


@case(normal(4, 6), normal(4, 6))
def truths(x, y):
    a, b = x > 0, y >= 0
    return ((a & b) * x, jnp.where(a | b, x, y), (a ^ b).astype(x.dtype) + x, x * ~a, (x == y) + x, x * (x != y),
            x * jnp.logical_and(a, b),
            x * jnp.logical_or(a, b), x * jnp.logical_not(a), x * a.all(), x * a.any(1, keepdims=True), x * jnp.isnan(x) + y,
            x * jnp.isfinite(y), jnp.where(jnp.isinf(x), y, x), x * jnp.logical_xor(a, b), a.sum(0) + x, jnp.nan_to_num(x))


@case(normal(4, 6))
def integers(x):
    k = jnp.arange(6)
    return (x * (k // 2), x * (k % 4), x * (k & 1), x * (k | 1), x * (k ^ 3), x * (1 << k), x * (k >> 1), x * ~k, x * (k > 2),
            x * k.sum(), x * k.mean(),
            x * jnp.cumsum(k), x * k.max(), x * k.argmax(), x * jnp.argsort(-k), x * k[::-1], x * (k / 4),
            x * lax.div(k, jnp.full(6, 4)), x * k ** 2,
            x * jnp.sort(-k), x * abs(k - 3), x * jnp.sign(k - 2), x * jnp.round(k / 4), x * lax.rem(k - 3, jnp.full(6, 2)))


@case(normal(4, 6), whole(3, -1, 4, 1, -5, 9))
def integers_that_are_given(x, k):
    return (x * (k // 2), x * (k % 4), x * (k > 2), x * k, x * k.sum(), x * lax.rem(k, jnp.full_like(k, 2)),
            x * lax.div(k, jnp.full_like(k, 2)), x * k ** 2,
            x * k.max(), x * jnp.minimum(k, 2), x * (k @ k), x * jnp.cumsum(k), x * (k << 1), x * (k >> 1), x * jnp.abs(k),
            x * k.astype(bool))


@case(normal(4, 6))
def functions_of_one(x):
    return (jnp.exp(x), jnp.log(jnp.abs(x) + 1), jnp.log1p(jnp.abs(x)), jnp.log2(jnp.abs(x) + 2), jnp.log10(jnp.abs(x) + 2),
            jnp.sin(x), jnp.cos(x),
            jnp.tan(x), jnp.tanh(x), jnp.sinh(x), jnp.cosh(x), jnp.expm1(x), jnp.sign(x) + x, jnp.floor(x) + x, jnp.ceil(x) + x,
            lax.erf(x), jax.scipy.special.erf(x), jax.scipy.special.erfc(x), jnp.deg2rad(x), jnp.sinc(x), lax.logistic(x))


@case(normal(4, 6))
def activations(x):
    n = jax.nn
    return (n.relu(x), n.relu6(x * 4), n.silu(x), n.swish(x), n.gelu(x), n.gelu(x, approximate=False), n.softplus(x), n.elu(x),
            n.celu(x, 0.5), n.selu(x),
            n.leaky_relu(x, 0.1), n.hard_tanh(x), n.hard_sigmoid(x), n.hard_swish(x), n.log_sigmoid(x), n.glu(x),
            n.soft_sign(x), n.sigmoid(x),
            n.softmax(x), n.softmax(x, axis=0), n.log_softmax(x), n.logsumexp(x, axis=1), n.standardize(x), n.squareplus(x),
            n.mish(x), n.sparse_plus(x))


# Along axes.

@case(normal(3, 4, 5) + 0.5)
def sums(x):
    return (x.sum(), x.sum(-1), x.sum((0, 2), keepdims=True), x.mean(1), x.mean(), x.max(1), x.min((0, -1)), x.max(),
            jnp.prod(x, 1), x.var(), x.var(1, ddof=1),
            x.std(0), x.cumsum(1), jnp.cumprod(x, -1), lax.cumsum(x, 1, reverse=True), lax.cummax(x, 1),
            lax.cummin(x, 2, reverse=True), lax.cumlogsumexp(x, 1),
            jax.scipy.special.logsumexp(x, axis=(0, 1)), jnp.linalg.norm(x), jnp.linalg.norm(x, axis=1),
            jnp.average(x, 1, weights=jnp.arange(4.0)),
            jnp.ptp(x, 1), jnp.diff(x), jnp.nansum(x, 1), jnp.nanmean(x, 0), jnp.linalg.norm(x[0], ord=1, axis=1),
            jnp.trace(x[0]), jnp.sum(x, where=x > 0))


@case(normal(), np.array(3, np.int32))
def without_axes(x, y):
    return (x + y, jnp.exp(x) * y, x[None] * 2, x.sum(), jnp.stack([x, x + 1]), jnp.broadcast_to(x, (3,)) * y, x.reshape(1, 1),
            jax.nn.relu(x) + 1)


@case(normal(3, 6), uniform(6), normal(6))
def layer_norm(x, scale, bias, eps=1e-6):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    var = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + eps) * scale + bias


@case(normal(3, 6), uniform(6))
def rms_norm(x, scale, eps=1e-5):
    dtype = x.dtype
    x = jnp.asarray(x, jnp.float32)
    x = x * lax.rsqrt(jnp.mean(lax.square(x), axis=-1, keepdims=True) + eps)
    return x.astype(dtype) * (1 + scale)


@case(normal(2, 4, 4, 6), uniform(6), normal(6))
def group_norm(x, scale, bias):
    groups = x.reshape(2, 4, 4, 3, 2)
    mean, var = groups.mean((1, 2, 4), keepdims=True), groups.var((1, 2, 4), keepdims=True)
    return ((groups - mean) / jnp.sqrt(var + 1e-5)).reshape(x.shape) * scale + bias


# Products, and attention.

@case(normal(3, 4), normal(4, 5), normal(5), normal(2, 3, 4), normal(2, 4, 5))
def products(a, b, v, p, q):
    return (a @ b, b @ v, v @ v, p @ q, jnp.matmul(p, b), jnp.dot(a, b), jnp.outer(v, v), jnp.einsum("ij,jk->ik", a, b),
            jnp.einsum("bij,bjk,k->bi", p, q, v),
            jnp.einsum("...i,ij->...j", p, b), jnp.tensordot(p, b, 1), jnp.inner(v, v), jnp.vdot(v, v), jnp.kron(v, v),
            lax.dot(a, b), jnp.einsum("bij->bj", p),
            lax.dot_general(p, q, (((2,), (1,)), ((0,), (0,)))), jnp.einsum("ii->i", a[:, :3]),
            jnp.einsum("bij,bjk->ikb", p, q), jnp.cross(a[:, :3], a[:, 1:]))


@case(normal(2, 5, 2, 4), normal(2, 5, 2, 4), normal(2, 5, 2, 4), causal=True)
def attention(q, k, v, causal=False):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    if causal:
        mask = jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool))
        scores = jnp.where(mask, scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)


@case(normal(2, 5, 2, 4), normal(2, 5, 2, 4), normal(2, 5, 2, 4))
def attention_by_name(q, k, v):
    return (jax.nn.dot_product_attention(q, k, v, is_causal=True),
            jax.nn.dot_product_attention(q, k, v, bias=jnp.ones((5, 5)), scale=0.5))


@case(normal(1, 6, 4, 4), normal(1, 6, 2, 4), normal(1, 6, 2, 4), whole(1, 1, 1, 2, 2, 2)[None])
def grouped_attention_of_segments(q, k, v, segments):
    """As MaxText has it: two queries of each key, a mask of segments, and a cap of the logits."""
    b, t, n, d = q.shape
    q = q.reshape(b, t, k.shape[2], n // k.shape[2], d) / math.sqrt(d)
    logits = jnp.einsum("btkgd,bskd->bkgts", q, k)
    logits = jnp.tanh(logits / 50.0) * 50.0
    rows, columns = lax.broadcasted_iota(jnp.int32, (t, t), 0), lax.broadcasted_iota(jnp.int32, (t, t), 1)
    mask = (segments[:, :, None] == segments[:, None, :]) & (columns <= rows)[None]
    logits = jnp.where(mask[:, None, None], logits, -0.7 * float(np.finfo(np.dtype("float32")).max))
    logits = logits - jnp.max(logits, axis=-1, keepdims=True)
    weights = jnp.exp(logits)
    found = jnp.einsum("bkgts,bskd->btkgd", weights, v) / jnp.moveaxis(weights.sum(-1), -1, 1)[..., None]
    return found.reshape(b, t, n, d)


@case(normal(1, 4, 2, 4), normal(1, 8, 2, 4), normal(1, 8, 2, 4))
def online_softmax_attention(q, k, v):
    """Blocks of keys, one after another, as flash attention has it."""
    def step(carry, block):
        most, total, out = carry
        keys, values = block
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, keys)
        new = jnp.maximum(most, scores.max(-1))
        weights, old = jnp.exp(scores - new[..., None]), jnp.exp(most - new)
        return (new, total * old + weights.sum(-1), out * old[..., None] + jnp.einsum("bhqk,bkhd->bhqd", weights, values)), None
    blocks = [jnp.moveaxis(x.reshape(1, 4, 2, 2, 4), 1, 0) for x in (k, v)]
    start = jnp.full((1, 2, 4), -jnp.inf), jnp.zeros((1, 2, 4)), jnp.zeros((1, 2, 4, 4))
    (_, total, out), _ = lax.scan(step, start, tuple(blocks))
    return jnp.swapaxes(out / total[..., None], 1, 2)


@case(normal(1, 5, 2, 6), theta=10000.0)
def rotary(x, theta):
    half = x.shape[-1] // 2
    timescale = theta ** (2 * jnp.arange(half) / x.shape[-1])
    angle = jnp.arange(x.shape[1])[:, None] / timescale
    sin, cos = jnp.sin(angle)[None, :, None], jnp.cos(angle)[None, :, None]
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


@case(normal(5, 6))
def rotary_of_numpy(x):
    frequencies = 1.0 / (10000 ** (np.arange(0, x.shape[-1], 2) / x.shape[-1]))
    angle = np.outer(np.arange(x.shape[0]), frequencies)
    a, b = x[:, ::2], x[:, 1::2]
    return jnp.stack([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], -1).reshape(x.shape)


@case(normal(5, 4), normal(4, 8), normal(4, 8), normal(8, 4))
def gated_feed_forward(x, gate, up, down):
    return (jax.nn.silu(x @ gate) * (x @ up)) @ down


@case(normal(6, 4), normal(4, 3), normal(3, 4, 4))
def mixture_of_experts(x, router, experts):
    gates = jax.nn.softmax(x @ router)
    return jnp.einsum("te,tef->tf", gates, jnp.einsum("td,edf->tef", x, experts))


# Loops.

@case(normal(6, 4), uniform(6, 4))
def recurrence(x, a):
    return lax.scan(lambda h, row: (row[1] * h + row[0],) * 2, jnp.zeros(4), (x, a))[1]


@case(normal(6, 4))
def recurrence_reversed(x):
    last, rows = lax.scan(lambda h, row: (0.9 * h + row, h * 2 + row), jnp.zeros(4), x, reverse=True)
    return last, rows


@case(normal(6, 4), uniform(6, 4))
def associative(x, a):
    def combine(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]
    return (lax.associative_scan(combine, (a, x))[1], lax.associative_scan(jnp.add, x, reverse=True),
            lax.associative_scan(jnp.maximum, x))


@case(normal(6, 4), uniform(6, 3), normal(6, 3), normal(6, 3))
def selective_state_space(x, dt, b, c):
    """The selective scan of Mamba, with a state of 4 by 3 numbers."""
    decay = -jnp.exp(jnp.arange(3.0) / 3)

    def step(h, row):
        u, d, into, out = row
        h = h * jnp.exp(d * decay) + jnp.outer(u, d * into)
        return h, h @ out
    return lax.scan(step, jnp.zeros((4, 3)), (x, dt, b, c))[1]


@case(normal(5, 4), normal(4, 12), normal(3, 12))
def gated_recurrent_unit(x, w, u):
    def step(h, row):
        zi, ri, ni = jnp.split(row @ w[:, :9], 3)
        zh, rh, nh = jnp.split(h @ u[:, :9], 3)
        z, r = jax.nn.sigmoid(zi + zh), jax.nn.sigmoid(ri + rh)
        h = (1 - z) * jnp.tanh(ni + r * nh) + z * h
        return h, h
    return lax.scan(step, jnp.zeros(3), x)[1]


@case(normal(6, 4))
def loops(x):
    doubled = lax.fori_loop(0, 3, lambda k, y: y * 2 + k, x)
    written = lax.fori_loop(0, 6, lambda t, y: y.at[t].set(x[t] * (t + 1)), jnp.zeros_like(x))
    count, halved = lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] / 2), (0, x))
    return (doubled, written, halved + count, lax.map(lambda row: row / row.max(), x),
            lax.scan(lambda c, _: (c * 0.5, None), x, None, length=3)[0])


@case(normal(3, 3) + 3 * np.eye(3, dtype=np.float32))
def newton_schulz(g):
    x = g / (jnp.linalg.norm(g) + 1e-7)

    def step(x, _):
        a = x @ x.T
        return 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x, None
    return lax.scan(step, x, None, length=2)[0]


@case(normal(4, 6))
def branches(x):
    known = lax.cond(x.shape[0] > 3, jnp.sin, jnp.cos, x)
    chosen = lax.cond(x[0, 0] > 0, jnp.sin, lambda y: y * 2, x)
    switched = lax.switch((x[0] > 0).sum(), [lambda y: y, lambda y: y * 2, lambda y: y + 3, jnp.exp], x)
    return known, chosen, switched, lax.select_n((x > 0).astype(jnp.int32), x * 2, x * 3)


# Transformations.

@case(normal(3, 4), normal(4, 4))
def transformed(x, w):
    @jax.jit
    def inner(row):
        return jnp.tanh(row @ w)

    @functools.partial(jax.jit, static_argnames="power")
    def with_setting(x, power):
        return x ** power
    return (jax.vmap(inner)(x), inner(x) * 2, jax.vmap(jax.vmap(lambda a: a * 2 + 1))(x), jax.checkpoint(inner)(x),
            with_setting(x, power=3),
            jax.vmap(jnp.outer)(x, x), lax.stop_gradient(x) * 2, jax.vmap(lambda i, row: row[i])(jnp.arange(3), x))


@case(normal(3, 4), normal(4, 4))
def gradients(x, w):
    def loss(x):
        return jnp.sum(jax.nn.relu(jnp.tanh(x @ w)) + jax.nn.softplus(x))

    @jax.custom_vjp
    def cube(x):
        return x ** 3
    cube.defvjp(lambda x: (x ** 3, x), lambda x, g: (3 * x * x * g,))
    return (jax.grad(loss)(x), cube(x), jax.grad(lambda x: cube(x).sum())(x), jax.jvp(jnp.sin, (x,), (x,))[1],
            jax.grad(lambda x: jax.nn.softmax(x)[0, 0])(x))


# Shapes.

@case(normal(2, 3, 4))
def shapes(x):
    return (x.reshape(6, 4), x.ravel(), x.transpose(2, 0, 1), x.swapaxes(0, -1), x[0].T, x.mT, x[:, None],
            x[..., None].squeeze(-1), jnp.broadcast_to(x, (5, 2, 3, 4)),
            x[:, ::2], x[::-1], *jnp.split(x, 2, -1), *jnp.split(x, [1], 1), jnp.concatenate([x, x * 2], -1),
            jnp.stack([x, x], 1), jnp.flip(x, 0), jnp.roll(x, 1, -1),
            jnp.roll(x, (1, 2), (0, 1)), jnp.tile(x, (2, 1, 1)), jnp.repeat(x, 2, axis=1), jnp.tril(x), jnp.triu(x, 1),
            jnp.diagonal(x, 0, 1, 2), jnp.diag(x[0, 0]),
            jnp.pad(x, ((0, 0), (1, 2), (0, 1))), jnp.pad(x, 1, constant_values=2.0),
            lax.pad(x, 0.5, ((0, 1, 0), (-1, 0, 0), (1, 0, 2))), jnp.expand_dims(x, (0, 3)),
            jnp.moveaxis(x, 0, -1), jnp.rot90(x[0]), *jnp.meshgrid(x[0, 0], x[0, 1]),
            jnp.pad(x, ((0, 0), (0, 0), (1, 1)), mode="edge"), jnp.hstack([x, x]),
            jnp.pad(x[0, 0], 2, mode="reflect"), lax.rev(x, (0, 2)), jnp.zeros_like(x) + x, jnp.ones((3, 1)) * x,
            x * jnp.eye(3, 4), x * jnp.linspace(0, 1, 4))


@case(normal(2, 6, 6, 3))
def pools(x):
    window = (1, 2, 2, 1)
    total = lax.reduce_window(x, 0.0, lax.add, window, window, "VALID")
    return (total / 4, lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
            lax.reduce_window(x, jnp.inf, lax.min, window, (1, 1, 1, 1), "VALID"))


# By indices.

@case(normal(4, 6), whole(2, 0, 3), whole(1, 5, 2, 2))
def indices(x, i, j):
    k = jnp.array([1, 2])
    return (x[i], x[:, k], x[k, k], x[i, :2], x[i[0]], x[:, i[1]], jnp.take(x, i, axis=0), jnp.take(x, k, axis=1),
            jnp.take_along_axis(x, j[:, None], 1),
            jnp.take_along_axis(x, k[None, :], axis=1), x[jnp.arange(4), j], x[jnp.arange(4)[:, None], jnp.array([[0, 1]])],
            x[-1], x[i][:, k][..., None],
            jax.nn.one_hot(j, 6) @ x.T, x.at[i].get(mode="fill", fill_value=0.0), jnp.take(x, i + 2, axis=0, mode="clip"),
            x[1:3, i[0]],
            jax.vmap(lambda row, index: row[index])(x, j),
            jax.vmap(lambda row, index: lax.dynamic_slice(row, (index,), (3,)))(x, j),
            x.at[i + 2].get(mode="fill", fill_value=7.0))


@case(normal(4, 6), normal(3, 6), whole(2, 0, 2), np.array(1, np.int32))
def writes(x, y, i, index):
    k = jnp.array([3, 0, 1])
    return (x.at[k].set(y), x.at[0].set(y[0]), x.at[:, 2].set(1.0), x.at[1:3].set(y[:2]), x.at[i].add(y), x.at[k].add(y),
            x.at[k, k].set(y[:, 0]), x.at[index].set(y[0]),
            x.at[:, index].set(5.0), x.at[i].max(y), x.at[k].min(y), x.at[i].multiply(y), x.at[jnp.arange(4), index].set(9.0),
            x.at[::2].add(1.0), x.at[k, i].add(y[:, 1]),
            jax.ops.segment_sum(y, i, 4) + x, x.at[i + 3].add(y, mode="drop"), x.at[jnp.array([1, 9])].set(y[:2], mode="drop"),
            x.at[index + 4].set(y[0], mode="drop"),
            x.at[..., -1].multiply(3.0), jnp.zeros((4, 6)).at[i].add(y) + x)


@case(normal(4, 6), normal(2, 3), np.array(1, np.int32))
def dynamic_slices(x, part, index):
    return (lax.dynamic_slice(x, (index, 2), (2, 3)), lax.dynamic_slice_in_dim(x, index, 2),
            lax.dynamic_index_in_dim(x, index, 1),
            lax.dynamic_update_slice(x, part, (index, index)),
            lax.dynamic_update_slice(x, part, (1, 2)), lax.dynamic_update_slice_in_dim(x, x[:1] * 2, index, 0),
            lax.dynamic_slice(x, (index + 5, 4), (2, 3)),
            lax.dynamic_update_slice(x, part, (index + 7, index)))


@case(normal(2, 4, 3), normal(2, 1, 3), whole(1, 3))
def cache_of_keys(cache, key, position):
    """Writes the key of each row of a batch at its own place."""
    return (jax.vmap(lambda c, k, p: lax.dynamic_update_slice(c, k, (p, 0)))(cache, key, position),
            cache.at[jnp.arange(2), position].set(key[:, 0]))


@case(normal(5, 7), whole(3, 0, 6, 2, 2))
def cross_entropy(logits, labels):
    log_probabilities = jax.nn.log_softmax(logits)
    return (-jnp.take_along_axis(log_probabilities, labels[:, None], axis=-1)[:, 0],
            -(jax.nn.one_hot(labels, 7) * log_probabilities).sum(-1).mean(),
            jax.scipy.special.logsumexp(logits, -1) - logits[jnp.arange(5), labels])


@case(normal(9, 4), whole(1, 8, 0), normal(3, 4))
def embeddings(table, tokens, positions):
    return table[tokens] * jnp.sqrt(4.0) + positions, jnp.asarray(table)[(tokens,)], jnp.take(table, tokens, axis=0)


@case(normal(3, 4), normal(3, 4), normal(3, 4), normal(3, 4), step=7)
def adam(x, g, m, v, step):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v * v + 0.001 * g * g
    return x - 0.001 * (m / (1 - 0.9 ** step)) / (jnp.sqrt(v / (1 - 0.999 ** step)) + 1e-8), {"m": m, "v": v}


@case(normal(4, 8), normal(8))
def quantized(x, w):
    scale = jnp.max(jnp.abs(x), axis=-1, keepdims=True) / 127.0
    return jnp.floor(x / scale + 0.5) * scale @ w


def called(function, values):
    """The outputs of the function itself, in f32; compiled once, and not operator by operator."""
    given = {name: jnp.asarray(x) for name, x in values.items() if isinstance(x, np.ndarray)}
    settings = {name: x for name, x in values.items() if name not in given}
    return [np.asarray(y) for y in jax_programs.named_outputs(jax.jit(functools.partial(function, **settings))(**given)).values()]


class Formulas(unittest.TestCase):
    def test_what_jax_computes_is_right_and_other_numbers_are_wrong(self):
        for function, inputs, settings in CASES:
            values = {**dict(zip(inspect.signature(function).parameters, inputs)), **settings}
            found = called(function, values)
            wrong = [np.where(y == 0, np.float32(1), y * np.float32(1.001)) for y in found]
            with self.subTest(function.__name__):
                self.assertIn("right", assay.judge(function, tuple(found) if len(found) > 1 else found[0], **values))
                with self.assertRaisesRegex(AssertionError, "wrong"):
                    assay.judge(function, tuple(wrong) if len(wrong) > 1 else wrong[0], **values)
                truth = assay.truth(function, **values)
                for k, y in enumerate(wrong):
                    name = f"y{k}" if len(wrong) > 1 else "y"
                    self.assertTrue((np.abs(y - truth[name]) > truth.allowed[name]).any(), name)

    def test_numbers_of_sizes_and_settings_are_exact(self):
        """Nothing is captured, and the truth is that of the same function in NumPy."""
        def halves(x, theta=10000):
            n, d = x.shape
            angle = np.outer(np.arange(n), 1.0 / theta ** (np.arange(0, d, 2) / d))
            return x[:, :d // 2] * np.cos(angle)

        def halves_by_jax(x, theta=10000):
            n, d = x.shape
            angle = jnp.outer(jnp.arange(n), 1.0 / theta ** (jnp.arange(0, d, 2) / d))
            return x[:, :d // 2] * jnp.cos(angle)

        def halves_by_both(x, theta=10000):
            n, d = x.shape
            angle = np.outer(np.arange(n), 1.0 / theta ** (np.arange(0, d, 2) / d))
            return x[:, :d // 2] * jnp.cos(jnp.asarray(angle))

        def marked_numpy(function):
            function.framework = "numpy"
            return function
        x = RANDOM.normal(size=(5, 6))
        for function, same in ((halves_by_jax, marked_numpy(halves)), (halves_by_both, halves),
                               (lambda x: jnp.negative(x) / math.sqrt(x.shape[-1]), lambda x: -x / np.sqrt(x.shape[-1])),
                               (lambda x: jnp.negative(x) / np.sqrt(x.shape[-1]), lambda x: -x / np.sqrt(x.shape[-1])),
                               (lambda x: jnp.negative(x) * np.pi / 3, lambda x: -x * np.pi / 3),
                               (lambda x: jnp.asarray(x, jnp.float32) * 0.1, lambda x: x * 0.1),
                               (lambda x: jnp.asarray(x, jnp.float32) / math.sqrt(6), lambda x: x / np.sqrt(6))):
            truth = assay.truth(function, x=x)
            with self.subTest(inspect.getsource(function)):
                self.assertEqual(trace(function, {"x": x}).captured, [])
                self.assertTrue((np.abs(truth["y"] - assay.truth(same, x=x)["y"]) <= 2**-52 * np.abs(truth["y"])).all())

    def test_what_jax_keeps_of_an_earlier_trace_is_not_taken(self):
        @jax.jit
        def function(x):
            return x * jnp.sin(x) / math.sqrt(x.shape[-1]) * np.cos(np.arange(3))
        first, second = (trace(function, {"x": np.zeros(3)}) for _ in range(2))
        self.assertEqual(first.text, second.text)
        self.assertEqual(second.captured, [])
        self.assertIn('"cos"', first.text)
        self.assertEqual(function(jnp.ones(3)).shape, (3,))

    def test_what_is_cast_to_is_told(self):
        for function, narrowest in ((lambda x: x.astype(jnp.float16) * 2, "f16"),
                                    (lambda x: x.astype(jnp.bfloat16).astype(jnp.float32), "bf16"),
                                    (lambda x: jnp.asarray(x, jnp.float32), "f32"), (lambda x: jnp.sin(x), "f64"),
                                    (lambda x: x + jnp.zeros(3, dtype=jnp.float16), "f16"),
                                    (lambda x: lax.reduce_precision(x, 8, 7), "bf16"),
                                    (lambda x: jnp.einsum("i,i", x, x, preferred_element_type=jnp.float32), "f32")):
            with self.subTest(narrowest):
                self.assertEqual(trace(function, {"x": np.zeros(3)}).narrowest, narrowest)

    def test_what_is_captured_is_named(self):
        table = jnp.array([0.1, 0.7, 0.3])
        (path, line), shape = trace(lambda x: jnp.sin(x) * table, {"x": np.zeros(3)}).captured[0]
        self.assertEqual((os.path.basename(path), shape), (os.path.basename(__file__), (3,)))
        self.assertEqual(line, inspect.currentframe().f_lineno - 2)

    def test_each_node_has_its_line(self):
        """A node has the line that called a function, even if JAX keeps the equations of an earlier call from another
        line."""
        first = inspect.currentframe().f_lineno + 3

        def function(x):
            y = jnp.where(x > 0, x, 2.0)
            z = jnp.sin(y)
            return jnp.where(z > 1, z, 3.0)
        trace(function, {"x": np.zeros(3)})
        found = trace(function, {"x": np.zeros(3)})
        ops = [node["op"] for node in json.loads(found.text)["nodes"]]
        lines = {(op, line) for op, (path, line, _) in zip(ops, found.steps)
                 if os.path.basename(path) == os.path.basename(__file__)}
        for step in (("where", first), ("sin", first + 1), ("where", first + 2)):
            self.assertIn(step, lines)

    def test_loops_are_rolled_up(self):
        def reversed_(x, a):
            return lax.scan(lambda h, row: (row[1] * h + row[0],) * 2, jnp.zeros(4), (x, a), reverse=True)[1]

        def counted(x, a):
            return lax.fori_loop(0, x.shape[0], lambda t, h: h * a[t] + x[t], jnp.zeros(4))
        for function in (recurrence, reversed_, counted):
            short, long = (len(trace(function, {"x": np.zeros((n, 4)), "a": np.zeros((n, 4))}).text) for n in (32, 64))
            with self.subTest(inspect.getsource(function)):
                self.assertLess(long, short + 400)

    def test_what_cannot_be_traced_says_where_and_what_to_write(self):
        def branch(x):
            if jnp.sum(x) > 0:
                return x
            return -x

        def until(x):
            return lax.while_loop(lambda y: y[0] < 1, lambda y: y * 2 + 1, x)

        def dropped(x):
            return jnp.where(jax.random.bernoulli(jax.random.key(0), 0.5, x.shape), x, 0)
        for function, said in (
                (branch, "`if`.*jnp.where"), (until, "as long as the inputs decide"), (dropped, "random numbers"),
                (lambda x: x + jax.random.normal(jax.random.PRNGKey(0), (3,)), "random numbers"),
                (lambda x: jnp.sort(x), "jax.lax.sort.*no order"),
                (lambda x: jnp.argsort(x) * x, "jax.lax.sort.*no order"),
                (lambda x: x * jnp.argmax(x), "jax.lax.argmax.*no order"),
                (lambda x: lax.top_k(x, 2)[0], "jax.lax.top_k.*no order"), (lambda x: jnp.median(x), "jax.lax.sort"),
                (lambda x: jnp.sin(x)[x > 0], "x.mask."),
                (lambda x: x * float(jnp.sum(x)), "a number that the inputs decide"),
                (lambda x: jnp.sin(x) * x[0].item(), "a number that the inputs decide"),
                (lambda x: jnp.asarray(np.sort(x)), "the type|an array of numbers"),
                (lambda x: jnp.fft.fft(x).real, "not traced|complex"),
                (lambda x: jnp.arctan(x), "jax.lax.atan is not traced"),
                (lambda x: jax.scipy.special.gammaln(x), "jax.lax.lgamma is not traced"),
                (lambda x: jnp.round(x), r"round\(\)"), (lambda x: jnp.floor(x).astype(int) * x, "a cast of reals to integers"),
                (lambda x: jnp.convolve(x, x), "jax.lax.conv_general_dilated is not traced"),
                (lambda x: jnp.linalg.inv(jnp.outer(x, x)), "not traced"),
                (lambda x: x.astype(jnp.float8_e4m3fn).astype(x.dtype), "float8"),
                (lambda x: jnp.sin(x).at[jnp.sign(x).astype(int)].set(1.0), "a cast of reals"),
                (lambda x: jnp.exp(1j * x).real, "complex")):
            with self.subTest(said), self.assertRaisesRegex(CannotTrace, said) as refused:
                trace(function, {"x": np.zeros(3)})
            self.assertIn("jax_formulas_test.py:", str(refused.exception))
            self.assertEqual(os.path.basename(refused.exception.path), "jax_formulas_test.py")
            code = function.__code__
            self.assertIn(refused.exception.line,
                          {line for one in [code, *(c for c in code.co_consts if hasattr(c, "co_lines"))]
                                                   for _, _, line in one.co_lines()}, said)
        with self.assertRaisesRegex(CannotTrace, "the order of writes"):
            trace(lambda x, i: jnp.sin(x).at[i].set(x), {"x": np.zeros(3), "i": np.zeros(3, int)})

    def test_what_no_output_hangs_on_is_not_asked(self):
        def function(x):
            jax.debug.print("{}", x)
            jnp.argmax(x)
            jax.random.normal(jax.random.key(0), (3,))
            return jnp.sin(x)
        self.assertEqual([node["op"] for node in json.loads(trace(function, {"x": np.zeros(3)}).text)["nodes"]],
                         ["input", "sin"])

    def test_jax_and_numpy_are_as_they_were(self):
        before = jax.config.jax_enable_x64, np.sin, np.arange
        with self.assertRaises(CannotTrace):
            trace(lambda x: jnp.sort(x), {"x": np.zeros(3)})
        self.assertEqual(before, (jax.config.jax_enable_x64, np.sin, np.arange))
        self.assertEqual(jnp.ones(3).dtype, jnp.float32)

    def test_where_numbers_become_none_is_told(self):
        function = lambda x: jnp.sum(jnp.log(x))
        said = jax_programs.where_nan_begins(function, {"x": np.array([1.0, -1.0])}, {}, "f64")
        self.assertRegex(said, rf"nan.*log at .*jax_formulas_test.py:{inspect.currentframe().f_lineno - 2}")
        self.assertIsNone(jax_programs.where_nan_begins(function, {"x": np.array([1.0, 2.0])}, {}, "f32"))

    def test_outputs_have_names(self):
        for function, names in ((lambda x: jnp.sin(x), ["y"]), (lambda x: (jnp.sin(x),), ["y"]),
                                (lambda x: [jnp.sin(x), None, x], ["y0", "y1"]),
                                (lambda x: {"b": jnp.sin(x), "a": (x, x)}, ["a0", "a1", "b"]),
                                (lambda x: [jnp.sin(x) + k for k in range(11)], [f"y{k}" for k in range(11)])):
            self.assertEqual(list(trace(function, {"x": np.zeros(3)}).outputs), names)

    def test_a_gate_of_a_formula(self):
        frameworks.check_gates(self, """\
import jax, jax.numpy as jnp, assay
@assay.formula(x="B n d", w="d")
def rms_norm(x, w):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * w
def compiled(x, w):
    return jax.jit(rms_norm)(x, w)
def other_epsilon(x, w):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * w
""", "rms_norm", right=("compiled",), wrong=("other_epsilon",), properties="value")


if __name__ == "__main__":
    unittest.main()
