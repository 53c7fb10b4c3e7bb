#!/usr/bin/env python3
"""Candidate: dot-product attention with an additive bias (Vaswani et al. 2017, arXiv:1706.03762, eq. 1) in PyTorch,
with derivatives by autograd. The bias is added to the scaled product; -inf in it is the mask.
Run it with: assay gate --candidate 'process:/usr/bin/python3 torch_attention.py'
"""
import os
import sys

import torch

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, host) for host in ("../adapters/python", "../../../assay/python")]  # source, installed
from assay import Candidate

candidate = Candidate("torch-attention", version=torch.__version__, properties={"deterministic": True})
torch.set_num_threads(1)


@candidate.torch("attention/output", dtypes=["f32", "f64"])
def output(q, k, v, bias, scale):
    factor = 1.0 if scale == "one" or q.shape[-1] == 0 else q.shape[-1] ** -0.5
    return {"o": torch.softmax(factor * (q @ k.transpose(-1, -2)) + bias, -1) @ v}


candidate.serve()
