"""Reader and writer of Markdown: headings, paragraphs, list items, quotations and table cells.

Code, front matter, link addresses and definitions stay unchanged. A translated paragraph becomes one line.
"""

import re
from collections.abc import Iterator, Sequence

from regard.documents import html
from regard.documents.markdown_inline import items, written
from regard.documents.segment import Item, Piece, divided

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)*")
_CONTAINER = re.compile(
    r"[ \t]*(?:(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])|\[\^[^\]\s]+\]:)[ \t]*)*(?:\[[ xX]\][ \t]+)?"
)
_RULE = re.compile(r" {0,3}(?:=+|([-*_])[ \t]*+(?:\1[ \t]*+)*+)\s*")
_FENCE = re.compile(r"(`{3,})[^`]*|(~{3,}).*", re.DOTALL)
_DEFINITION = re.compile(r" {0,3}\[([^\]\s^][^\]]*)\]:")
_ALERT = re.compile(r"\[![A-Za-z]+\]")  # on a line of its own, at the beginning of a quotation
_HEADING = re.compile(r"#{1,6}[ \t]+")
_HTML = re.compile(r" {0,3}<(?:!--|/?([a-zA-Z][a-zA-Z0-9-]*)(?=[\s/>]))")
_HTML_END = {"<!--": "-->", "<script": "</script>", "<style": "</style>", "<pre": "</pre>", "<textarea": "</textarea>"}
_CODE = re.compile(r"(?: {4}| {0,3}\t)")
_DELIMITERS = re.compile(r"[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?\s*")
_CELL = re.compile(r"(?:\\.|`[^`\n]*`|[^|\n])+|[|\n]+")
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][^{}]*\}\Z")  # {#id .class}
_HARD_BREAK = re.compile(r"((?:(?<! ) {2,}+|\\)\r?\n[ \t]*(?:>[ \t]?)*)")


def pieces(text: str) -> list[Piece]:
    lines: list[str] = _LINE.findall(text)
    labels = frozenset(label[1].lower() for line in lines if (label := _DEFINITION.match(line)))
    at = _front_matter(lines)
    found: list[Piece] = ["".join(lines[:at])]
    listed = False  # inside a list, where lines that begin with four spaces are not code
    blank = True
    while at < len(lines):
        line = lines[at]
        if not line[0].isspace() and blank:
            listed = False
        prefix = _container(line)
        listed = listed or bool(prefix.strip(" \t>"))
        stop = _literal(lines, at, blank and not listed)
        if stop > at:
            found.append("".join(lines[at:stop]))
        elif _is_html(line):
            stop = _end_of_html(lines, at)
            found += html.pieces("".join(lines[at:stop]))
        elif _is_table(lines, at):
            stop = next((row for row in range(at, len(lines)) if "|" not in lines[row]), len(lines))
            for number, row in enumerate(lines[at:stop]):
                found += [row] if number == 1 else _row(row, labels)
        else:
            stop = _end_of_paragraph(lines, at)
            found += [prefix, *_paragraph("".join(lines[at:stop])[len(prefix) :], labels)]
        blank = not _bare(lines[stop - 1]) or (blank and bool(_CODE.match(line)))
        at = stop
    return found


def _front_matter(lines: Sequence[str]) -> int:
    """Return the number of lines of front matter at the beginning."""
    ends = {"---": ("---", "..."), "+++": ("+++",)}.get(lines[0].rstrip() if lines else "", ())
    return next((number + 1 for number, line in enumerate(lines) if number and line.rstrip() in ends), 0)


def _container(line: str) -> str:
    found = _CONTAINER.match(line)
    return "" if found is None or _RULE.fullmatch(line) else found[0]


def _bare(line: str) -> str:
    """Return a line without its quotation marks (>) and its line end."""
    found = _QUOTE.match(line)
    return line[found.end() if found else 0 :].strip()


def _literal(lines: Sequence[str], at: int, code: bool) -> int:
    """Return the end of a block that is not translated; `at` itself if there is none."""
    line = lines[at]
    if not _bare(line) or _RULE.fullmatch(line) or _DEFINITION.match(line) or (code and _CODE.match(line)):
        return at + 1
    if ">" in line and _ALERT.fullmatch(_bare(line)):
        return at + 1
    fence = _FENCE.fullmatch(line[len(_container(line)) :])
    if fence is None:
        return at
    sign = fence[1] or fence[2]
    for number in range(at + 1, len(lines)):
        end = _bare(lines[number])
        if end.startswith(sign) and not end.strip(sign[0]):
            return number + 1
    return len(lines)


def _is_html(line: str) -> bool:
    found = _HTML.match(line)
    return found is not None and (found[1] is None or found[1].lower() not in html.INLINE)


def _end_of_html(lines: Sequence[str], at: int) -> int:
    """Return the line after the end of a comment or of raw text, else that of the next blank line."""
    start = lines[at].lstrip().lower()
    end = next((end for begin, end in _HTML_END.items() if start.startswith(begin)), None)
    for number in range(at, len(lines)):
        if end is not None and end in lines[number].lower():
            return number + 1
        if end is None and not lines[number].strip():
            return number
    return len(lines)


def _is_table(lines: Sequence[str], at: int) -> bool:
    return "|" in lines[at] and at + 1 < len(lines) and "|" in lines[at + 1] and _delimits(lines[at + 1])


def _delimits(line: str) -> bool:
    return _DELIMITERS.fullmatch(line) is not None


def _row(row: str, labels: frozenset[str]) -> Iterator[Piece]:
    prefix = _container(row)
    yield prefix
    for cell in _CELL.findall(row[len(prefix) :]):
        if cell[0] in "|\n":
            yield cell
        else:
            yield from _texts(cell, labels)


def _texts(text: str, labels: frozenset[str]) -> Iterator[Piece]:
    """Yield the texts between <br> tags, each a text of its own."""
    some: list[Item] = []
    for item in items(text, labels):
        if item.kind == "break":
            yield from [*divided(some, written), item.raw]
            some = []
        else:
            some.append(item)
    yield from divided(some, written)


def _end_of_paragraph(lines: Sequence[str], at: int) -> int:
    if _HEADING.match(lines[at], len(_container(lines[at]))):
        return at + 1
    depth = lines[at][: len(_container(lines[at]))].count(">")
    for number in range(at + 1, len(lines)):
        line = lines[number]
        prefix = _container(line)
        if prefix.strip(" \t>") or prefix.count(">") > depth or _HEADING.match(line, len(prefix)):
            return number
        if _literal(lines, number, code=False) > number or _is_html(line) or _is_table(lines, number):
            return number
    return len(lines)


def _heading(text: str) -> tuple[str, str, str]:
    """Return a heading's opening #s, its text, and what may follow it: closing #s, space, its id in braces."""
    begin = text[: len(text) - len(text.lstrip("#").lstrip(" \t"))]
    said = _ATTRIBUTES.sub("", text[len(begin) :].rstrip())
    unclosed = said.rstrip("#")
    if unclosed.endswith((" ", "\t")):
        said = unclosed.rstrip(" \t")
    return begin, said, text[len(begin) + len(said) :]


def _paragraph(text: str, labels: frozenset[str]) -> Iterator[Piece]:
    """Yield a heading, or lines that form a paragraph, divided at hard breaks: two spaces or a backslash at the end."""
    before, text, after = _heading(text) if _HEADING.match(text) else ("", text, "")
    yield before
    for number, part in enumerate(_HARD_BREAK.split(text)):
        if number % 2:
            yield part
        else:
            yield from _texts(part, labels)
    yield after
