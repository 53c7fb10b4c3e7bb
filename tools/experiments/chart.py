"""A chart of intervals as SVG: one panel below the other, one row for each thing compared, a mark for each seed."""
import math
from dataclasses import dataclass
from typing import Dict, List, Sequence
from xml.sax.saxutils import escape

from intervals import Interval

WIDTH, LEFT, RIGHT, LINE = 720, 240, 20, 24
STYLE = ("text { font: 13px sans-serif; fill: #222 } .head { font-weight: bold } .grid { stroke: #ddd } "
         ".interval { stroke: #1f5fa8; stroke-width: 2 } .mean { fill: #1f5fa8 } .seed { fill: none; stroke: #888 }")


@dataclass
class Row:
    name: str
    numbers: Sequence[float]
    interval: Interval


def ticks(low: float, high: float) -> List[float]:
    """About six round numbers between the two."""
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def drawn(panels: Dict[str, List[Row]], label: str) -> str:
    ends = [x for rows in panels.values() for r in rows
            for x in (*r.numbers, r.interval.mean - r.interval.half, r.interval.mean + r.interval.half)
            if math.isfinite(x)]
    low, high = min(ends), max(ends)
    margin = 0.03 * (high - low) or 0.1
    low, high = low - margin, high + margin

    def position(x: float) -> float:
        return LEFT + (x - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    height = LINE * (sum(len(rows) + 1 for rows in panels.values()) + 2) + 10
    bottom = height - 2 * LINE
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
             f'<style>{STYLE}</style>', '<rect width="100%" height="100%" fill="#fff"/>']
    for x in ticks(low, high):
        parts.append(f'<path class="grid" d="M{position(x):.1f} 10V{bottom}"/>'
                     f'<text x="{position(x):.1f}" y="{bottom + 18}" text-anchor="middle">{x:g}</text>')
    y = LINE
    for name, rows in panels.items():
        parts.append(f'<text class="head" x="10" y="{y + 4}">{escape(name)}</text>')
        for row in rows:
            y += LINE
            parts.append(f'<text x="24" y="{y + 4}">{escape(row.name)}</text>')
            parts += [f'<circle class="seed" cx="{position(x):.1f}" cy="{y}" r="3"/>' for x in row.numbers]
            mean, half = row.interval.mean, row.interval.half
            if math.isfinite(half):
                parts.append(f'<path class="interval" d="M{position(mean - half):.1f} {y}H{position(mean + half):.1f}"/>')
            parts.append(f'<circle class="mean" cx="{position(mean):.1f}" cy="{y}" r="4"/>')
        y += LINE
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{height - 8}" text-anchor="middle">{escape(label)}</text>')
    return "\n".join(parts) + "\n</svg>\n"
