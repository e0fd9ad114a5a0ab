"""Tables for a page that are also good to read in a terminal."""

from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table with even columns: the first one to the left, the others to the right; None is an empty cell."""
    cells = [[*heads], *(["" if cell is None else str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    placed = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in (cells[0], rule, *cells[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in placed)


def number(value: float | None, form: str) -> str | None:
    """A figure in a cell, if there is one."""
    return None if value is None else format(value, form)
