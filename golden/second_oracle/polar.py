"""PoPE: Gopalakrishnan et al. 2025 (arXiv 2509.10534): magnitudes, phases, and the cosine of their difference. GRAPE:
Zhang et al. 2025 (arXiv 2512.07805), in the orthonormal basis of the plane."""

import interval
from attention import power_of_width
from formula import ZERO, exceeds, total
from interval import Interval


def magnitude(settings, x):
    if settings["softplus"] == "linear_above_20" and exceeds(x, Interval.of(20)):
        return x
    return x.log_add_exp(ZERO)


def bounded(settings, phase):
    if settings["bound"] == "free":
        return phase
    turn = Interval.of(-2) * interval.pi()
    if exceeds(phase, ZERO):
        return phase * ZERO
    return phase * ZERO + turn if exceeds(turn, phase) else phase


def scores(call):
    n, m, key_heads, group, d, r = call.size("n", "m", "h", "u", "d", "r")
    settings, heads = call.settings, key_heads * group
    queries, keys = call.integers("query_position"), call.integers("key_position")
    tiled = settings["heads"] == "tiled"

    def score(get, row, head, i, j):
        key_head = head % key_heads if tiled else head // group
        q = [get("q", ((row * n + i) * heads + head) * d + c) for c in range(d)]
        k = [get("k", ((row * m + j) * key_heads + key_head) * d + c) for c in range(d)]
        terms = [a * b for a, b in zip(q[r:], k[r:])]
        apart = Interval.of(keys[row * m + j] - queries[row * n + i])
        for c in range(r):
            theta = interval.power(Interval.of(float(settings["base"])), -c, r)
            angle = bounded(settings, get("phase", key_head * r + c)) + apart * theta
            terms.append(magnitude(settings, q[c]) * magnitude(settings, k[c]) * angle.cos_sin()[0])
        return total(terms) * power_of_width(settings["scale"], d)

    def row_outputs(get, row):
        return {("s", ((row * heads + head) * n + i) * m + j): score(get, row, head, i, j)
                for head in range(heads) for i in range(n) for j in range(m)}
    return call.parts(row_outputs, together="B")


def root(x):
    return (x.log() * Interval.of(0.5)).exp()


def grape_rotation(call):
    """Lengths and angles: e1 along a, e2 across it; exp(m omega L) turns e2 to e1, and L is s (e1 e2^T - e2 e1^T)."""
    n, heads, d = call.size("n", "h", "d")
    positions = call.integers("position")

    def token(get, row, i):
        out = {}
        for head in range(heads):
            a, b = ([get(name, head * d + k) for k in range(d)] for name in ("a", "b"))
            x = [get("x", ((row * n + i) * heads + head) * d + k) for k in range(d)]
            length = root(total(y * y for y in a))
            e1 = [y / length for y in a]
            along = total(y * z for y, z in zip(b, e1))
            across = [z - along * y for y, z in zip(e1, b)]
            height = root(total(y * y for y in across))
            e2 = [y / height for y in across]
            cosine, sine = (get("omega", head) * Interval.of(positions[row * n + i]) * length * height).cos_sin()
            u, v = (total(y * z for y, z in zip(x, e)) for e in (e1, e2))
            first, second = u * cosine + v * sine - u, v * cosine - u * sine - v
            out.update({("y", ((row * n + i) * heads + head) * d + k): x[k] + first * e1[k] + second * e2[k]
                        for k in range(d)})
        return out
    return call.parts(token, together="Bn")
