"""Reader and writer of message catalogues (.po): messages without a translation.

A translation that exists, even a fuzzy one, is a person's work and stays; so do the header, comments and obsolete
entries. Placeholders are restored unchanged.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.documents.segment import Item, Piece, divided

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_STATEMENT = re.compile(r'\s*(msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?)[ \t]*"(.*)"\s*', re.DOTALL)
_COLUMNS = re.compile(r"(\t+|  +)")  # spaces that align columns, as in lists of options
_MORE = re.compile(r'\s*"(.*)"\s*', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANING = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_SPELT = str.maketrans({"\\": "\\\\", '"': '\\"', **{sign: f"\\{letter}" for letter, sign in _MEANING.items()}})
PLACEHOLDER = re.compile(
    r"""
    %(?:\([^()\s]*\))? (?:\d+\$)? [-+\#0']*+ (?:\d++|\*)? (?:\.(?:\d++|\*))? (?:hh|h|ll|l|L|z|j|t|q)?
      [diouxXeEfFgGaAcspn@%]
    | %[-+\#0']*+\d*+<PRI[a-zA-Z0-9]++> | %\d+
    | \$?\{[^{}\n]*\} | &[a-zA-Z]+; | <(?P<close>/?)(?P<tag>[a-zA-Z]++)[^<>\n]*+>
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class _Statement:
    """A keyword with its string, which may span several lines; or one line of anything else."""

    keyword: str
    text: str
    lines: tuple[str, ...]


def pieces(text: str) -> list[Piece]:
    found: list[Piece] = []
    entry: list[_Statement] = []
    for statement in _statements(text):
        if entry and statement.keyword in ("", "msgctxt", "msgid"):
            found += _entry(entry)
            entry = []
        if statement.keyword in ("", "msgctxt"):
            found.append("".join(statement.lines))
        else:
            entry.append(statement)
    return [*found, *_entry(entry)]


def _statements(text: str) -> Iterator[_Statement]:
    keyword, texts, lines = "", [""], [""]
    for line in _LINE.findall(text):
        if keyword and (more := _MORE.fullmatch(line)):
            texts.append(_read(more[1]))
            lines.append(line)
            continue
        if lines != [""]:
            yield _Statement(keyword, "".join(texts), tuple(lines))
        found = _STATEMENT.fullmatch(line)
        keyword, texts, lines = (found[1], [_read(found[2])], [line]) if found else ("", [""], [line])
    if lines != [""]:
        yield _Statement(keyword, "".join(texts), tuple(lines))


def _entry(statements: Sequence[_Statement]) -> Iterator[Piece]:
    """Yield an entry; the first of several plural forms is the singular, and a single form serves for all numbers."""
    given = {statement.keyword: statement.text for statement in statements}
    one = given.get("msgid", "")
    many = given.get("msgid_plural", one)
    forms = sum(statement.keyword.startswith("msgstr[") for statement in statements)
    for statement in statements:
        if not statement.keyword.startswith("msgstr") or statement.text or not one:
            yield "".join(statement.lines)
        else:
            singular = statement.keyword in ("msgstr", "msgstr[0]") and forms != 1
            yield from _message(statement, one if singular else many)


def _message(statement: _Statement, text: str) -> Iterator[Piece]:
    """Yield the statement of a translation, with a line in the file for every line of the message."""
    first = statement.lines[0]
    end = "\r\n" if first.endswith("\r\n") else "\n"
    lines = text.splitlines(keepends=True) if "\r" in text else re.findall(r"[^\n]*\n|[^\n]+", text)
    yield first[: first.index('"')] + (f'""{end}' if len(lines) > 1 else "")
    ends = [end] * (len(lines) - 1) + [end if statement.lines[-1].endswith("\n") else ""]
    for line, last in zip(lines, ends, strict=True):
        kept = line.strip()
        before, _, after = line.partition(kept) if kept else (line, "", "")
        yield f'"{_written(before)}'
        for number, part in enumerate(_COLUMNS.split(kept)):
            yield from [_written(part)] if number % 2 else divided(list(_items(part)), _written)
        yield f'{_written(after)}"{last}'


def _items(line: str) -> Iterator[Item]:
    at = 0
    for found in PLACEHOLDER.finditer(line):
        yield _text(line[at : found.start()])
        kind = "word" if not found["tag"] else "close" if found["close"] else "open"
        yield Item(_written(found[0]), kind, name=found["tag"] or "")  # type: ignore[arg-type]
        at = found.end()
    yield _text(line[at:])


def _text(text: str) -> Item:
    return Item(_written(text), "text", text)


def _read(spelt: str) -> str:
    return _ESCAPE.sub(lambda found: _MEANING.get(found[1], found[1] if found[1] in '\\"' else found[0]), spelt)


def _written(text: str) -> str:
    return text.translate(_SPELT)
