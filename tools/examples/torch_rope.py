#!/usr/bin/env python3
"""Candidate: rotary position embedding (Su et al. 2021, arXiv:2104.09864, eqs. 15 and 34) in PyTorch, with derivatives
by autograd. Frequencies and angles are f64 for every dtype: in f32 an angle at position 2^24 would be off by about 1.
Run it with: assay gate --candidate 'process:/usr/bin/python3 torch_rope.py'
"""
import os
import sys

import torch

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, host) for host in ("../adapters/python", "../../../assay/python")]  # source, installed
from assay import Candidate

candidate = Candidate("torch-rope", version=torch.__version__, properties={"deterministic": True})
torch.set_num_threads(1)


def exponents(pairs):
    return torch.arange(pairs, dtype=torch.float64) / max(pairs, 1)


def rotate_pairs(x, angle, layout):
    """The first 2r features of x [B, n, h, d] by angle [B, n, r]."""
    pairs = angle.shape[-1]
    turning, rest = x[..., :2 * pairs].double(), x[..., 2 * pairs:]
    if layout == "half_split":
        first, second = turning[..., :pairs], turning[..., pairs:]
    else:
        first, second = turning[..., 0::2], turning[..., 1::2]
    cosine, sine = angle.cos().unsqueeze(-2), angle.sin().unsqueeze(-2)  # one for all heads
    turned = (first * cosine - second * sine, first * sine + second * cosine)
    turned = torch.cat(turned, -1) if layout == "half_split" else torch.stack(turned, -1).flatten(-2)
    return torch.cat((turned.to(x.dtype), rest), -1)


@candidate.torch("rope/frequencies", dtypes=["f32", "f64"])
def frequencies(base, pairs, scaling, factor):
    wide = base.double().unsqueeze(-1)
    if scaling == "ntk" and pairs > 1:
        wide = wide * factor ** (pairs / (pairs - 1))
    theta = wide ** -exponents(pairs)
    return {"theta": (theta / factor if scaling == "interpolation" else theta).to(base.dtype)}


@candidate.torch("rope/rotate", dtypes=["f32", "f64"])
def rotate(x, position, layout, rotary, base, position_scale):
    theta = base ** -exponents(rotary or x.shape[-1] // 2)
    return {"y": rotate_pairs(x, (position.double() / position_scale).unsqueeze(-1) * theta, layout)}


@candidate.torch("rope/rotate_by", dtypes=["f32", "f64"])
def rotate_by(x, theta, position, layout):
    return {"y": rotate_pairs(x, position.double().unsqueeze(-1) * theta.double(), layout)}


candidate.serve()
