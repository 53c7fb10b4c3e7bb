"""The operations, written from the papers. A formula is a list of independent parts.

A part is a function of `get(input, index)`, the number at a flat index of an input, that returns its outputs as
{(output, flat index): number}. Numbers are intervals, or numbers of a tape where derivatives are wanted: no formula
here knows of derivatives. Shapes and settings are those that `assay list operations` prints.
"""

from fractions import Fraction

from mpmath.libmp import fninf, from_man_exp, mpf_floor, mpf_gt, to_int

import interval
from interval import Interval

ZERO, ONE = Interval.of(0), Interval.of(1)
MINUS_INFINITY = Interval(fninf)


class Call:
    """Settings, flat inputs, sizes of axes. Derivatives need parts that share no input."""

    def __init__(self, settings, inputs, sizes, differentiated):
        self.settings, self.inputs, self.sizes, self.differentiated = settings, inputs, sizes, differentiated

    def size(self, *axes):
        return tuple(self.sizes[axis] for axis in axes)

    def integers(self, name):
        return [int(x) for x in self.inputs[name]]


def enclosure_of(x):
    return x if isinstance(x, Interval) else x.value


def total(numbers):
    out = None
    for x in numbers:
        out = x if out is None else out + x
    return ZERO if out is None else out


# Heinsen 2024, eqs. (1) to (3).

def log_sigmoid(g):
    """log(1 / (1 + e^-g))"""
    return -((-g).log_add_exp(ZERO))


def states(log_p, h, s0):
    out, s = [], s0
    for a, x in zip(log_p, h):
        s = (a + s).log_add_exp(x)
        out.append(s)
    return out


def scan(call, gate=lambda a: a, name="log_p"):
    rows, n, width = call.size("B", "n", "d")

    def lane(row, feature):
        def part(get):
            at = [(row * n + i) * width + feature for i in range(n)]
            s0 = get("s0", row * width + feature)
            s = states([gate(get(name, i)) for i in at], [get("h", i) for i in at], s0)
            return {**{("s", i): x for i, x in zip(at, s)}, ("s_n", row * width + feature): s[-1] if s else s0}
        return part
    return [lane(row, feature) for row in range(rows) for feature in range(width)]


def gated_scan(call):
    return scan(call, log_sigmoid, "g")


def embed_position(call):
    rows, n, e, d = call.size("B", "n", "e", "d")

    def outputs_of(get, row):
        def affine(weights, bias, x, at):
            return get(bias, at) + total(get(weights, at * len(x) + k) * v for k, v in enumerate(x))

        out, s = {}, [get("s0", row * d + j) for j in range(d)]
        for i in range(n):
            x = [get("x", (row * n + i) * e + k) for k in range(e)]
            logits = [affine("W_H", "b_H", x, j) for j in range(2 * d)]
            s = [(log_sigmoid(logits[j]) + s[j]).log_add_exp(logits[d + j]) for j in range(d)]
            for k in range(e):
                out["y", (row * n + i) * e + k] = x[k] + affine("W_R", "b_R", s, k)
        return {**out, **{("s_n", row * d + j): s[j] for j in range(d)}}

    if call.differentiated:  # the parameters are shared by all rows
        return [lambda get: {key: x for row in range(rows) for key, x in outputs_of(get, row).items()}]
    return [lambda get, row=row: outputs_of(get, row) for row in range(rows)]


# Attention: Vaswani et al. 2017, eq. (1), with a bias; the Forgetting Transformer, Lin et al. 2025, section 3.

def weighted_mean(logits, values):
    """The mean of `values` (a list of lists by component) under softmax; no keys have the mean 0."""
    seen = [j for j, z in enumerate(logits) if not enclosure_of(z).is_value(fninf)]
    if not seen:
        return [ZERO for _ in values]
    largest = seen[0]
    for j in seen:
        if mpf_gt(enclosure_of(logits[j]).lo, enclosure_of(logits[largest]).lo):
            largest = j
    if any(enclosure_of(logits[j]).is_nan for j in seen):
        nan = total(logits[j] for j in seen)
        return [total(v[j] for j in seen) * nan for v in values]
    weights = {j: ONE if j == largest else (logits[j] - logits[largest]).exp() for j in seen}
    norm = total(weights[j] for j in seen if j != largest) + ONE if len(seen) > 1 else ONE
    sums = [total(v[j] if j == largest else v[j] * weights[j] for j in seen) for v in values]
    return [x / norm if len(seen) > 1 else x for x in sums]


def logit_scale(call):
    d = call.sizes["d"]
    return ONE if call.settings["scale"] == "one" or d == 0 else Interval.of(d).inverse_sqrt()


def attend(call, get, row, head, bias_at, visible):
    heads, n, m, d, e = call.size("h", "n", "m", "d", "e")
    scale, out = logit_scale(call), {}
    block = row * heads + head
    for i in range(n):
        logits = []
        for j in range(m):
            bias = bias_at(i, j) if visible(i, j) else MINUS_INFINITY
            if enclosure_of(bias).is_value(fninf):
                logits.append(MINUS_INFINITY)
                continue
            dot = total(get("q", (block * n + i) * d + k) * get("k", (block * m + j) * d + k) for k in range(d))
            logits.append(dot * scale + bias)
        values = [[get("v", (block * m + j) * e + c) for j in range(m)] for c in range(e)]
        for c, x in enumerate(weighted_mean(logits, values)):
            out["o", (block * n + i) * e + c] = x
    return out


def attention(call):
    rows, heads, n, m = call.size("B", "h", "n", "m")

    def part(head, of_rows):
        def run(get):
            out = {}
            for row in of_rows:
                out.update(attend(call, get, row, head, lambda i, j: get("bias", (head * n + i) * m + j),
                                  lambda i, j: True))
            return out
        return run
    # A head's bias is shared by the rows.
    groups = [range(rows)] if call.differentiated else [[row] for row in range(rows)]
    return [part(head, group) for head in range(heads) for group in groups]


def decays(a, n):
    """D_ij = a_{j+1} + ... + a_i for j <= i"""
    out = {}
    for i in range(n):
        out[i, i] = ZERO
        for j in reversed(range(i)):
            out[i, j] = a[j + 1] + out[i, j + 1] if j + 1 < i else a[i]
    return out


def decay(call, gate=lambda a: a, name="log_f"):
    rows, n, heads = call.size("B", "n", "h")

    def block(row, head):
        def part(get):
            d = decays([gate(get(name, (row * n + i) * heads + head)) for i in range(n)], n)
            first = (row * heads + head) * n * n
            return {("D", first + i * n + j): d.get((i, j), MINUS_INFINITY) for i in range(n) for j in range(n)}
        return part
    return [block(row, head) for row in range(rows) for head in range(heads)]


def gated_decay(call):
    return decay(call, log_sigmoid, "g")


def forgetting_attention(call):
    rows, heads, n = call.size("B", "h", "n")
    call.sizes["m"] = n

    def block(row, head):
        def part(get):
            d = decays([get("log_f", (row * n + i) * heads + head) for i in range(n)], n)
            return attend(call, get, row, head, lambda i, j: d[i, j], lambda i, j: j <= i)
        return part
    return [block(row, head) for row in range(rows) for head in range(heads)]


# Rotary encoding: Su et al. 2021, eqs. (15) and (34).

def power_of(base, numerator, denominator):
    """base^(numerator/denominator), numerator <= 0 <= denominator"""
    if isinstance(base, Interval):
        return interval.power(base, numerator, denominator)
    value = interval.power(base.value, numerator, denominator)
    if numerator == 0:
        return base.with_derivative(value, ZERO)
    return base.with_derivative(value, value * Interval.of(numerator) / Interval.of(denominator) / base.value)


def table_of_powers(call, exponent, stretch=None):
    """theta [k, r] = base_k^exponent(t) stretch(t)"""
    count, r = call.size("k", "r")

    def row(k):
        def part(get):
            out = {}
            for t in range(r):
                theta = power_of(get("base", k), *exponent(t))
                out["theta", k * r + t] = stretch(theta, t) if stretch else theta
            return out
        return part
    return [row(k) for k in range(count)]


def rope_frequencies(call):
    r, scaling = call.sizes["r"], call.settings["scaling"]
    factor = Interval.of(float(call.settings["factor"]))

    def stretch(theta, t):
        if scaling == "interpolation":
            return theta / factor
        if scaling == "ntk" and r > 1:
            return theta * interval.power(factor, -t, r - 1)
        return theta
    return table_of_powers(call, lambda t: (-t, r), stretch)


def pairs_of(layout, r):
    return [(2 * t, 2 * t + 1) if layout == "interleaved" else (t, t + r) for t in range(r)]


def rotated(get, first, features, pairs, angles):
    out = {first + k: get("x", first + k) for k in range(features)}
    for (a, b), (cosine, sine) in zip(pairs, angles):
        x, y = out[first + a], out[first + b]
        out[first + a], out[first + b] = x * cosine - y * sine, x * sine + y * cosine
    return {("y", at): v for at, v in out.items()}


def rotate(call):
    rows, n, heads, d = call.size("B", "n", "h", "d")
    r = int(call.settings["rotary"]) or d // 2
    pairs = pairs_of(call.settings["layout"], r)
    positions = call.integers("position")
    base, scale = (Interval.of(float(call.settings[name])) for name in ("base", "position_scale"))

    def token(at):
        def part(get):
            m = Interval.of(positions[at]) / scale
            turns = [(m * interval.power(base, -t, r)).cos_sin() for t in range(r)]
            out = {}
            for head in range(heads):
                out.update(rotated(get, (at * heads + head) * d, d, pairs, turns))
            return out
        return part
    return [token(at) for at in range(rows * n)]


def rotate_by(call):
    rows, n, heads, d, r = call.size("B", "n", "h", "d", "r")
    pairs = pairs_of(call.settings["layout"], r)

    def tokens(some):
        def part(get):
            out = {}
            for at in some:
                m = get("position", at)
                turns = [(m * get("theta", t)).cos_sin() for t in range(r)]
                for head in range(heads):
                    out.update(rotated(get, (at * heads + head) * d, d, pairs, turns))
            return out
        return part
    return [tokens(range(rows * n))] if call.differentiated else [tokens([at]) for at in range(rows * n)]


# Linear biases: Press, Smith and Lewis 2022, section 3, and the code published with it.

def power_of_two(exponent):
    """2^exponent of a fraction."""
    whole, rest = divmod(exponent, 1)
    power = Interval(from_man_exp(1, int(whole)))
    if rest == 0:
        return power
    return power * (Interval.of(2).log() * Interval.of(rest.numerator) / Interval.of(rest.denominator)).exp()


def slope_exponents(heads, rule, alpha):
    below = 1
    while 2 * below <= heads:
        below *= 2
    if rule == "naive":
        return [-alpha * k / heads for k in range(1, heads + 1)]
    if rule == "official":
        return ([Fraction(-8 * k, below) for k in range(1, below + 1)]
                + [Fraction(-4 * (2 * t - 1), below) for t in range(1, heads - below + 1)])
    above = below if below == heads else 2 * below
    order = list(range(1, above + 1)) if above == heads else [*range(2, above + 1, 2), *range(1, above + 1, 2)]
    return [-alpha * k / above for k in order[:heads]]


def slopes(call):
    exponents = slope_exponents(call.sizes["h"], call.settings["rule"], Fraction(call.settings["alpha_max"]))
    return [lambda get, k=k, x=x: {("slopes", k): power_of_two(x)} for k, x in enumerate(exponents)]


def alibi_bias(call):
    heads, n, m = call.size("h", "n", "m")
    form, causal, last = call.settings["form"], call.settings["causal"], int(call.settings["last_position"])
    queries, keys = call.integers("query_position"), call.integers("key_position")
    coefficient = {"distance": lambda i, j: j - i, "absolute": lambda i, j: -abs(i - j), "key": lambda i, j: j,
                   "key_from_last": lambda i, j: j - last}[form]

    def of_head(head):
        def part(get):
            slope = get("slopes", head)
            return {("bias", (head * n + a) * m + b):
                    MINUS_INFINITY if causal and j > i else slope * Interval.of(coefficient(i, j))
                    for a, i in enumerate(queries) for b, j in enumerate(keys)}
        return part
    return [of_head(head) for head in range(heads)]


# Biases by bucket of distance: Raffel et al. 2020; tensorflow/mesh, _relative_position_bucket.

def bucket_of(distance, settings):
    """Of the key's position less the query's."""
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
    return [lambda get, i=i, x=x: {("bucket", i): Interval.of(bucket_of(x, call.settings))}
            for i, x in enumerate(call.integers("distance"))]


def t5_bias(call):
    heads, n, m, width = call.size("h", "n", "m", "b")
    queries, keys = call.integers("query_position"), call.integers("key_position")
    at = [bucket_of(j - i, call.settings) for i in queries for j in keys]
    return [lambda get, head=head: {("bias", head * n * m + i): get("table", head * width + bucket)
                                    for i, bucket in enumerate(at)} for head in range(heads)]


# Sinusoidal encodings: Vaswani et al. 2017, section 3.5; Su 2021.

def columns(width, layout, first, frequencies):
    """(function, number of its frequency) of each column, None for a column of zeros."""
    names = ("sine", "cosine") if first == "sine" else ("cosine", "sine")
    if layout == "interleaved":
        out = [(names[k % 2], k // 2) for k in range(width) if k // 2 < frequencies]
    else:
        rest = min(frequencies, width - frequencies)
        out = [(names[0], k) for k in range(frequencies)] + [(names[1], k) for k in range(rest)]
    return out + [None] * (width - len(out))


def sinusoid(angles, column):
    if column is None:
        return ZERO
    function, k = column
    cosine, sine = angles[k]
    return sine if function == "sine" else cosine


def table(call):
    settings, width = call.settings, call.sizes["d"]
    count = (width + 1) // 2 if settings["odd"] == "extra" else width // 2
    layout = columns(width, settings["layout"], settings["first"], count)
    of_paper = (2, 2 * count if settings["odd"] == "padded" else width)
    numerator, denominator = of_paper if settings["rule"] == "paper" else (1, max(count - 1, 1))
    base = Interval.of(float(settings["base"]))

    def row(i, position):
        def part(get):
            m = Interval.of(position + int(settings["offset"]))
            angles = [(m * interval.power(base, -numerator * k, denominator)).cos_sin() for k in range(count)]
            return {("p", i * width + k): sinusoid(angles, column) for k, column in enumerate(layout)}
        return part
    return [row(i, m) for i, m in enumerate(call.integers("position"))]


def table_at(call):
    n, r = call.size("n", "r")
    layout = columns(2 * r, call.settings["layout"], call.settings["first"], r)

    def rows(some):
        def part(get):
            out = {}
            for i in some:
                angles = [(get("position", i) * get("theta", k)).cos_sin() for k in range(r)]
                out.update({("p", i * 2 * r + k): sinusoid(angles, column) for k, column in enumerate(layout)})
            return out
        return part
    return [rows(range(n))] if call.differentiated else [rows([i]) for i in range(n)]


def sinusoidal_frequencies(call):
    r = call.sizes["r"]
    return table_of_powers(call, lambda t: (-t, r if call.settings["rule"] == "paper" else max(r - 1, 1)))


def decay_of_products(call):
    """I_b(s) = (Ci(|s|) - Ci(|s|/b)) / ln b, I_b(0) = 1; its derivative (cos s - cos(s/b)) / (s ln b)."""
    base = Interval.of(float(call.settings["base"]))

    def value(s):
        if s.is_nan:
            return s
        if s.is_value(ZERO.lo):
            return ONE
        distance = -s if s.lo[0] else s
        near, far = interval.cosine_integral(distance), cosine_integral_of_quotient(distance, base)
        return (near - far) / base.log()

    def slope(s):
        if s.is_nan or s.is_value(ZERO.lo):
            return s
        return (s.cos_sin()[0] - (s / base).cos_sin()[0]) / (s * base.log())

    def element(i):
        def part(get):
            s = get("s", i)
            if isinstance(s, Interval):
                return {("g", i): value(s)}
            return {("g", i): s.with_derivative(ONE, slope(s.value))}  # the value itself is not wanted
        return part
    return [element(i) for i in range(call.sizes["n"])]


def cosine_integral_of_quotient(x, y):
    """Ci(x / y): its derivative cos(t) / t is at most 1 / t in size."""
    quotient = x / y
    value = interval.cosine_integral(Interval(quotient.lo))
    reach = Interval(quotient.width()) / Interval(quotient.lo)
    return value + Interval((-reach).lo, reach.hi) if not quotient.is_point else value


FORMULAS = {
    "heinsen/scan": scan, "heinsen/gated_scan": gated_scan, "heinsen/embed_position": embed_position,
    "fox/decay": decay, "fox/gated_decay": gated_decay, "fox/attention": forgetting_attention,
    "attention/output": attention,
    "rope/frequencies": rope_frequencies, "rope/rotate": rotate, "rope/rotate_by": rotate_by,
    "alibi/slopes": slopes, "alibi/bias": alibi_bias,
    "t5_bias/bucket": bucket, "t5_bias/bias": t5_bias,
    "sinusoidal/table": table, "sinusoidal/table_at": table_at,
    "sinusoidal/frequencies": sinusoidal_frequencies, "sinusoidal/decay": decay_of_products,
}
