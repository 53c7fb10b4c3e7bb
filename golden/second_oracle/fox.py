"""The Forgetting Transformer: Lin et al. 2025, section 3."""

from attention import attend
from formula import MINUS_INFINITY, ZERO, log_sigmoid


def decays(get, name, row, head, n, heads, gate=lambda a: a):
    """D_ij = a_{j+1} + ... + a_i for j <= i"""
    a, out = [gate(get(name, (row * n + i) * heads + head)) for i in range(n)], {}
    for i in range(n):
        out[i, i] = ZERO
        for j in reversed(range(i)):
            out[i, j] = a[j + 1] + out[i, j + 1] if j + 1 < i else a[i]
    return out


def decay(call, name="log_f", *gate):
    n, heads = call.size("n", "h")

    def block(get, row, head):
        d, first = decays(get, name, row, head, n, heads, *gate), (row * heads + head) * n * n
        return {("D", first + i * n + j): d.get((i, j), MINUS_INFINITY) for i in range(n) for j in range(n)}
    return call.parts(block, "B", "h")


def last_rows(call, get, row, head):
    """D_ij of query i and key j, where queries are the last of the keys and those before `first_key` are padding"""
    n, m, heads = call.size("n", "m", "h")
    a, out = [get("log_f", (row * m + l) * heads + head) for l in range(m)], {}
    for i in range(n):
        decay = ZERO
        for j in reversed(range(call.integers("first_key")[row], i + m - n + 1)):
            out[i, j] = decay
            decay = a[j] if decay is ZERO else decay + a[j]
    return out


def cached_decay(call):
    n, m, heads = call.size("n", "m", "h")

    def block(get, row, head):
        d, first = last_rows(call, get, row, head), (row * heads + head) * n * m
        return {("D", first + i * m + j): d.get((i, j), MINUS_INFINITY) for i in range(n) for j in range(m)}
    return call.parts(block, "B", "h")


def cached_attention(call):
    def block(get, row, head):
        d = last_rows(call, get, row, head)
        return attend(call, get, row, head, lambda i, j: d.get((i, j), MINUS_INFINITY))
    return call.parts(block, "B", "h")


def gated_decay(call):
    return decay(call, "g", log_sigmoid)


def attention(call):
    n, heads = call.size("n", "h")
    call.sizes["m"] = n

    def block(get, row, head):
        d = decays(get, "log_f", row, head, n, heads)
        return attend(call, get, row, head, lambda i, j: d.get((i, j), MINUS_INFINITY))
    return call.parts(block, "B", "h")
