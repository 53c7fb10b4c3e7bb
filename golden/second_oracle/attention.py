"""Attention with a bias: Vaswani et al. 2017, eq. (1)."""

from mpmath.libmp import finf, fninf, mpf_gt

from formula import MINUS_INFINITY, ONE, ZERO, enclosure_of, total
from interval import Interval


def weighted_mean(logits, values):
    """The mean of `values` (a list of lists by component) under softmax; without keys, or with all logits -inf, it is
    0."""
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


def attend(call, get, row, head, bias_at):
    """o of a row and a head; bias_at(i, j) is -inf where i does not see j."""
    heads, n, m, d, e = call.size("h", "n", "m", "d", "e")
    scale = power_of_width(call.settings["scale"], d)
    block, out = row * heads + head, {}
    for i in range(n):
        logits = []
        for j in range(m):
            bias = bias_at(i, j)
            if enclosure_of(bias).is_value(fninf):
                logits.append(MINUS_INFINITY)
                continue
            dot = total(get("q", (block * n + i) * d + k) * get("k", (block * m + j) * d + k) for k in range(d))
            logits.append(dot * scale + bias)
        values = [[get("v", (block * m + j) * e + c) for j in range(m)] for c in range(e)]
        for c, x in enumerate(weighted_mean(logits, values)):
            out["o", (block * n + i) * e + c] = x
    return out


def power_of_width(factor, d):
    """1, 1 / sqrt(d) or sqrt(d); 1 where there are no features"""
    if factor == "one" or d == 0:
        return ONE
    root = Interval.of(d).inverse_sqrt()
    return root if factor == "inverse_sqrt" else root * Interval.of(d)


def attend_in_order(call, bias_of):
    """Attention with a bias of the places of queries and keys: bias_of(get, head, query, key)."""
    n, m, d = call.size("n", "m", "d")
    first = m - n if call.settings["alignment"] == "last" else 0

    def block(get, head, row):
        factor = power_of_width(call.settings["bias_factor"], d)
        return attend(call, get, row, head, lambda i, j: MINUS_INFINITY if call.settings["causal"] and j > first + i
                      else bias_of(get, head, first + i, j) * factor)
    return call.parts(block, "h", together="B")  # heads share their parameters between rows


def output(call):
    n, m = call.size("n", "m")
    return call.parts(lambda get, head, row: attend(call, get, row, head,
                                                    lambda i, j: get("bias", (head * n + i) * m + j)),
                      "h", together="B")  # a head's bias is shared by the rows


def tanh(x):
    e = (x + x).exp()
    return (e - ONE) / (e + ONE)


def sees(call, i, j):
    """Whether query i sees key j: a key in its windows, in its chunk, and not later if the attention is causal."""
    s, (n, m) = call.settings, call.size("n", "m")
    place, chunk = i + (m - n if s["alignment"] == "last" else 0), int(s.get("chunk", 0))
    ahead = j - place
    if chunk > 0 and place // chunk != j // chunk:
        return False
    return ((s["window_left"] < 0 or -ahead <= s["window_left"]) and (s["window_right"] < 0 or ahead <= s["window_right"])
            and not (s["causal"] and ahead > 0))


def logits_of(call, get, block, key_block, i):
    """Capped logits of the query i of a block with the keys of another."""
    n, m, d = call.size("n", "m", "d")
    scale, cap = power_of_width(call.settings["scale"], d), Interval.of(call.settings["softcap"])
    logits = []
    for j in range(m):
        if not sees(call, i, j):
            logits.append(MINUS_INFINITY)
            continue
        z = total(get("q", (block * n + i) * d + c) * get("k", (key_block * m + j) * d + c) for c in range(d)) * scale
        logits.append(z if call.settings["softcap"] == 0 else tanh(z / cap) * cap)
    return logits


def by_groups(call, query_outputs):
    """Parts of query_outputs(get, head, block of the head, block of its keys, i): each has the heads that share
    keys."""
    key_heads, group, n = call.size("h", "u", "n")

    def group_outputs(get, key_head, row):
        out = {}
        for head in range(key_head * group, (key_head + 1) * group):
            for i in range(n):
                out |= query_outputs(get, head, row * key_heads * group + head, row * key_heads + key_head, i)
        return out
    return call.parts(group_outputs, "h", together="B")  # rows share sinks


def grouped_query(call, has_sink=False):
    n, m, e = call.size("n", "m", "e")

    def query_outputs(get, head, block, key_block, i):
        logits = logits_of(call, get, block, key_block, i)
        values = [[get("v", (key_block * m + j) * e + c) for j in range(m)] for c in range(e)]
        if has_sink:
            logits.append(get("sink", head))
            values = [v + [ZERO] for v in values]
        return {("o", (block * n + i) * e + c): x for c, x in enumerate(weighted_mean(logits, values))}
    return by_groups(call, query_outputs)


def sinks(call):
    return grouped_query(call, has_sink=True)


def lse(call):
    n = call.size("n")[0]

    def query_outputs(get, head, block, key_block, i):
        seen = [z for z in logits_of(call, get, block, key_block, i) if not enclosure_of(z).is_value(fninf)]
        if not seen:
            return {("lse", block * n + i): MINUS_INFINITY if call.settings["empty"] == "minus_infinity" else -MINUS_INFINITY}
        if any(enclosure_of(z).is_nan for z in seen):
            return {("lse", block * n + i): total(seen)}
        sum_of_all = seen[0]
        for z in seen[1:]:
            sum_of_all = sum_of_all.log_add_exp(z)
        return {("lse", block * n + i): sum_of_all / Interval.of(2).log() if call.settings["base"] == "2" else sum_of_all}
    return by_groups(call, query_outputs)


def merge(call):
    """Parts of attention by their log-sum-exp: Ye et al. 2025 (arXiv 2501.01005), section 2.2."""
    heads, n, parts, e = call.size("h", "n", "p", "e")
    with_plus = call.settings["empty"] == "plus_infinity"

    def says_empty(lse):
        lse = enclosure_of(lse)
        return lse.is_value(fninf) or (with_plus and lse.is_value(finf))

    def query(get, b, h, i):
        row, unit = (b * heads + h) * n + i, Interval.of(2).log() if call.settings["base"] == "2" else ONE
        lses = [get("lses", row * parts + k) for k in range(parts)]
        nonempty = [k for k in range(parts) if not says_empty(lses[k])]
        values = [[get("parts", (row * parts + k) * e + c) for k in nonempty] for c in range(e)]
        means = weighted_mean([lses[k] * unit for k in nonempty], values)
        out = {("o", row * e + c): x for c, x in enumerate(means)}
        out["lse", row] = log_sum([lses[k] for k in nonempty], unit) if nonempty else \
            -MINUS_INFINITY if with_plus else MINUS_INFINITY
        return out
    return call.parts(query, "B", "h", "n")


def log_sum(lses, unit):
    """log_b of the sum of b^lse, unit = log b."""
    if len(lses) == 1 or any(enclosure_of(x).is_nan for x in lses):
        return total(lses)
    largest = lses[0]
    for x in lses:
        if mpf_gt(enclosure_of(x).lo, enclosure_of(largest).lo):
            largest = x
    return largest + total(((x - largest) * unit).exp() for x in lses).log() / unit
