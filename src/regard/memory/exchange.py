"""Import and export of memories: TMX, and TSV with the columns source, target, languages, origin, author and time."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from regard.data.lines import text_lines
from regard.documents.language import base
from regard.documents.markup import Element, Other, Source, Text, escape, escape_attribute
from regard.errors import UserError
from regard.files import read_bytes
from regard.memory.pair import LONGEST_NAME, Pair, is_time
from regard.memory.store import AT_ONCE, Memory

LARGEST_TMX = 2 << 30  # bytes
CODES = {"bpt", "ept", "ph", "it", "ut"}  # elements whose content is markup, not text
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z")
Progress = Callable[[int], None]


def import_file(
    memory: Memory,
    path: Path,
    *,
    source: str | None = None,
    target: str | None = None,
    progress: Progress = lambda _: None,
) -> tuple[int, int]:
    """Store the pairs of a .tmx or .tsv file, and return how many it has and how many were new."""
    portion: list[Pair] = []
    counts = [0, 0]

    def store() -> None:
        for new in memory.update(portion):
            counts[1] += new
        counts[0] += len(portion)
        progress(len(portion))
        portion.clear()

    def take(pair: Pair) -> None:
        portion.append(pair)
        if len(portion) >= AT_ONCE:
            store()

    if path.suffix.lower() == ".tmx":
        read_tmx(path, source, target, take)
    else:
        for pair in read_tsv(path, source, target):
            take(pair)
    store()
    return counts[0], counts[1]


def read_tsv(path: Path, source: str | None, target: str | None) -> Iterator[Pair]:
    """Yield the pairs of a TSV file, of which the first two columns are needed."""
    origin = f"import {path.name}"[:LONGEST_NAME]
    for number, line in enumerate(text_lines(str(path)), 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) not in (2, 7) or not all(cell.strip() for cell in cells[:2]):
            raise UserError(f"{path}, line {number}: is not a text and its translation, with a tab between; mend it")
        languages = (cells[2], cells[3]) if len(cells) == 7 else (source, target)
        if not all(languages):
            raise UserError(f"{path}: does not say its languages; say them with --from and --to")
        named = cells[4:] or [origin, "", ""]
        pair = Pair(str(languages[0]), str(languages[1]), cells[0], cells[1], named[0], named[1], named[2])
        yield _checked(pair, f"{path}, line {number}")


def read_tmx(path: Path, source: str | None, target: str | None, take: Callable[[Pair], None]) -> None:
    """Call `take` with the pairs of a TMX file: its source language with each other, or those given."""
    content = Source(read_bytes(path, LARGEST_TMX), str(path))
    head: list[Element] = []
    origin = f"import {path.name}"[:LONGEST_NAME]

    def taken(element: Element) -> None:
        if element.name == "header":
            head.append(element)
            return
        declared = element.attributes.get("srclang") or (head[0].attributes.get("srclang") if head else None)
        read = source or (declared if declared not in (None, "*all*") else None)
        for pair in _unit(element, read, target, origin):
            take(_checked(pair, str(path)))

    content.each(lambda name: name in ("header", "tu"), taken)
    if not head:
        raise UserError(f"{path}: is not TMX, whose root is <tmx>; check what it is")


def _unit(unit: Element, source: str | None, target: str | None, origin: str) -> Iterator[Pair]:
    """Yield the pairs of a translation unit; without a source language its first variant is the source."""
    variants = [
        (str(language), variant, text)
        for variant in unit.elements()
        if variant.name == "tuv"
        and (language := variant.attributes.get("xml:lang") or variant.attributes.get("lang"))
        and (seg := variant.first("seg")) is not None
        and (text := _words(seg).strip())
    ]
    read = next((one for one in variants if source is None or base(one[0]) == base(source)), None)
    for language, variant, text in variants if read is not None else ():
        assert read is not None
        if base(language) == base(read[0]) or (target is not None and base(language) != base(target)):
            continue
        said = {**unit.attributes, **variant.attributes}
        author = (said.get("changeid") or said.get("creationid") or "")[:LONGEST_NAME]
        yield Pair(read[0], language, read[2], text, origin, author, _time(said))


def _time(said: dict[str, str]) -> str:
    found = _TIME.fullmatch(said.get("changedate") or said.get("creationdate") or "")
    time = "{}-{}-{}T{}:{}:{}Z".format(*found.groups()) if found else ""
    return time if is_time(time) else ""


def _words(element: Element) -> str:
    """Return the text of a segment without its markup."""
    return "".join(
        child.text if isinstance(child, Text) else _words(child)
        for child in element.children
        if not isinstance(child, Other) and getattr(child, "name", "") not in CODES
    )


def _checked(pair: Pair, where: str) -> Pair:
    try:
        pair.check()
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    return pair


def tsv(pairs: Iterable[Pair]) -> Iterator[str]:
    """Yield a memory as lines; line breaks and tabs in a text become spaces, which TMX keeps."""
    for pair in pairs:
        cells = (pair.source, pair.target, pair.source_language, pair.target_language, pair.origin, pair.author)
        yield "\t".join((*(" ".join(cell.split()) for cell in cells), pair.time)) + "\n"


def tmx(pairs: Iterable[Pair], version: str) -> Iterator[str]:
    """Yield a memory as the lines of a TMX file."""
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        f'<header creationtool="regard" creationtoolversion="{version}" segtype="sentence" o-tmf="regard" '
        'adminlang="en" srclang="*all*" datatype="plaintext"/>\n<body>\n'
    )
    for pair in pairs:
        moment = escape_attribute(re.sub("[-:]", "", pair.time))
        author = f' creationid="{escape_attribute(pair.author)}"' if pair.author else ""
        yield (
            f'<tu srclang="{escape_attribute(pair.source_language)}" creationdate="{moment}"{author}>\n'
            f'<prop type="origin">{escape(pair.origin)}</prop>\n'
            f'<tuv xml:lang="{escape_attribute(pair.source_language)}"><seg>{escape(pair.source)}</seg></tuv>\n'
            f'<tuv xml:lang="{escape_attribute(pair.target_language)}"><seg>{escape(pair.target)}</seg></tuv>\n</tu>\n'
        )
    yield "</body>\n</tmx>\n"
