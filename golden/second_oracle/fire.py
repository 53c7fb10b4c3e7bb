"""FIRE: Li et al. 2024 (arXiv 2310.04418); epsilon and the choices of the settings are those of published code."""

from formula import ONE, ZERO, absolute, distance, distance_bias, enclosure_of, exceeds, larger, total
from interval import Interval


def bias(call):
    """MLP(psi(t) / (psi(max(L, n)) + epsilon)), psi(y) = log(1 + |c y|), L = |multiplier threshold|"""
    settings, width, keys = call.settings, call.sizes["w"], call.integers("key_position")
    threshold, epsilon = (Interval.of(float(settings[name])) for name in ("threshold", "epsilon"))

    def bias_at_distance(get, head, i, t):
        steep = ONE / Interval.of(100) if settings["activation"] == "leaky_relu" else ZERO  # at the precision of the run

        def psi(y):
            return (absolute(get("c", 0)) * y + ONE).log()

        n = i if settings["normalizer"] == "position" else max(distance(call, i, j) or 0 for j in keys)
        far = larger(absolute(get("multiplier", 0) * threshold), Interval.of(n))
        x = psi(Interval.of(t)) / (psi(far) + epsilon)
        if t == n and enclosure_of(far).is_value(Interval.of(n).lo) and epsilon.is_value(ZERO.lo):
            x = ONE
        hidden = [get("w1", k) * x + get("b1", k) for k in range(width)]
        return get("b2", head) + total(get("w2", head * width + k) * (y if exceeds(y, ZERO) else y * steep)
                                       for k, y in enumerate(hidden))
    return distance_bias(call, bias_at_distance, shared=True)
