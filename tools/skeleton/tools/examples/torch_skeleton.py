#!/usr/bin/env python3
"""Candidate: y = a x + s b position (name the paper here) in PyTorch, with derivatives by autograd.
Run it with: assay gate --candidate 'process:/usr/bin/python3 torch_skeleton.py' --encoding skeleton
"""
import os
import sys

import torch

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, host) for host in ("../adapters/python", "../../../assay/python")]  # source, installed
from assay_host import Candidate

candidate = Candidate("torch-skeleton", version=torch.__version__, properties={"deterministic": True})
torch.set_num_threads(1)


@candidate.torch("skeleton/scale", dtypes=["f32", "f64"])
def scale(x, a, b, position, sign="plus"):
    step = b * position.to(x.dtype).unsqueeze(-1)
    return {"y": a * x + (step if sign == "plus" else -step)}


candidate.serve()
