"""Formulas of one's own, and other ways to compute them, for assay gate --formula:

    assay gate --formula python:numpy_formulas:attention --candidate python:my_kernels:flash_attention
    assay check-formula python:numpy_formulas:variance

A formula is the plainest function that gives the right result. It is evaluated exactly, and its steps decide how far a
kernel may differ. A function under assay.same_as computes the same in another way: the rounding of its steps is allowed
as well.
"""
import numpy as np

import assay


@assay.formula(q="B h n d", k="B h m d", v="B h m e")
def attention(q, k, v):
    """Vaswani et al. 2017, eq. (1)."""
    scores = np.einsum("bhnd,bhmd->bhnm", q, k) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


@assay.same_as(attention)
def online_attention(q, k, v):
    """Takes keys block by block, and rescales where the largest score grows (Milakov and Gimelshein 2018, algorithm
    3)."""
    block = 2
    largest = np.full(q.shape[:-1] + (1,), -np.inf)
    total = np.zeros(q.shape[:-1] + (1,))
    out = np.zeros(q.shape[:-1] + (v.shape[-1],))
    for start in range(0, k.shape[2], block):
        keys, values = k[:, :, start:start + block], v[:, :, start:start + block]
        scores = q @ keys.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        new = np.maximum(largest, scores.max(axis=-1, keepdims=True))
        rescale, weights = np.exp(largest - new), np.exp(scores - new)
        total = total * rescale + weights.sum(axis=-1, keepdims=True)
        out = out * rescale + weights @ values
        largest = new
    return out / total


@assay.formula(x="B n d", a="B n d in (0, 1)")
def gated_scan(x, a):
    """h_t = a_t h_(t-1) + (1 - a_t) x_t"""
    h, states = np.zeros_like(x[:, 0]), np.zeros_like(x)
    for t in range(x.shape[1]):
        h = a[:, t] * h + (1 - a[:, t]) * x[:, t]
        states[:, t] = h
    return states


@assay.same_as(gated_scan)
def chunked_scan(x, a):
    """Scans chunks of two from zero; the state before a chunk enters by the product of the gates (Blelloch 1990)."""
    h, states = np.zeros_like(x[:, 0]), np.zeros_like(x)
    for start in range(0, x.shape[1], 2):
        gate, own = np.ones_like(h), np.zeros_like(h)
        for t in range(start, min(start + 2, x.shape[1])):
            gate, own = gate * a[:, t], a[:, t] * own + (1 - a[:, t]) * x[:, t]
            states[:, t] = own + gate * h
        h = own + gate * h
    return states


@assay.formula(x="B n")
def variance(x):
    """The variance of each row about its mean."""
    return np.mean((x - x.mean(axis=-1, keepdims=True)) ** 2, axis=-1)


@assay.same_as(variance)
def welford(x):
    """Updates mean and squares one number after the other (Welford 1962)."""
    mean, total = np.zeros(x.shape[0]), np.zeros(x.shape[0])
    for k in range(x.shape[1]):
        change = x[:, k] - mean
        mean = mean + change / (k + 1)
        total = total + change * (x[:, k] - mean)
    return total / x.shape[1]
