#!/usr/bin/env python3
"""Candidate: the decay of forgetting attention (Lin et al. 2025, arXiv:2503.02130, section 3) in PyTorch, with
derivatives by autograd: D_ij as running sums that start at each key, not as a difference of prefix sums, which loses
the nearest pairs to rounding and is NaN behind a gate of 0.
Run it with: assay gate --candidate 'process:/usr/bin/python3 torch_fox.py'
"""
import os
import sys

import torch
import torch.nn.functional as F

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, host) for host in ("../adapters/python", "../../../assay/python")]  # source, installed
from assay import Candidate

candidate = Candidate("torch-fox", version=torch.__version__, properties={"deterministic": True})
torch.set_num_threads(1)


@candidate.torch("fox/decay", dtypes=["f32", "f64"])
def decay(log_f):
    B, n, h = log_f.shape
    after_key = torch.ones(n, n, dtype=torch.bool).tril(-1)  # the query's gate counts for keys before it
    gates = log_f.permute(0, 2, 1).unsqueeze(-1).expand(B, h, n, n).masked_fill(~after_key, 0.0)
    return {"D": torch.cumsum(gates, -2).masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))}


@candidate.torch("fox/gated_decay", dtypes=["f32", "f64"])
def gated_decay(g):
    return decay(F.logsigmoid(g))


@candidate.torch("fox/attention", dtypes=["f32", "f64"])
def attention(q, k, v, log_f, scale):
    factor = 1.0 if scale == "one" or q.shape[-1] == 0 else q.shape[-1] ** -0.5
    logits = factor * (q @ k.transpose(-1, -2)) + decay(log_f)["D"]
    return {"o": torch.softmax(logits, -1) @ v}


candidate.serve()
