"""Files that belong together line by line -> their lines, as text."""

from collections.abc import Sequence

from regard.data.lines import shown, text_lines
from regard.errors import UserError


def read_aligned(names: Sequence[str]) -> list[list[str]]:
    """The lines of files that must have equally many."""
    texts = [list(text_lines(name)) for name in names]
    for name, lines in zip(names[1:], texts[1:], strict=True):
        if len(lines) != len(texts[0]):
            raise UserError(
                f"{shown(names[0])} has {len(texts[0])} lines and {shown(name)} has {len(lines)}, but each line must "
                "belong to the same line of the other; mend them"
            )
    return texts
