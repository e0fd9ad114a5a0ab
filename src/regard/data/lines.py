"""Raw lines of a plain or compressed text file, a few at a time, in bounded memory whatever their length."""

import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase, BufferedReader
from pathlib import Path
from stat import S_ISDIR
from types import TracebackType
from typing import Self, cast

from backports import zstd

from regard.errors import UserError

STANDARD_INPUT = "-"
LONGEST_LINE = 1 << 20  # bytes; a longer line is not a sentence, and a file may have no newline at all
LONGEST_SKIPPED = 64 << 20  # bytes of a line that are read in order to skip it; a longer one is treated as endless
BLOCK = 1 << 16

_BOM = b"\xef\xbb\xbf"
_SUFFIXES = {".gz": "gzip", ".xz": "xz", ".zst": "zstd"}
_MAGIC = {"gzip": b"\x1f\x8b", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd"}
_OPEN: dict[str, Callable[[BufferedReader], BufferedIOBase]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    "xz": lzma.LZMAFile,
    "zstd": zstd.ZstdFile,
}
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zstd.ZstdError)


def shown(name: str) -> str:
    """Return the file's name for messages."""
    return "standard input" if name == STANDARD_INPUT else name


def uncompressed_name(name: str) -> str:
    """Return the name without its compression suffix: train.en.gz -> train.en."""
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)


class Lines:
    """The lines of one file, as lists of bytes without their ends; only \\n and \\r\\n end a line.

    Compression is detected from the first bytes, whatever the name; a file whose name has a compression suffix must be
    compressed. A byte order mark at the start is dropped. A line of more than LONGEST_LINE bytes, and a broken archive,
    raise a UserError as soon as they are detected, after all lines before them have been yielded.

    With `skip_invalid`, a longer line is truncated, but not to LONGEST_LINE or less, so that its length identifies it;
    and a broken archive ends the file: `broken` then says what was wrong. `skippable` says that the user can ask for
    that.
    """

    def __init__(
        self, name: str, *, skip_invalid: bool = False, skippable: bool = False, file: BufferedReader | None = None
    ) -> None:
        """Open a file by its name, or take one that is open already; the name is then for messages."""
        self.name = name
        self.count = 0
        """Lines yielded so far."""
        self.broken: str | None = None
        self._skip_invalid, self._skippable = skip_invalid, skippable
        self._file = _open(name) if file is None else file
        try:
            self._stream, self._kind = _decompressed(self._file, name)
        except BaseException:
            self.close()
            raise

    def position(self) -> int:
        """Return the bytes of the file itself that have been read, for a progress bar."""
        return self._file.tell() if self._file.seekable() else 0

    def close(self) -> None:
        if self.name != STANDARD_INPUT:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[list[bytes]]:
        rest: list[bytes] = []  # the beginning of an incomplete line; of one that is too long, not all
        length = 0
        for number, block in enumerate(self._blocks()):
            data = block.removeprefix(_BOM) if number == 0 else block
            first, newline, others = data.partition(b"\n")
            if length <= LONGEST_LINE + 1:  # with the \r that may still belong to its end
                rest.append(first)
            length += len(first)
            if not newline:
                self._check_length(length - 1)
                continue
            lines = others.split(b"\n")
            lines.insert(0, b"".join(rest))
            self._check_length(length - lines[0].endswith(b"\r"))
            rest = [lines.pop()]
            length = len(rest[0])
            self.count += len(lines)
            yield [line.removesuffix(b"\r") for line in lines] if b"\r" in data or b"\r" in lines[0][-1:] else lines
        if length and self.broken is None:  # the last line need not be terminated; of a broken archive it is incomplete
            last = b"".join(rest).removesuffix(b"\r")
            self._check_length(len(last))
            self.count += 1
            yield [last]

    def _check_length(self, length: int) -> None:
        """Reject the current line if it has at least `length` bytes and these are too many."""
        most = LONGEST_SKIPPED if self._skip_invalid else LONGEST_LINE
        if length > most:
            hint = ", or pass --skip-invalid to leave out such lines" if self._skippable else ""
            raise UserError(
                f"{shown(self.name)}, line {self.count + 1}: longer than {most} bytes; if this is a file of lines, "
                f"break it into sentences{'' if self._skip_invalid else hint}"
            )

    def _blocks(self) -> Iterator[bytes]:
        """Yield decompressed data; the first block is long enough to hold a byte order mark, if the file is."""
        try:
            first = b""
            while len(first) < len(_BOM) and (block := self._stream.read1(BLOCK)):
                first += block
            yield first
            while block := self._stream.read1(BLOCK):
                yield block
        except _BROKEN as error:
            self.broken = f"broken {self._kind} data after line {self.count} ({error})"
            if not self._skip_invalid:
                hint = ", or pass --skip-invalid to use the lines before the break" if self._skippable else ""
                raise UserError(f"{shown(self.name)}: {self.broken}; get the file again{hint}") from None
        except OSError as error:
            raise UserError(f"{shown(self.name)}: can't be read after line {self.count}: {error.strerror}") from None


def text_lines(name: str) -> Iterator[str]:
    """Yield the lines of a file as text; raise a UserError with the number of a line that is not UTF-8."""
    with Lines(name) as file:
        yield from decoded(file)


def decoded(file: Lines) -> Iterator[str]:
    """Yield the lines of an open file as text."""
    for number, line in enumerate((line for block in file for line in block), 1):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise UserError(f"{shown(file.name)}, line {number}: not valid UTF-8; convert the file first") from None
        yield text


def check_readable(name: str) -> None:
    """Raise UserError for a name that can't be a text file, without opening it: a pipe can be opened only once."""
    if name == STANDARD_INPUT:
        return
    try:
        mode = Path(name).stat().st_mode
    except FileNotFoundError:
        raise UserError(f"{name}: no such file; check its name and folder") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise UserError(f"{name}: can't be read: {getattr(error, 'strerror', None) or error}") from None
    if S_ISDIR(mode):
        raise UserError(f"{name}: is a folder; name the files in it")


def _open(name: str) -> BufferedReader:
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise UserError("standard input is closed; name a file, or send text through a pipe")
        return cast(BufferedReader, sys.stdin.buffer)
    check_readable(name)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise UserError(f"{name}: can't be read: {error.strerror}") from None


def _decompressed(file: BufferedReader, name: str) -> tuple[BufferedIOBase, str]:
    """Return a stream of the decompressed text, and the name of the compression."""
    start = file.peek(8)[:8]
    for kind, magic in _MAGIC.items():
        if start.startswith(magic):
            return _OPEN[kind](file), kind
    for suffix, kind in _SUFFIXES.items():
        if name.endswith(suffix):
            raise UserError(f"{name}: named {suffix} but not {kind} data; get the file again, or rename it")
    return file, "plain"
