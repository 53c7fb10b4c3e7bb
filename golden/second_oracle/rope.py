"""Rotary encoding: Su et al. 2021, eqs. (15) and (34). Longer contexts: Peng et al. 2023 (YaRN), Grattafiori et al. 2024
(Llama 3), Ding et al. 2024 (LongRoPE), kexue.fm/archives/9706 (ntk_fixed, ntk_mixed), QwenLM/Qwen (dynamic_steps)."""

import interval
from formula import ONE, ZERO, enclosure_of, exceeds, power_of, table_of_powers, total
from interval import Interval, clipped, floor, pi


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


def ramp(settings, r, base):
    """How much of pair t is interpolated."""
    trained, last = Interval.of(int(settings["trained_length"])), 2 * r - 1 if settings["last"] == "width" else r - 1

    def index(beta):
        turns = trained / (Interval.of(2) * pi() * Interval.of(float(settings[beta])))
        return Interval.of(r) * turns.log() / base.log()
    low, high = index("beta_fast"), index("beta_slow")
    if settings["truncate"]:
        low, high = Interval.of(max(floor(low), 0)), Interval.of(min(-floor(-high), last))
    else:
        low, high = (low if exceeds(low, ZERO) else ZERO), (high if exceeds(Interval.of(last), high) else
                                                            Interval.of(last))
    width, crossed = high - low, settings.get("crossed", "reversed")
    if exceeds(low, high) and crossed == "turns":  # no pair makes beta_slow turns, or all make beta_fast
        return lambda t: ONE if exceeds(ZERO, high) else ZERO
    if (low.is_point and high.is_point and low.lo == high.lo) or (exceeds(low, high) and crossed == "step"):
        width = Interval.of(0.001)
    return lambda t: clipped((Interval.of(t) - low) / width)


def extended_row(settings, r, base):
    """theta of r pairs, which the settings stretch."""
    scaling, s = settings["scaling"], float(settings["factor"])
    trained, length = int(settings["trained_length"]), int(settings["length"])
    factor = Interval.of(s)

    def unstretched(ends):
        low, high = (Interval.of(float(settings[name])) for name in ends)

        def kept(theta):
            turns = Interval.of(trained) * theta / (Interval.of(2) * pi())
            if settings[ends[0]] == settings[ends[1]]:
                return ONE if exceeds(turns, high) else ZERO
            return clipped((turns - low) / (high - low))
        return kept

    def blended(theta, stretched):
        if settings["blend"] == "wavelengths" and scaling == "yarn":
            return theta if s == 1 else theta / (stretched * factor + (ONE - stretched))
        return theta if s == 1 else theta * (stretched / factor + (ONE - stretched))

    def dynamic(theta, t, longer):
        if t == 0:
            return theta
        if longer.is_point:
            return theta * interval.power(longer, -t, r - 1)
        return theta * (longer.log() * (Interval.of(-t) / Interval.of(r - 1))).exp()

    share = ramp(settings, r, base) if scaling == "yarn" and settings["ramp"] == "index" else None
    kept = unstretched(("low", "high") if scaling == "llama3" else ("beta_slow", "beta_fast"))
    row = []
    for t in range(r):
        theta = power_of(base, -t, r)
        if scaling in ("yarn", "llama3"):
            value = blended(theta, share(t) if share else ONE - kept(theta))
        elif scaling == "ntk_fixed":
            value = theta * interval.power(factor, -t - 1, r)
        elif scaling == "ntk_mixed":
            exponent = ((Interval.of(t + 1) / Interval.of(r)).log() * Interval.of(float(settings["mixed"]))).exp()
            value = theta * (-(factor.log() * exponent)).exp()
        elif scaling == "dynamic":
            longer = factor * Interval.of(length) / Interval.of(trained) - (factor - ONE)
            value = dynamic(theta, t, longer if length > trained else ONE)
        else:
            doublings = 0
            while trained << doublings < length:
                doublings += 1
            value = dynamic(theta, t, Interval.of(2 ** (doublings + 1) - 1))
        row.append(value)
    return row


def extended_frequencies(call):
    r = call.sizes["r"]
    return call.parts(lambda get, k: {("theta", k * r + t): value for t, value in
                                      enumerate(extended_row(call.settings, r, get("base", k)))}, "k")


def divided_frequencies(call, factors="factors"):
    r = call.sizes["r"]
    return call.parts(lambda get, k: {("theta", k * r + t): power_of(get("base", k), -t, r) / get(factors, t)
                                      for t in range(r)}, together="k")


def switched_frequencies(call):
    beyond = int(call.settings["length"]) - int(call.settings["trained_length"])
    is_long = beyond > 0 or (beyond == 0 and call.settings["switch"] == "at_or_above")
    return divided_frequencies(call, "long_factor" if is_long else "short_factor")


def magnitude_of(settings, s):
    """The magnitude by which the rule multiplies for contexts s times as long."""
    trained = Interval.of(int(settings["trained_length"]))
    yarn_scale, full_scale = (Interval.of(0.1) * Interval.of(float(settings[name])) for name in ("mscale", "mscale_all_dim"))
    if enclosure_of(s).is_nan:
        return s
    if not exceeds(s, ONE):
        return ONE
    growth = s.log()
    if settings["rule"] == "su":
        return ((growth / trained.log() + ONE).log() * Interval.of(0.5)).exp()
    if settings["rule"] == "ratio":
        return ONE if yarn_scale.lo == full_scale.lo else (growth * yarn_scale + ONE) / (growth * full_scale + ONE)
    return growth * yarn_scale + ONE


def magnitude(call):
    return call.parts(lambda get, k: {("magnitude", k): magnitude_of(call.settings, get("factor", k))}, "k")


def pairs_of(settings, d, r):
    """The coordinates of each pair. A call without a setting has the standard one."""
    start = d - 2 * r if settings.get("at") == "end" else 0
    if settings["layout"] == "interleaved":
        return [(start + 2 * t, start + 2 * t + 1) for t in range(r)]
    apart = d // 2 if settings.get("partial") == "proportional" else r
    return [(start + t, start + t + apart) for t in range(r)]


def turned(x, settings, angles, pairs=None):
    """The coordinates of a vector, whose pairs are turned by these angles and multiplied by the magnitude."""
    by_rule = settings.get("rule", "given") != "given"
    factor = (magnitude_of(settings, Interval.of(float(settings["factor"]))) if by_rule else
              Interval.of(float(settings.get("magnitude", 1))))
    for (a, b), angle in zip(pairs or pairs_of(settings, len(x), len(angles)), angles):
        cosine, sine = (factor * wave for wave in angle.cos_sin())
        x[a], x[b] = x[a] * cosine - x[b] * sine, x[a] * sine + x[b] * cosine
    return x


def rotated(call, get, token, angles, chosen_heads=None, pairs=None):
    """y of a token whose pairs are turned by these angles, for the chosen heads (None: all)."""
    heads, d = call.size("h", "d")
    out = {}
    for head in range(heads) if chosen_heads is None else chosen_heads:
        first = (token * heads + head) * d
        x = turned([get("x", first + k) for k in range(d)], call.settings, angles, pairs)
        out.update({("y", first + k): v for k, v in enumerate(x)})
    return out


def angles_of(call, position):
    d, settings = call.sizes["d"], call.settings
    r = int(settings["rotary"]) or d // 2
    steps = d // 2 if settings.get("partial") == "proportional" else r
    base, scale = (Interval.of(float(settings[name])) for name in ("base", "position_scale"))
    m = Interval.of(-position if settings.get("direction") == "clockwise" else position) / scale
    return [m * interval.power(base, -t, steps) for t in range(r)]


def rotate(call, angles=None):
    n = call.sizes["n"]
    positions = call.integers("position")
    angles = angles or (lambda position: angles_of(call, position))
    return call.parts(lambda get, row, i: rotated(call, get, row * n + i, angles(positions[row * n + i])), "B", "n")


def by_frequencies(call, theta):
    """The rotation by the frequencies theta(base), computed at the precision of each run."""
    backwards = call.settings["direction"] == "clockwise"
    return rotate(call, lambda position: [Interval.of(-position if backwards else position) * x for x in
                                          theta(Interval.of(float(call.settings["base"])))])


def rotate_extended(call):
    r = int(call.settings["rotary"]) or call.sizes["d"] // 2
    return by_frequencies(call, lambda base: extended_row(call.settings, r, base))


def rotate_divided(call):
    r, factors = call.sizes["r"], [Interval.of(float(x)) for x in call.inputs["factors"]]
    return by_frequencies(call, lambda base: [power_of(base, -t, r) / factors[t] for t in range(r)])


def scores_of(call, vector):
    """Scores of queries and keys that vector(get, "q" or "k", first element, position) returns."""
    n, m, key_heads, group, d = call.size("n", "m", "h", "u", "d")
    queries, keys, heads = call.integers("query_position"), call.integers("key_position"), key_heads * group

    def factor():
        by = Interval.of(float(call.settings["logit_factor"]))
        return by if call.settings["scale"] == "one" or d == 0 else by * Interval.of(d).inverse_sqrt()

    def group_outputs(get, row, key_head):
        k = [vector(get, "k", ((row * m + j) * key_heads + key_head) * d, keys[row * m + j]) for j in range(m)]
        out = {}
        for head in range(key_head * group, (key_head + 1) * group):
            for i in range(n):
                q = vector(get, "q", ((row * n + i) * heads + head) * d, queries[row * n + i])
                out.update({("s", ((row * heads + head) * n + i) * m + j): total(a * b for a, b in zip(q, k[j])) * factor()
                            for j in range(m)})
        return out
    return call.parts(group_outputs, "B", "h")


def scores(call):
    d = call.sizes["d"]
    return scores_of(call, lambda get, name, first, position: turned(
        [get(name, first + c) for c in range(d)], call.settings, angles_of(call, position)))


def rotate_by(call):
    n, r = call.size("n", "r")

    def token(get, row, i):
        m = get("position", row * n + i)
        return rotated(call, get, row * n + i, [m * get("theta", t) for t in range(r)])
    return call.parts(token, together="Bn")
