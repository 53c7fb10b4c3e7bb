"""The formula again, from its source (author, title, year, equation) and not from reference/. This one: y = a x + s b position."""

from interval import Interval


def scale(call):
    n, d = call.size("n", "d")
    positions = call.integers("position")
    sign = -1 if call.settings["sign"] == "minus" else 1

    def feature(get, k, row):
        return {("y", at): get("a", k) * get("x", at) + get("b", k) * Interval.of(sign * m)
                for m, at in zip(positions, range(row * n * d + k, (row + 1) * n * d, d))}
    return call.parts(feature, "d", together="B")  # the parameters of a feature are shared by the rows
