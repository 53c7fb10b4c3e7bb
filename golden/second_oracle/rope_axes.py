"""Rotary encoding on several axes: Heo et al. 2024 (arXiv 2403.13298), eqs. (9) and (10); sections as in Qwen2-VL."""

import interval
from formula import total
from interval import Interval
from rope import rotated


def sections_of(settings, d, axes):
    sections = [int(settings[f"section_{k}"]) for k in range(3)]
    if not any(sections):
        return [d // 2 // axes] * axes
    used = max(k + 1 for k, section in enumerate(sections) if section)
    return sections[:max(used, int(settings.get("sections", 0)))]


def coordinates_of(settings, d, axes):
    """The coordinates of each pair where each axis has halves of its own."""
    coordinates, start = [], 0
    for section in sections_of(settings, d, axes):
        coordinates += [(start + t, start + section + t) for t in range(section)]
        start += 2 * section
    return coordinates


def angles_of(settings, d, axes):
    """For each pair: the axis of its position, and (numerator, denominator) of the exponent of its frequency."""
    sections = sections_of(settings, d, axes)
    used, pairs = len(sections), sum(sections)
    if settings["assignment"] == "blocks":
        owners = [k for k, section in enumerate(sections) for _ in range(section)]
    else:  # axis 0 has all pairs; then each other axis takes every used-th one
        owners = [0] * pairs
        for k in range(1, used):
            for t in range(k, used * sections[k], used):
                owners[t] = k
    numbers = [owners[:t].count(k) for t, k in enumerate(owners)]
    exponents = {"per_axis": [(i, sections[k]) for i, k in zip(numbers, owners)],
                 "shared": [(t, pairs) for t in range(pairs)],
                 "by_turns": [(used * i + k, pairs) for i, k in zip(numbers, owners)]}[settings["exponent"]]
    columns = [k if settings["order"] == "xy" else used - 1 - k for k in owners]
    return list(zip(columns, exponents))


def rotate(call):
    n, d, axes = call.size("n", "d", "a")
    positions, base = call.integers("position"), Interval.of(float(call.settings["base"]))
    pairs = angles_of(call.settings, d, axes)
    by_axis = call.settings["layout"] == "half_split" and call.settings.get("halves") == "axis"
    coordinates = coordinates_of(call.settings, d, axes) if by_axis else None

    def token(get, row, i):
        place = positions[(row * n + i) * axes:(row * n + i + 1) * axes]
        return rotated(call, get, row * n + i, [Interval.of(place[k]) * interval.power(base, -step, steps)
                                                for k, (step, steps) in pairs], pairs=coordinates)
    return call.parts(token, "B", "n")


def rotate_by(call):
    n, h, axes, r = call.size("n", "h", "a", "r")

    def token(get, row, i):
        index = row * n + i
        out = {}
        for head in range(h):
            angles = [total(get("position", index * axes + k) * get("theta", (head * axes + k) * r + t)
                            for k in range(axes)) for t in range(r)]
            out.update(rotated(call, get, index, angles, [head]))
        return out
    return call.parts(token, together="Bn")
