#!/usr/bin/env python3
"""Candidate: the log-linear recurrence step by step in NumPy, with a derivative written by hand.

Heinsen, "Encoding Position by Decaying and Updating Different Exponentiated States Differently" (2024),
equations (1)-(3). Run it with: assay gate --candidate 'process:/usr/bin/python3 numpy_step_loop.py'
"""
import os
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, host) for host in ("../adapters/python", "../../../assay/python")]  # source, installed
from assay import Candidate

candidate = Candidate("numpy-step-loop", version=np.__version__, properties={"deterministic": True})
np.seterr(all="ignore")  # infinities are values here


@candidate.numpy("heinsen/scan", dtypes=["f32", "f64"])
def scan(log_p, h, s0):
    s, last = np.empty_like(h), s0
    for i in range(h.shape[1]):
        last = s[:, i] = np.logaddexp(log_p[:, i] + last, h[:, i])  # equation (3)
    return {"s": s, "s_n": last}


@candidate.numpy("heinsen/scan:vjp", dtypes=["f32", "f64"])
def scan_vjp(log_p, h, s0, grad_s, grad_s_n):
    s = scan(log_p, h, s0)["s"]
    grad_log_p, grad_h, grad = np.empty_like(h), np.empty_like(h), grad_s_n
    for i in reversed(range(h.shape[1])):
        before = s[:, i - 1] if i > 0 else s0
        # A state of -inf depends on nothing; elsewhere the two weights are those of the two terms.
        lives = s[:, i] != -np.inf
        grad = np.where(lives, grad + grad_s[:, i], 0)
        carried = np.where(lives, np.exp(log_p[:, i] + before - s[:, i]), 0)
        grad_h[:, i] = grad * np.where(lives, np.exp(h[:, i] - s[:, i]), 0)
        grad = grad_log_p[:, i] = grad * carried
    return {"grad_log_p": grad_log_p, "grad_h": grad_h, "grad_s0": grad}


@candidate.numpy("heinsen/gated_scan", dtypes=["f32", "f64"])
def gated_scan(g, h, s0):
    return scan(-np.logaddexp(np.zeros_like(g), -g), h, s0)


@candidate.numpy("heinsen/embed_position", dtypes=["f32", "f64"])
def embed_position(x, W_H, b_H, W_R, b_R, s0):
    g, h = np.split(x @ W_H.T + b_H, 2, axis=-1)  # equation (2), the gate half first
    state = gated_scan(g, h, s0)
    return {"y": x + state["s"] @ W_R.T + b_R, "s_n": state["s_n"]}


candidate.serve()
