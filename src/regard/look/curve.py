"""A training curve as inline SVG, drawn in the page's text colour."""

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 14, 34
TICKS = 4


def curve(points: Sequence[tuple[int, float]], name: str, *, highest: float | None = None, form: str = ".2f") -> str:
    """Draw the points (step, value) as a line; the value axis goes from 0 to `highest`, or to the highest value."""
    last = max(step for step, _ in points)
    most = highest or max(value for _, value in points) or 1.0

    def across(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / last

    def down(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most)

    line = " ".join(f"{across(step):.1f},{down(value):.1f}" for step, value in points)
    label = escape(
        f"{name}: {points[0][1]:{form}} at step {points[0][0]}, {points[-1][1]:{form}} at {last}", quote=True
    )
    levels = [most * tick / TICKS for tick in range(TICKS + 1)]
    return "\n".join(
        [
            f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="{label}">',
            *(_level(down(level), f"{level:{form}}") for level in levels),
            *(_text(across(step), HEIGHT - 14, f"{step:,.0f}", "middle") for step in (0, last / 2)),
            _text(WIDTH - RIGHT, HEIGHT - 14, f"step {last:,}", "end"),
            '<g class="line" fill="currentColor" stroke="currentColor">',
            f'<polyline points="{line}" fill="none" stroke-width="2" stroke-linejoin="round"/>',
            *(
                f'<circle cx="{across(step):.1f}" cy="{down(value):.1f}" r="3.5">'
                f"<title>step {step:,}: {value:{form}}</title></circle>"
                for step, value in points
            ),
            "</g>",
            "</svg>",
        ]
    )


def _level(y: float, told: str) -> str:
    line = f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="currentColor" stroke-opacity="0.15"/>'
    return line + _text(LEFT - 7, y + 4, told, "end")


def _text(x: float, y: float, told: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">{escape(told)}</text>'
