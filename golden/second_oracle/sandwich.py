"""Sandwich: Chi, Fan, Rudnicky and Ramadge 2023 (arXiv 2212.10356); where k begins is a setting, as in published code."""

import functools

import interval
from formula import distance_bias, total
from interval import Interval


def bias(call):
    """(sum_k cos(t b^(-2k/d)) - d/2) H / (8 h), h = 1 ... H"""
    settings, heads = call.settings, call.sizes["h"]
    base, half = Interval.of(float(settings["base"])), int(settings["width"]) // 2
    first = {"one": 1, "zero": 0}[settings["first"]]

    @functools.cache
    def sum_of_waves(t, precision):
        waves = total((Interval.of(t) * interval.power(base, -k, half)).cos_sin()[0]
                      for k in range(first, first + half))
        return waves - Interval.of(half) if settings["offset"] else waves

    return distance_bias(call, lambda get, head, i, t: sum_of_waves(t, interval.PRECISION) * Interval.of(heads)
                         / Interval.of(8 * (head + 1)), shared=True)
