"""Sinusoidal encodings: Vaswani et al. 2017, section 3.5; Su 2021."""

import interval
from formula import ONE, ZERO, table_of_powers
from interval import Interval


def row_of(i, width, call, angles):
    """Row i of p: sines and cosines of the angles in its columns, zeros in those that are left."""
    names = (1, 0) if call.settings["first"] == "sine" else (0, 1)  # places of the two in cos_sin()
    if call.settings["layout"] == "interleaved":
        columns = [(names[k % 2], k // 2) for k in range(width) if k // 2 < len(angles)]
    else:
        rest = min(len(angles), width - len(angles))
        columns = [(names[0], k) for k in range(len(angles))] + [(names[1], k) for k in range(rest)]
    turns = [angle.cos_sin() for angle in angles]
    row = [turns[k][function] for function, k in columns]
    return {("p", i * width + k): x for k, x in enumerate(row + [ZERO] * (width - len(row)))}


def table(call):
    settings, width, positions = call.settings, call.sizes["d"], call.integers("position")
    count = (width + 1) // 2 if settings["odd"] == "extra" else width // 2
    paper_exponent = (2, 2 * count if settings["odd"] == "padded" else width)
    numerator, denominator = (1, max(count - 1, 1)) if settings["rule"] == "tensor2tensor" else paper_exponent
    base, alpha = (Interval.of(float(settings[name])) for name in ("base", "alpha"))

    def frequency(k):
        if settings["rule"] != "power":
            return interval.power(base, -numerator * k, denominator)
        return ((Interval.of(numerator * k) / Interval.of(denominator)).log() * alpha).exp() if k > 0 else ZERO

    def row(get, i):
        m = Interval.of(positions[i] + int(settings["offset"]))
        return row_of(i, width, call, [m * frequency(k) for k in range(count)])
    return call.parts(row, "n")


def table_at(call):
    r = call.sizes["r"]
    return call.parts(lambda get, i: row_of(i, 2 * r, call, [get("position", i) * get("theta", k) for k in range(r)]),
                      together="n")


def frequencies(call):
    r = call.sizes["r"]
    return table_of_powers(call, lambda t: (-t, r if call.settings["rule"] == "paper" else max(r - 1, 1)))


def decay(call):
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

    def element(get, i):
        s = get("s", i)
        if isinstance(s, Interval):
            return {("g", i): value(s)}
        return {("g", i): s.with_derivative(ONE, slope(s.value))}  # the value itself is not wanted
    return call.parts(element, "n")


def cosine_integral_of_quotient(x, y):
    """Ci(x / y): its derivative cos(t) / t is at most 1 / t in size."""
    quotient = x / y
    value = interval.cosine_integral(Interval(quotient.lo))
    reach = Interval(quotient.width()) / Interval(quotient.lo)
    return value + Interval((-reach).lo, reach.hi) if not quotient.is_point else value
