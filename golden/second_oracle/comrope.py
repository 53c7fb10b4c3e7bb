"""ComRoPE: Yu et al. 2025 (arXiv 2506.03737) and its released code."""

from formula import total
from liere import by_blocks


def rotate(call):
    a, b, c = call.size("a", "b", "c")

    def upper(get, token, head, block, i, j):
        first = (head * c + block) * b * b
        skew = get("p", first + i * b + j) - get("p", first + j * b + i)
        if call.settings["variant"] == "ap":
            return get("position", token * a + block % a) * skew
        return total(get("position", token * a + k) * get("theta", k * c + block) for k in range(a)) * skew
    return by_blocks(call, upper)
