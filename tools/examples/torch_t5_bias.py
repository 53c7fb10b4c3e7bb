#!/usr/bin/env python3
"""Candidate: the relative bias of T5 (Raffel et al. 2020, arXiv:1910.10683) in PyTorch, with derivatives by autograd:
buckets from a logarithm in f64. A boundary between two buckets may be an integer. There the logarithm must not come out
low, so it is multiplied by 1 + 2^-48.
Run it with: assay gate --candidate 'process:/usr/bin/python3 torch_t5_bias.py'
"""
import math
import os
import sys

import torch

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, host) for host in ("../adapters/python", "../../../assay/python")]  # source, installed
from assay import Candidate

candidate = Candidate("torch-t5-bias", version=torch.__version__, properties={"deterministic": True})
torch.set_num_threads(1)


def buckets_of(distance, buckets, max_distance, bidirectional, form):
    if bidirectional:
        buckets //= 2
        base, n = buckets * (distance > 0).long(), distance.abs()
    else:
        base, n = 0, (-distance).clamp(min=0)
    if form == "clipped":
        return base + n.clamp(max=buckets - 1)
    exact = buckets // 2
    steps = torch.log(n.clamp(min=1).double() / exact) / math.log(max_distance / exact) * (buckets - exact)
    logarithmic = (exact + (steps * (1 + 2.0 ** -48)).floor().long()).clamp(max=buckets - 1)
    return base + torch.where(n < exact, n, logarithmic)


@candidate.torch("t5_bias/bucket", dtypes=["f32", "f64"], vjp=False)
def bucket(distance, **settings):
    return {"bucket": buckets_of(distance, **settings)}


@candidate.torch("t5_bias/bias", dtypes=["f32", "f64"])
def bias(table, query_position, key_position, **settings):
    distance = key_position[None, :] - query_position[:, None]
    return {"bias": table[:, buckets_of(distance, **settings)]}


candidate.serve()
