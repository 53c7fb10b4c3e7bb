"""xPos: Sun et al. 2022 (arXiv 2212.10554); zeta as in microsoft/torchscale, around a centre."""

import interval
from formula import ONE
from interval import Interval
from rope import pairs_of, scores_of, turned


def scale_of(settings, position, t, pairs, down):
    """zeta_t^((m - c) / B), the reciprocal for keys"""
    gamma, base = (Interval.of(float(settings[name])) for name in ("gamma", "scale_base"))
    away = position - int(settings["center"])
    zeta = (Interval.of(t) / Interval.of(pairs) + gamma) / (ONE + gamma)
    if away == 0:
        return ONE
    return (Interval.of(-away if down else away) / base * zeta.log()).exp()


def scale(call):
    r, positions = call.sizes["r"], call.integers("position")
    return call.parts(lambda get, i: {("z", i * r + t): scale_of(call.settings, positions[i], t, r,
                                                                 call.settings["down"]) for t in range(r)}, "n")


def turned_and_scaled(x, settings, position, down):
    """The coordinates of a vector at this position."""
    r, base = int(settings["rotary"]) or len(x) // 2, Interval.of(float(settings["base"]))
    y = turned(x, settings, [Interval.of(position) * interval.power(base, -t, r) for t in range(r)])
    for t, pair in enumerate(pairs_of(settings, len(x), r)):
        for k in pair:
            y[k] = y[k] * scale_of(settings, position, t, r, down)
    return y


def rotate(call):
    n, heads, d = call.size("n", "h", "d")
    positions = call.integers("position")

    def token(get, row, i):
        out = {}
        for first in range((row * n + i) * heads * d, (row * n + i + 1) * heads * d, d):
            y = turned_and_scaled([get("x", first + k) for k in range(d)], call.settings, positions[row * n + i],
                                  call.settings["down"])
            out.update({("y", first + k): v for k, v in enumerate(y)})
        return out
    return call.parts(token, "B", "n")


def scores(call):
    d = call.sizes["d"]
    return scores_of(call, lambda get, name, first, position: turned_and_scaled(
        [get(name, first + c) for c in range(d)], call.settings, position, name == "k"))
