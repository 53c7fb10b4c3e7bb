"""Learned positions: make_positions of facebookresearch/fairseq; Devlin et al. 2019 (arXiv 1810.04805)."""

from attention import power_of_width
from formula import ONE
from interval import Interval


def positions(call):
    n, mask, settings = call.size("n")[0], call.integers("mask"), call.settings
    past, offset = int(settings["past"]), int(settings["offset"])
    padding = {"before_first": offset - 1, "zero": 0, "one": 1}[settings["masked"]]

    def token_outputs(get, row, i):
        if settings["rule"] == "as_they_lie":
            return {("position", row * n + i): Interval.of(past + i + offset)}
        tokens = past + sum(mask[row * n:row * n + i + 1])
        return {("position", row * n + i): Interval.of(tokens - 1 + offset if mask[row * n + i] else padding)}
    return call.parts(token_outputs, "B", "n")


def rows(call, fused):
    """Each token with the row at its position."""
    n, d = call.size("n", "d")
    position = call.integers("position")

    def channel_outputs(get, c, b, i):
        k = (b * n + i) * d + c
        return {("y", k): fused(get("x", k), get("table", position[b * n + i] * d + c))}
    return call.parts(channel_outputs, "d", together=("B", "n"))


def embed(call):
    d = call.size("d")[0]

    def fused(x, row):
        return (power_of_width("sqrt", d) if call.settings["input_factor"] == "sqrt" else ONE) * x + row
    return rows(call, fused)


def multiply(call):
    return rows(call, lambda x, row: x * row)
