"""Attention as decoders call it: Dong et al. 2024 (arXiv 2412.05496); DeepSeek-AI 2024 (arXiv 2405.04434), eqs. 10 to
19; Kwon et al. 2023 (arXiv 2309.06180)."""

from attention import power_of_width, sees, tanh, weighted_mean
from formula import ONE, ZERO, power_of, total
from interval import Interval
from rope import turned


def dot(x, y):
    return total(a * b for a, b in zip(x, y))


def row_of(get, name, k, width):
    return [get(name, k * width + c) for c in range(width)]


def turned_at(x, settings, position):
    """x with its pairs turned by position theta"""
    pairs = int(settings.get("rotary", 0)) or len(x) // 2
    base = Interval.of(float(settings["base"]))
    return turned(x, settings, [Interval.of(position) * power_of(base, -t, pairs) for t in range(pairs)])


def normalized(call, get, x, name):
    by = call.settings["norm_weight"]
    mean = dot(x, x) / Interval.of(len(x)) + Interval.of(float(call.settings["epsilon"]))
    over = (mean.log() * Interval.of(-0.5)).exp()
    weights = [ONE if by == "none" else get(name, c) + (ONE if by == "one_plus" else ZERO) for c in range(len(x))]
    return [a * over * w for a, w in zip(x, weights)]


def prepared(call, get, x, name, position):
    s = call.settings
    if s["norm"] == "before":
        x = normalized(call, get, x, name)
    if s["layout"] != "none":
        x = turned_at(x, s, position)
    return normalized(call, get, x, name) if s["norm"] == "after" else x


def temperature(settings, place):
    rule, trained = settings["temperature"], int(settings["trained_length"])
    if rule == "none" or (rule == "log_n" and place <= trained):
        return ONE
    if rule == "log_n":
        return Interval.of(place).log() / Interval.of(trained).log()
    return ONE + Interval.of(place // trained + 1).log() * Interval.of(0.1)


def attention(call):
    key_heads, group, n, m, d, e = call.size("h", "u", "n", "m", "d", "e")
    positions, documents, s = call.integers("position"), call.integers("document"), call.settings
    aligned_settings = {**s, "alignment": "last"}

    class placed:
        settings, size = aligned_settings, call.size

    def group_outputs(get, key_head, row):
        out = {}
        keys = [prepared(call, get, row_of(get, "k", (row * key_heads + key_head) * m + j, d), "key_norm",
                         positions[row * m + j]) for j in range(m)]
        values = [row_of(get, "v", (row * key_heads + key_head) * m + j, e) for j in range(m)]
        scale, cap = power_of_width(s["scale"], d), Interval.of(float(s["softcap"]))
        for head in range(key_head * group, (key_head + 1) * group):
            for i in range(n):
                block, own = (row * key_heads * group + head) * n + i, row * m + m - n + i
                q = prepared(call, get, row_of(get, "q", block, d), "query_norm", positions[own])
                q = [x * temperature(s, positions[own] + 1) for x in q]
                logits, read = [], []
                for j in range(m):
                    if not sees(placed, i, j) or documents[own] != documents[row * m + j]:
                        continue
                    z = dot(q, keys[j]) * scale
                    z = z if s["softcap"] == 0 else tanh(z / cap) * cap
                    if s["alibi"]:
                        z = z - get("slope", head) * Interval.of(abs(positions[own] - positions[row * m + j]))
                    logits.append(z)
                    read.append(values[j])
                if s["sinks"]:
                    logits.append(get("sink", head))
                    read.append([ZERO] * e)
                for c, x in enumerate(weighted_mean(logits, [[v[c] for v in read] for c in range(e)])):
                    out["o", block * e + c] = x
        return out
    return call.parts(group_outputs, together=("h", "B"))


def latent(call):
    heads, n, m, d, e, r, width = call.size("h", "n", "m", "d", "e", "r", "l")
    positions, s = call.integers("position"), call.settings

    def row_outputs(get, row):
        out = {}
        latents = [row_of(get, "latent", row * m + j, width) for j in range(m)]
        shared = [turned_at(row_of(get, "k_turned", row * m + j, 2 * r), s, positions[row * m + j]) for j in range(m)]
        scale = power_of_width(s["scale"], d + 2 * r) * Interval.of(float(s["logit_factor"]))
        for head in range(heads):
            keys = [[dot(row_of(get, "key_up", head * d + c, width), x) for c in range(d)] for x in latents]
            values = [[dot(row_of(get, "value_up", head * e + c, width), x) for c in range(e)] for x in latents]
            for i in range(n):
                block = (row * heads + head) * n + i
                seen = range(m - n + i + 1) if s["causal"] else range(m)
                q = row_of(get, "q", block, d)
                own = turned_at(row_of(get, "q_turned", block, 2 * r), s, positions[row * m + m - n + i])
                logits = [(dot(q, keys[j]) + dot(own, shared[j])) * scale for j in seen]
                for c, x in enumerate(weighted_mean(logits, [[values[j][c] for j in seen] for c in range(e)])):
                    out["o", block * e + c] = x
        return out
    return call.parts(row_outputs, together=("B",))


def paged(call):
    key_heads, group, n, t, page, d, e = call.size("h", "u", "n", "t", "s", "d", "e")
    table, lengths, s = call.integers("table"), call.integers("length"), call.settings

    def row_outputs(get, row):
        out, length = {}, min(lengths[row], t * page)
        scale = power_of_width(s["scale"], d)
        for head in range(key_heads * group):
            places = [(table[row * t + j // page] * page + j % page) * key_heads + head // group for j in range(length)]
            keys, values = ([row_of(get, name, k, w) for k in places] for name, w in (("key_pages", d), ("value_pages", e)))
            for i in range(n):
                block, own = (row * key_heads * group + head) * n + i, lengths[row] - n + i
                seen = [j for j in range(length) if own >= 0 and not (s["causal"] and j > own)
                        and not (s["window_left"] >= 0 and j < own - s["window_left"])]
                q = row_of(get, "q", block, d)
                logits = [dot(q, keys[j]) * scale for j in seen]
                for c, x in enumerate(weighted_mean(logits, [[values[j][c] for j in seen] for c in range(e)])):
                    out["o", block * e + c] = x
        return out
    return call.parts(row_outputs, together=("B",))
