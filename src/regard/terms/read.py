"""Readers of glossary files: TSV, CSV and TBX (versions 2 and 3)."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from regard.documents.language import base
from regard.documents.markup import Element, Source
from regard.errors import UserError
from regard.files import read_bytes
from regard.terms.glossary import LONGEST_TERM, MOST_TERMS, Term, term_of

LARGEST_FILE = 64 << 20
CASE = "case"
Languages = tuple[str | None, str | None]


def read_terms(path: Path, languages: Languages) -> Iterator[Term]:
    """Read the terms of a file, by its suffix: .csv, .tbx, and everything else as TSV."""
    content = read_bytes(path, LARGEST_FILE)
    suffix = path.suffix.lower()
    if suffix in (".tbx", ".xml"):
        return tbx(content, str(path), languages)
    terms = list((csv_terms if suffix == ".csv" else tsv)(_text(content, path), str(path)))
    if not terms:
        raise UserError(f"{path}: has no terms; write a source and a target term a line, or leave the glossary out")
    return iter(terms)


def _text(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{path}, line {line}: is not UTF-8; convert the file, for example with iconv") from None


def tsv(text: str, name: str) -> Iterator[Term]:
    """Yield the terms of lines `source TAB target`, with a third column `case` where the case must be the same."""
    lines = text.replace("\r\n", "\n").split("\n")
    return _rows(((number, line.split("\t")) for number, line in enumerate(lines, 1) if line.strip()), name, "tab")


def csv_terms(text: str, name: str) -> Iterator[Term]:
    """Yield the terms of a CSV file, whose columns are those of TSV."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)

    def rows() -> Iterator[tuple[int, list[str]]]:
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    yield reader.line_num, row
        except csv.Error as error:
            raise UserError(f"{name}, line {reader.line_num}: is not CSV ({error}); save it anew") from None

    return _rows(rows(), name, "comma")


def _rows(rows: Iterable[tuple[int, list[str]]], name: str, between: str) -> Iterator[Term]:
    for count, (number, row) in enumerate(rows, 1):
        cells = [cell.strip() for cell in row]
        if not 2 <= len(cells) <= 3 or not all(cells[:2]):
            raise UserError(
                f"{name}, line {number}: needs a source and a target term; write both, with a {between} between"
            )
        if len(cells) == 3 and cells[2] not in ("", CASE):
            raise UserError(f"{name}, line {number}: the third column is {cells[2][:20]!r}; it can only be `{CASE}`")
        if max(map(len, cells)) > LONGEST_TERM:
            raise UserError(f"{name}, line {number}: has a term of over {LONGEST_TERM} characters; shorten it")
        if count > MOST_TERMS:
            raise UserError(f"{name}: has over {MOST_TERMS:,} terms; leave out what the texts do not use")
        yield term_of(cells[0], cells[1], case=cells[-1] == CASE and len(cells) == 3)


def tbx(content: bytes, name: str, languages: Languages) -> Iterator[Term]:
    """Yield the terms of a TBX file in two languages; every source term of an entry has all its target terms."""
    read, written = (base(code) if code else None for code in languages)
    if read is None or written is None:
        raise UserError(f"{name}: has terms of several languages, but the model does not say its own; use TSV instead")
    entries: list[Term] = []

    def taken(entry: Element) -> None:
        spoken: dict[str, list[str]] = {}
        for child in entry.elements():
            if _local(child) in ("langSet", "langSec"):
                code = base(child.attributes.get("xml:lang") or child.attributes.get("lang"))
                spoken.setdefault(code, []).extend(
                    text for one in child.descendants() if _local(one) == "term" and (text := one.text.strip())
                )
        targets = tuple(spoken.get(written, ()))
        if targets:
            entries.extend(Term(source, targets) for source in spoken.get(read, ()))
        if len(entries) > MOST_TERMS:
            raise UserError(f"{name}: has over {MOST_TERMS:,} terms; leave out what the texts do not use")

    source = Source(content, name)
    source.each(lambda tag: tag.rpartition("}")[2] in ("termEntry", "conceptEntry"), taken)
    if not entries:
        raise UserError(f"{name}: has no entry with terms in both {read} and {written}; check the languages in it")
    return iter(entries)


def _local(element: Element) -> str:
    return element.name.rpartition("}")[2]
