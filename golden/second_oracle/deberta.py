"""DeBERTa: He et al. 2021 (arXiv 2006.03654), eqs. (3) and (4); make_log_bucket_position of microsoft/DeBERTa."""

from mpmath.libmp import mpf_ceil, to_int

from attention import power_of_width
from formula import total
from interval import Interval


def bucket_of(distance, span, maximum, clamp_first):
    middle, last, n = span // 2, maximum - 1, abs(distance)
    if clamp_first:
        n = min(n, last)
    if n <= middle:
        return distance
    steps = (Interval.of(n).log() - Interval.of(middle).log()) / (Interval.of(last).log() - Interval.of(middle).log())
    low, high = (to_int(mpf_ceil(x, 60)) for x in ((steps * Interval.of(middle - 1)).lo,
                                                   (steps * Interval.of(middle - 1)).hi))
    # At most one integer lies between; the quotient exceeds it unless last^t middle^(middle - 1) >= n^(middle - 1) middle^t.
    if low != high and last**low * middle**(middle - 1) >= n**(middle - 1) * middle**low:
        high = low
    return (-1 if distance < 0 else 1) * (middle + high)


def bucket(call):
    settings, distances = call.settings, call.integers("distance")
    return call.parts(lambda get, i: {("bucket", i): Interval.of(
        bucket_of(distances[i], int(settings["buckets"]), int(settings["max_distance"]), settings["clamp_first"]))}, "n")


def scores(call):
    n, d, heads = call.size("n", "d", "h")
    settings, span = call.settings, int(call.settings["span"])
    c2p, p2c = settings["terms"] != "p2c", settings["terms"] != "c2p"

    def delta(r):
        if settings["form"] == "log":
            r = bucket_of(r, span, int(settings["max_distance"]), settings.get("clamp_first", True))
        return 0 if r <= -span else min(r + span, 2 * span - 1)

    def head(get, h, b):
        block, out = b * heads + h, {}
        for i in range(n):
            for j in range(n):
                rows = [("q", i, "k", block * n + j)]
                if c2p:
                    rows.append(("q", i, "position_keys", h * 2 * span + delta(i - j)))
                if p2c:
                    row = delta(i - j if settings["p2c_index"] == "code" else j - i)
                    rows.append(("k", j, "position_queries", h * 2 * span + row))
                out["s", (block * n + i) * n + j] = power_of_width("inverse_sqrt", d * (1 + c2p + p2c)) * total(
                    get(x, (block * n + token) * d + c) * get(y, row * d + c)
                    for x, token, y, row in rows for c in range(d))
        return out
    return call.parts(head, "h", together=("B",))
