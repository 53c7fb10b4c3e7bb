#!/usr/bin/env python3
"""Candidate: the log-linear recurrence step by step in PyTorch, with derivatives by autograd.

Heinsen, "Encoding Position by Decaying and Updating Different Exponentiated States Differently" (2024),
equations (1)-(3). Run it with: assay gate --candidate 'process:/usr/bin/python3 torch_step_loop.py'
"""
import os
import sys

import torch
import torch.nn.functional as F

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, host) for host in ("../adapters/python", "../../../assay/python")]  # source, installed
from assay import Candidate

candidate = Candidate("torch-step-loop", version=torch.__version__, properties={"deterministic": True})
torch.set_num_threads(1)

# The derivative of torch.logaddexp is NaN where both arguments are -inf (pytorch/pytorch#49724): where a state is -inf.
# In `embed_position` every h is finite, so that only s0 can be -inf.
finite_state = {"state": "finite"}


@candidate.torch("heinsen/scan", dtypes=["f32", "f64"], vjp_domain=finite_state)
def scan(log_p, h, s0):
    s, states = s0, []
    # unbind, not log_p[:, i]: the derivative of indexing fills a tensor of n tokens for each of n tokens.
    for log_p_i, h_i in zip(log_p.unbind(1), h.unbind(1)):
        s = torch.logaddexp(log_p_i + s, h_i)  # equation (3)
        states.append(s)
    return {"s": torch.stack(states, 1) if states else torch.empty_like(h), "s_n": s}


@candidate.torch("heinsen/gated_scan", dtypes=["f32", "f64"], vjp_domain=finite_state)
def gated_scan(g, h, s0):
    return scan(F.logsigmoid(g), h, s0)


@candidate.torch("heinsen/embed_position", dtypes=["f32", "f64"])
def embed_position(x, W_H, b_H, W_R, b_R, s0):
    g, h = F.linear(x, W_H, b_H).chunk(2, dim=-1)  # equation (2), the gate half first
    state = gated_scan(g, h, s0)
    return {"y": x + F.linear(state["s"], W_R, b_R), "s_n": state["s_n"]}


candidate.serve()
