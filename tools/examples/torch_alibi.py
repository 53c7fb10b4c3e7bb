#!/usr/bin/env python3
"""Candidate: attention with linear biases (Press, Smith and Lewis 2022, arXiv:2108.12409, section 3) in PyTorch, with
derivatives by autograd: slopes by the official rule and two others, biases from differences of integer positions.
Run it with: assay gate --candidate 'process:/usr/bin/python3 torch_alibi.py'
"""
import math
import os
import sys

import torch

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, host) for host in ("../adapters/python", "../../../assay/python")]  # source, installed
from assay import Candidate

candidate = Candidate("torch-alibi", version=torch.__version__, properties={"deterministic": True})
torch.set_num_threads(1)


def geometric(n, alpha_max):
    return [2.0 ** (-alpha_max * k / n) for k in range(1, n + 1)]


def official(heads):
    power = 2 ** math.floor(math.log2(heads))
    return geometric(power, 8.0) + geometric(2 * power, 8.0)[0::2][:heads - power]


def mpt(heads, alpha_max):
    power = 2 ** math.ceil(math.log2(heads))
    all_of_them = geometric(power, alpha_max)
    return all_of_them if power == heads else (all_of_them[1::2] + all_of_them[0::2])[:heads]


@candidate.torch("alibi/slopes", dtypes=["f32", "f64"], vjp=False)
def slopes(heads, rule, alpha_max, dtype):
    chosen = {"official": lambda: official(heads), "naive": lambda: geometric(heads, alpha_max),
              "mpt": lambda: mpt(heads, alpha_max)}[rule]()
    return {"slopes": torch.tensor(chosen, dtype=torch.float64).to(dtype)}


@candidate.torch("alibi/bias", dtypes=["f32", "f64"])
def bias(slopes, query_position, key_position, form, causal, last_position):
    distance = key_position[None, :] - query_position[:, None]  # of integers: exact
    multiple = {"distance": distance, "absolute": -distance.abs(), "key": key_position.expand_as(distance),
                "key_from_last": (key_position - last_position).expand_as(distance)}[form]
    biases = slopes[:, None, None] * multiple.to(slopes.dtype)
    return {"bias": biases.masked_fill(distance > 0, -math.inf) if causal else biases}


candidate.serve()
