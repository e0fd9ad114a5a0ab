"""Markdown tables that are also readable in a terminal."""

from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table with padded columns: the first left-aligned, the others right; None is an empty cell."""
    cells = [[*heads], *(["" if cell is None else str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    placed = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in (cells[0], rule, *cells[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in placed)


def number(value: float | None, form: str) -> str | None:
    """Format a number for a cell; None is an empty cell."""
    return None if value is None else format(value, form)
