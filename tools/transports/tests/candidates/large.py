"""A right scan, step by step, that meets a limit on time or memory at large sizes or at small ones."""
import os
import time

import numpy as np

LARGE, SMALL = 5000, 8  # tokens, beyond which it does


def computes():
    while True:
        pass


def sleeps():
    while True:
        time.sleep(60)


def eats():
    kept = []
    while True:
        kept.append(np.ones(1 << 21))


def runs_out():
    np.ones(1 << 50)


def is_slow():
    end = time.process_time() + 0.6
    while time.process_time() < end:
        pass


def scan_that(meets, beyond):
    def scan(log_p, h, s0):
        if h.shape[1] > beyond:
            meets()
        s, last = np.empty_like(h), s0
        with np.errstate(all="ignore"):
            for i in range(h.shape[1]):
                last = s[:, i] = np.logaddexp(log_p[:, i] + last, h[:, i])
        return s, last
    return scan


aborts_if_huge = scan_that(os.abort, 60000)
slow = scan_that(is_slow, LARGE)
computes_if_large, computes_if_small = scan_that(computes, LARGE), scan_that(computes, SMALL)
sleeps_if_large, sleeps_if_small = scan_that(sleeps, LARGE), scan_that(sleeps, SMALL)
eats_if_large, eats_if_small = scan_that(eats, LARGE), scan_that(eats, SMALL)
runs_out_if_large, runs_out_if_small = scan_that(runs_out, LARGE), scan_that(runs_out, SMALL)
