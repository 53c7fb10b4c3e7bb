#!/usr/bin/env python3
"""Candidate: the log-linear recurrence as two prefix sums in PyTorch, with derivatives by autograd.

Heinsen, "Efficient Parallelization of a Ubiquitous Sequential Computation" (2023), arXiv:2311.06281, for the
recurrence of Heinsen (2024), equation (3). Fast, and it loses digits as the sum of |log p| grows.
Run it with: assay gate --candidate 'process:/usr/bin/python3 torch_cumsum.py'
"""
import os
import sys

import torch
import torch.nn.functional as F

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, host) for host in ("../adapters/python", "../../../assay/python")]  # source, installed
from assay import Candidate

candidate = Candidate("torch-cumsum", version=torch.__version__, properties={"deterministic": True})
torch.set_num_threads(1)

# From log p = -inf on the prefix sum A is -inf and h - A is inf (or NaN), so that their sum s is NaN. The derivative of
# torch.logcumsumexp is NaN where the sequence begins with -inf, such as an s0 of -inf.
no_reset = {"log_p": "finite"}
finite_state = {"state": "finite"}


@candidate.torch("heinsen/scan", dtypes=["f32", "f64"], domain=no_reset, vjp_domain={**no_reset, **finite_state})
def scan(log_p, h, s0):
    A = torch.cumsum(log_p, 1)
    s = A + torch.logcumsumexp(torch.cat([s0.unsqueeze(1), h - A], 1), 1)[:, 1:]
    return {"s": s, "s_n": s[:, -1] if s.shape[1] else s0}


@candidate.torch("heinsen/gated_scan", dtypes=["f32", "f64"], vjp_domain=finite_state)
def gated_scan(g, h, s0):
    return scan(F.logsigmoid(g), h, s0)


@candidate.torch("heinsen/embed_position", dtypes=["f32", "f64"], vjp_domain=finite_state)
def embed_position(x, W_H, b_H, W_R, b_R, s0):
    g, h = F.linear(x, W_H, b_H).chunk(2, dim=-1)  # Heinsen (2024), equation (2), the gate half first
    state = gated_scan(g, h, s0)
    return {"y": x + F.linear(state["s"], W_R, b_R), "s_n": state["s_n"]}


candidate.serve()
