"""Means with confidence intervals by Student's t: over seeds, a handful of independent numbers."""
import functools
from dataclasses import dataclass
from typing import Sequence

import mpmath
import numpy


@dataclass(frozen=True)
class Interval:
    mean: float
    half: float  # of its width; NaN of fewer than two numbers

    @property
    def is_above_zero(self) -> bool:
        return self.mean - self.half > 0

    @property
    def is_below_zero(self) -> bool:
        return self.mean + self.half < 0


@functools.lru_cache(maxsize=None)
def t_quantile(confidence: float, freedom: int) -> float:
    """t with P(|T| <= t) = confidence, by bisection."""
    def inside(t: float) -> float:
        return 1 - float(mpmath.betainc(freedom / 2, 0.5, 0, freedom / (freedom + t * t), regularized=True))
    low, high = 0.0, 1.0
    while inside(high) < confidence:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) < confidence else (low, middle)
    return high


def interval(numbers: Sequence[float], confidence: float) -> Interval:
    x = numpy.asarray(numbers)
    if len(x) < 2:
        return Interval(float(x.mean()), float("nan"))
    return Interval(float(x.mean()), float(x.std(ddof=1) / numpy.sqrt(len(x))) * t_quantile(confidence, len(x) - 1))
