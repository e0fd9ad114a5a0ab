"""What a command is given to work on: a text on the command line, a file of lines, or what comes through a pipe."""

import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.data.lines import Lines

FILE_ENDINGS = (".gz", ".xz", ".zst", ".tsv", ".jsonl")  # of lines; others are documents
FIRST_BYTES = 4096  # in which a file that is no text has a zero
PATIENCE = 0.02  # seconds to wait for more lines before work begins on those that have come


def windows(text: str | None) -> Iterator[list[str]]:
    """Lines by as many as are worked on together: all that have come, up to a limit. A slow pipe need not wait."""
    from regard.data.lines import STANDARD_INPUT, Lines
    from regard.errors import UserError
    from regard.translate.translator import WINDOW_CHARACTERS, WINDOW_LINES

    if text is not None and not is_file(text):
        yield text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split("\n")
        return
    window: list[str] = []
    characters = 0
    failure: UserError | None = None
    with Lines(STANDARD_INPUT if text is None else text) as lines:
        blocks = iter(lines)
        while True:
            try:
                block = next(blocks)
            except StopIteration:
                break
            except UserError as error:  # told when the lines before it are done
                failure = error
                break
            if not any(block):  # blank lines, of which a file may have millions
                window += [""] * len(block)
                block = []
            for line in block:
                window.append(line.decode("utf-8", "replace"))
                characters += len(window[-1])
                if len(window) >= WINDOW_LINES or characters >= WINDOW_CHARACTERS:
                    yield window
                    window, characters = [], 0
            if window and (len(window) >= WINDOW_LINES or not _more(lines)):
                yield window
                window, characters = [], 0
    if window:
        yield window
    if failure is not None:
        raise failure


def is_file(text: str) -> bool:
    """Whether an argument names a file rather than being the text."""
    from regard.documents.translate import known
    from regard.errors import UserError

    try:
        exists = text == "-" or (text != "" and Path(text).exists())  # "" would be this folder
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return False
    named = text.endswith(FILE_ENDINGS) or known(text)
    if not exists and named and not any(map(str.isspace, text)):
        raise UserError(f"{text}: no such file; check its name and folder, or send the text through a pipe")
    return exists


def is_lines(name: str) -> bool:
    """Whether a file has lines to translate, by its ending or by its first bytes, and is no other program's."""
    from regard.documents.translate import known

    if name == "-" or name.endswith(FILE_ENDINGS):
        return True
    with Path(name).open("rb") as file:
        return not known(name) and b"\0" not in file.read(FIRST_BYTES)


def _more(lines: "Lines") -> bool:
    """Whether more of the file is there, or comes at once; of one on a disk it always is."""
    from regard.data.lines import STANDARD_INPUT

    if lines.name != STANDARD_INPUT:
        return True
    try:
        return bool(select.select([sys.stdin.buffer], [], [], PATIENCE)[0])
    except (OSError, ValueError):  # not something that can be waited for
        return True
