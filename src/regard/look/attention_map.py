"""Attention as a heat map: a square for every pair of tokens, darker for a larger weight.

The SVG is embedded in a page. Text has the page's own colour, squares that of the class `weights`.
"""

from collections.abc import Sequence
from html import escape

from regard.look.alignment_grid import width as columns

CELL = 28
LETTER = 9  # approximate width in pixels; a Korean character takes two


def attention_map(weights_TS: Sequence[Sequence[float]], source: Sequence[str], target: Sequence[str]) -> str:
    """Return the heat map as SVG: rows are target tokens, columns source tokens; a square's tooltip is its weight."""
    left = 14 + LETTER * max(map(columns, target), default=0)
    longest = max(map(columns, source), default=0)
    turned = longest > 3
    top = 14 + LETTER * longest if turned else 30
    width, height = left + CELL * len(source) + 2, top + CELL * len(target) + 2
    strongest = ", ".join(
        f"{token} from {source[max(range(len(source)), key=row.__getitem__)]}"
        for token, row in zip(target, weights_TS, strict=True)
    )
    label = escape(f"Attention, the strongest of each row: {strongest}", quote=True)
    return "\n".join(
        [
            f'<svg class="map" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{label}">',
            *(_column(left + CELL * n + CELL // 2, top - 9, token, turned) for n, token in enumerate(source)),
            *(_text(left - 8, top + CELL * n + CELL // 2 + 5, token, "end") for n, token in enumerate(target)),
            '<g class="weights" fill="currentColor" stroke="currentColor">',
            *(
                _square(left + CELL * s, top + CELL * t, weight, f"{target[t]} ← {source[s]}: {weight:.0%}")
                for t, row in enumerate(weights_TS)
                for s, weight in enumerate(row)
            ),
            "</g>",
            "</svg>",
        ]
    )


def _square(x: int, y: int, weight: float, told: str) -> str:
    return (
        f'<rect x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{CELL - 2}" rx="3" fill-opacity="{weight:.3f}" '
        f'stroke-opacity="0.18"><title>{escape(told)}</title></rect>'
    )


def _column(x: int, y: int, token: str, turned: bool) -> str:
    if not turned:
        return _text(x, y, token, "middle")
    return f'<g transform="translate({x + 5} {y}) rotate(-90)">{_text(0, 0, token, "start")}</g>'


def _text(x: int, y: int, token: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor">{escape(token)}</text>'
