"""The rows of a shard: lines of text, TSV, JSON lines or Parquet, copied with their translations window by window."""

import gzip
import json
import lzma
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import IO, Any, Literal, cast

from backports import zstd

from regard.bulk.storage import HashedFile, open_file, size
from regard.data.lines import Lines, uncompressed_name
from regard.errors import UserError
from regard.translate.sentences import one_line
from regard.translate.translator import WINDOW_LINES, windows

Kind = Literal["text", "tsv", "jsonl", "parquet"]
KINDS: dict[str, Kind] = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
COLUMNS = {"tsv": "1", "jsonl": "text", "parquet": "text"}
"""The column that is translated by default: a number, or a name."""
TRANSLATION = "translation"
"""The name of the column that is added to JSON lines and Parquet."""
_COMPRESSED: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda file: gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115  # closed by its user
    ".zst": lambda file: zstd.ZstdFile(file, "wb"),
}
TranslateTexts = Callable[[Sequence[str]], list[str]]


@dataclass(frozen=True)
class Rows:
    """The progress within a shard."""

    read: int
    written: int
    position: int
    """Bytes of the input that have been read."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows that were left out so far, by the reason."""


def kind(name: str) -> Kind:
    """Return a shard's format by the ending of its name: text unless the ending is known."""
    plain = uncompressed_name(name)
    found = KINDS.get(PurePath(plain).suffix.lower(), "text")
    if found == "parquet" and plain != name:
        raise UserError(f"{name}: Parquet compresses its columns itself; unpack the file first")
    return found


def check_column(name: str, column: str | None) -> str | None:
    """Return the column of a shard to translate; None for text."""
    found = kind(name)
    if found == "text":
        if column is not None:
            raise UserError(f"{name}: is plain text, which has no columns; leave out --column, or rename it to .tsv")
        return None
    chosen = column or COLUMNS[found]
    if found == "tsv" and not (chosen.isascii() and chosen.isdigit() and int(chosen) > 0):
        raise UserError(f"{name}: columns of TSV are numbered from 1, and {chosen!r} is no such number; mend --column")
    if found != "tsv" and chosen == TRANSLATION:
        raise UserError(f"{name}: {TRANSLATION!r} is the column that is added; choose another --column")
    return chosen


def copy_translated(address: str, out: HashedFile, column: str | None, translate: TranslateTexts) -> Iterator[Rows]:
    """Copy a shard with its translations; yield how far it is after each window, and at the end."""
    chosen, found = check_column(address, column), kind(address)
    if found == "parquet":
        assert chosen is not None
        return _copy_parquet(address, out, chosen, translate)
    form = {"text": _Text, "tsv": _Tsv, "jsonl": _JsonLines}[found]
    return _copy_lines(address, out, form(address, chosen or ""), translate)


class _Text:
    """Plain text: a line is replaced by its translation."""

    def __init__(self, address: str, column: str) -> None:
        self.address, self.column = address, column

    def text(self, line: bytes, number: int) -> str:
        """Return the part of a line to translate."""
        return line.decode("utf-8", "replace")

    def row(self, line: bytes, translation: str) -> bytes:
        """Return the line to write."""
        return one_line(translation).encode()


class _Tsv(_Text):
    """Tab-separated columns: the translation becomes the last column. A blank line stays blank."""

    def text(self, line: bytes, number: int) -> str:
        columns = line.split(b"\t")
        if line and len(columns) < int(self.column):
            raise UserError(f"{self.address}, line {number}: has no column {self.column}; mend the line, or --column")
        return columns[int(self.column) - 1].decode("utf-8", "replace") if line else ""

    def row(self, line: bytes, translation: str) -> bytes:
        return line + b"\t" + one_line(translation).replace("\t", " ").encode() if line else b""


class _JsonLines(_Text):
    """A JSON object a line: the translation becomes another field. A blank line stays blank."""

    def text(self, line: bytes, number: int) -> str:
        if not line.strip():
            return ""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{self.address}, line {number}: not valid JSON ({error}); mend the line") from None
        if not isinstance(row, dict) or not isinstance(row.get(self.column), str):
            raise UserError(
                f"{self.address}, line {number}: is no object with a text in {self.column!r}; mend it, or --column"
            )
        if TRANSLATION in row:
            raise UserError(f"{self.address}, line {number}: already has a field {TRANSLATION!r}; rename it")
        text: str = row[self.column]
        return text.encode("utf-8", "replace").decode()  # JSON may have halves of surrogate pairs

    def row(self, line: bytes, translation: str) -> bytes:
        if not line.strip():
            return b""
        added = json.dumps({TRANSLATION: translation}, ensure_ascii=False).encode("utf-8", "replace")
        kept = line.strip()[:-1].rstrip()  # as it was, so that numbers and the order of fields do not change
        return kept + b", " + added[1:]


def _copy_lines(address: str, out: HashedFile, form: _Text, translate: TranslateTexts) -> Iterator[Rows]:
    done = 0
    with ExitStack() as stack:
        target = stack.enter_context(closing(compressed(address, out)))
        lines = stack.enter_context(Lines(address, file=open_file(address)))

        def texts() -> Iterator[str]:
            for line in (line for block in lines for line in block):
                waiting.append(line)
                yield form.text(line, done + len(waiting))

        waiting: list[bytes] = []
        for window in windows(texts()):
            translations = translate(window)
            for line, translation in zip(waiting, translations, strict=True):
                row = form.row(line, translation)
                assert b"\n" not in row, "a line in is a line out"
                target.write(row + b"\n")
            done += len(waiting)
            waiting.clear()
            yield Rows(lines.count, done, lines.position())


def compressed(address: str, out: HashedFile) -> IO[bytes]:
    """Return a file that compresses as the ending of the input's address says."""
    plain = uncompressed_name(address)
    file: IO[bytes] = _COMPRESSED[address[len(plain) :]](out) if plain != address else cast("IO[bytes]", out)
    return file


def _copy_parquet(address: str, out: HashedFile, column: str, translate: TranslateTexts) -> Iterator[Rows]:
    import pyarrow as pa  # noqa: PLC0415  # takes long to import, and other formats do without
    from pyarrow import parquet  # noqa: PLC0415

    read = written = 0
    with open_file(address) as file:
        try:
            table = parquet.ParquetFile(file)
        except pa.ArrowInvalid as error:
            raise UserError(f"{address}: not valid Parquet ({error}); get the file again") from None
        schema = table.schema_arrow
        if column not in schema.names or not _is_text(schema.field(column).type):
            raise UserError(f"{address}: has no text column {column!r}, only {', '.join(schema.names)}; mend --column")
        if TRANSLATION in schema.names:
            raise UserError(f"{address}: already has a column {TRANSLATION!r}; rename it")
        total, length = max(1, table.metadata.num_rows), size(address) or 0
        with parquet.ParquetWriter(out, schema.append(pa.field(TRANSLATION, pa.string()))) as writer:
            for batch in _batches(table, address):
                texts: list[str | None] = batch.column(column).to_pylist()
                translations = [text for window in windows(text or "" for text in texts) for text in translate(window)]
                translated = [None if text is None else new for text, new in zip(texts, translations, strict=True)]
                columns = [*batch.columns, pa.array(translated, pa.string())]
                writer.write_batch(pa.record_batch(columns, schema=writer.schema))
                read, written = read + batch.num_rows, written + len(translated)
                yield Rows(read, written, length * read // total)


def _batches(table: Any, address: str) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415

    try:
        yield from table.iter_batches(WINDOW_LINES)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{address}: broken Parquet ({error}); get the file again") from None


def _is_text(found: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415

    return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
