"""xPos: Sun et al. 2022 (arXiv 2212.10554); zeta as in microsoft/torchscale, around a centre."""

import interval
from formula import ONE
from interval import Interval
from rope import rotated


def scale_of(settings, position, t, pairs):
    """zeta_t^((m - c) / B), the reciprocal for keys"""
    gamma, base = (Interval.of(float(settings[name])) for name in ("gamma", "scale_base"))
    away = position - int(settings["center"])
    zeta = (Interval.of(t) / Interval.of(pairs) + gamma) / (ONE + gamma)
    if away == 0:
        return ONE
    return (Interval.of(-away if settings["down"] else away) / base * zeta.log()).exp()


def scale(call):
    r, positions = call.sizes["r"], call.integers("position")
    return call.parts(lambda get, i: {("z", i * r + t): scale_of(call.settings, positions[i], t, r) for t in range(r)},
                      "n")


def rotate(call):
    n, d = call.size("n", "d")
    r = int(call.settings["rotary"]) or d // 2
    positions, base = call.integers("position"), Interval.of(float(call.settings["base"]))

    def token(get, row, i):
        m = positions[row * n + i]
        turned = rotated(call, get, row * n + i,
                         [Interval.of(m) * interval.power(base, -t, r) for t in range(r)])
        halves = call.settings["layout"] == "half_split"
        out = {}
        for (name, at), y in turned.items():
            k = at % d
            out[name, at] = y if k >= 2 * r else y * scale_of(call.settings, m, k % r if halves else k // 2, r)
        return out
    return call.parts(token, "B", "n")
