"""Rotary encoding: Su et al. 2021, eqs. (15) and (34)."""

import interval
from formula import table_of_powers
from interval import Interval


def frequencies(call):
    r, scaling = call.sizes["r"], call.settings["scaling"]
    factor = Interval.of(float(call.settings["factor"]))

    def stretch(theta, t):
        if scaling == "interpolation":
            return theta / factor
        if scaling == "ntk" and r > 1:
            return theta * interval.power(factor, -t, r - 1)
        return theta
    return table_of_powers(call, lambda t: (-t, r), stretch)


def rotated(call, get, token, angles):
    """y of a token, whose pairs are turned by these angles."""
    heads, d = call.size("h", "d")
    r = len(angles)
    pairs = [(2 * t, 2 * t + 1) if call.settings["layout"] == "interleaved" else (t, t + r) for t in range(r)]
    turns = [angle.cos_sin() for angle in angles]
    out = {}
    for first in range(token * heads * d, (token + 1) * heads * d, d):
        x = [get("x", first + k) for k in range(d)]
        for (a, b), (cosine, sine) in zip(pairs, turns):
            x[a], x[b] = x[a] * cosine - x[b] * sine, x[a] * sine + x[b] * cosine
        out.update({("y", first + k): v for k, v in enumerate(x)})
    return out


def rotate(call):
    n, d = call.size("n", "d")
    r = int(call.settings["rotary"]) or d // 2
    positions = call.integers("position")
    base, scale = (Interval.of(float(call.settings[name])) for name in ("base", "position_scale"))

    def token(get, row, i):
        m = Interval.of(positions[row * n + i]) / scale
        return rotated(call, get, row * n + i, [m * interval.power(base, -t, r) for t in range(r)])
    return call.parts(token, "B", "n")


def rotate_by(call):
    n, r = call.size("n", "r")

    def token(get, row, i):
        m = get("position", row * n + i)
        return rotated(call, get, row * n + i, [m * get("theta", t) for t in range(r)])
    return call.parts(token, together="Bn")
