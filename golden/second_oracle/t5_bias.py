"""Biases by bucket of distance: Raffel et al. 2020; tensorflow/mesh, _relative_position_bucket."""

import functools

from mpmath.libmp import mpf_floor, to_int

from attention import attend_in_order
from formula import pair_bias, total
from interval import Interval


def bucket_of(settings, distance):
    """The bucket of a distance: the position of the key less that of the query."""
    buckets, both = int(settings["buckets"]), settings["bidirectional"]
    start = 0
    if both:
        buckets //= 2
        start = buckets if distance > 0 else 0
        n = abs(distance)
    else:
        n = max(-distance, 0)
    if settings["form"] == "clipped":
        return start + min(n, buckets - 1)
    exact = buckets // 2
    if n < exact:
        return start + n
    farthest = int(settings["max_distance"])
    if n >= farthest:
        return start + buckets - 1
    steps = (log_of_quotient(n, exact) / log_of_quotient(farthest, exact)) * Interval.of(buckets - exact)
    low, high = (to_int(mpf_floor(x, 60)) for x in (steps.lo, steps.hi))
    # At most one integer t lies between; the quotient reaches it where D^t E^(N-E-t) <= n^(N-E).
    if low != high and not farthest**high * exact**(buckets - exact - high) <= n**(buckets - exact):
        high = low
    return start + min(buckets - 1, exact + high)


def log_of_quotient(n, m):
    return Interval.of(n).log() - Interval.of(m).log()


def bucket(call):
    distances = call.integers("distance")
    return call.parts(lambda get, i: {("bucket", i): Interval.of(bucket_of(call.settings, distances[i]))}, "n")


def bias(call):
    width, bucket_at = call.sizes["b"], functools.cache(functools.partial(bucket_of, call.settings))
    return pair_bias(call, lambda get, head, i, j: get("table", head * width + bucket_at(j - i)))


def contextual(call):
    """q_i . w[head, :, bucket], as tensorflow/mesh gathers it"""
    heads, n, m, d, width = call.size("h", "n", "m", "d", "b")
    queries, keys = call.integers("query_position"), call.integers("key_position")
    bucket_at = functools.cache(functools.partial(bucket_of, call.settings))

    def head_outputs(get, h, b):
        block = (b * heads + h) * n
        return {("bias", (block + i) * m + j): total(get("q", (block + i) * d + c) *
                                                     get("w", (h * d + c) * width + bucket_at(key - query))
                                                     for c in range(d))
                for i, query in enumerate(queries) for j, key in enumerate(keys)}
    return call.parts(head_outputs, "h", together="B")


def attention(call):
    width, bucket_at = call.sizes["b"], functools.cache(functools.partial(bucket_of, call.settings))
    return attend_in_order(call, lambda get, head, i, j: get("table", head * width + bucket_at(j - i)))
