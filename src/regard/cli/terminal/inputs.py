"""Input of a command: a text on the command line, a file of lines, or standard input."""

import select
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.data.lines import Lines

FILE_ENDINGS = (".gz", ".xz", ".zst", ".tsv", ".jsonl")  # endings of files of lines; others are documents
FIRST_BYTES = 4096  # a binary file has a zero byte among these
PATIENCE = 0.02  # seconds to wait for more lines before work starts on those that are there


def input_windows(text: str | None) -> Iterator[list[str]]:
    """Yield windows of lines: all that are available, up to a limit, so that a slow pipe is processed line by line."""
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
            except UserError as error:  # raised after the lines before it are done
                failure = error
                break
            if not any(block):  # a file may have millions of blank lines
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
    """Return whether an argument is a file name rather than a text."""
    from regard.errors import UserError

    try:
        exists = text == "-" or (text != "" and Path(text).exists())  # Path("") is the current folder
    except (OSError, ValueError):  # too long for a file name, or contains NUL
        return False
    if not exists and not any(map(str.isspace, text)) and (text.endswith(FILE_ENDINGS) or _is_document(text)):
        raise UserError(f"{text}: no such file; check its name and folder, or send the text through a pipe")
    return exists


def is_lines(name: str) -> bool:
    """Return whether a file is plain lines, by its ending or its first bytes, and not another program's format."""
    if name == "-" or name.endswith(FILE_ENDINGS):
        return True
    with Path(name).open("rb") as file:
        return not _is_document(name) and b"\0" not in file.read(FIRST_BYTES)


def _is_document(name: str) -> bool:
    """Return whether a name is that of a document; the formats are imported only if it has a suffix."""
    if not PurePath(name).suffix:
        return False
    from regard.documents.translate import known

    return known(name)


def _more(lines: "Lines") -> bool:
    """Return whether more input is available now or within a moment; always true for a file on disk."""
    from regard.data.lines import STANDARD_INPUT

    if lines.name != STANDARD_INPUT:
        return True
    try:
        return bool(select.select([sys.stdin.buffer], [], [], PATIENCE)[0])
    except (OSError, ValueError):  # not selectable
        return True
