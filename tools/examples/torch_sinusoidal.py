#!/usr/bin/env python3
"""Candidate: sinusoidal position encodings (Vaswani et al. 2017, arXiv:1706.03762, section 3.5) in PyTorch. Angles are
formed in f64 whatever the dtype of the table: in f32 one rounding of an angle near position 10^5 costs three digits.
Run it with: assay gate --candidate 'process:/usr/bin/python3 torch_sinusoidal.py'
"""
import os
import sys

import torch

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, host) for host in ("../adapters/python", "../../../assay/python")]  # source, installed
from assay import Candidate

candidate = Candidate("torch-sinusoidal", version=torch.__version__, properties={"deterministic": True})
torch.set_num_threads(1)


def arrange(angles, trailing, layout, first):
    """Both functions of all angles [n, pairs], `trailing` columns of the second one."""
    one, other = (angles.sin(), angles.cos()) if first == "sine" else (angles.cos(), angles.sin())
    other = other[:, :trailing]
    if layout == "half_split":
        return torch.cat([one, other], 1)
    paired = torch.stack([one[:, :trailing], other], 2).flatten(1)
    return torch.cat([paired, one[:, trailing:]], 1)


def exponents(count, width, rule):
    i = torch.arange(count, dtype=torch.float64)
    return i / max(count - 1, 1) if rule == "tensor2tensor" else 2 * i / width


@candidate.torch("sinusoidal/table", dtypes=["f32", "f64"])
def table(position, width, layout, first, rule, base, offset, odd, alpha, dtype):
    trailing = width // 2
    leading = width - trailing if odd == "extra" else trailing
    t = exponents(leading, 2 * trailing if odd == "padded" else width, rule)
    theta = t ** alpha if rule == "power" else base ** -t
    p = arrange((position + offset).double()[:, None] * theta, trailing, layout, first)
    return {"p": torch.nn.functional.pad(p, (0, width - leading - trailing)).to(dtype)}


@candidate.torch("sinusoidal/table_at", dtypes=["f32", "f64"])
def table_at(position, theta, layout, first):
    angles = position.double()[:, None] * theta.double()
    return {"p": arrange(angles, theta.numel(), layout, first).to(theta.dtype)}


@candidate.torch("sinusoidal/frequencies", dtypes=["f32", "f64"])
def frequencies(base, pairs, rule):
    return {"theta": (base.double()[:, None] ** -exponents(pairs, 2 * pairs, rule)).to(base.dtype)}


candidate.serve()
