"""Files that belong together line by line -> their lines, as text."""

from collections.abc import Sequence

from regard.data.lines import LONGEST_LINE, Lines, shown
from regard.errors import UserError


def read_lines(name: str) -> list[str]:
    """All lines of a file, plain or compressed; a line that is not text is told with its number."""
    texts: list[str] = []
    with Lines(name) as lines:
        for block in lines:
            for line in block:
                place = f"{shown(name)}, line {len(texts) + 1}"
                if len(line) > LONGEST_LINE:
                    raise UserError(f"{place}: over {LONGEST_LINE:,} bytes; is it a file of lines?")
                try:
                    texts.append(line.decode())
                except UnicodeDecodeError:
                    raise UserError(f"{place}: not valid UTF-8; convert the file first") from None
    return texts


def read_aligned(names: Sequence[str]) -> list[list[str]]:
    """The lines of files that must have equally many."""
    texts = [read_lines(name) for name in names]
    for name, lines in zip(names[1:], texts[1:], strict=True):
        if len(lines) != len(texts[0]):
            raise UserError(
                f"{shown(names[0])} has {len(texts[0])} lines and {shown(name)} has {len(lines)}, but each line must "
                "belong to the same line of the other; mend them"
            )
    return texts
