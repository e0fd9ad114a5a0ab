"""Shared parts of .docx, .pptx and .xlsx: the types of their parts, and the paragraphs of drawings and charts."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from posixpath import dirname, join, normpath, splitext

from regard.documents.document import Document, Part
from regard.documents.language import font, right_to_left, tag
from regard.documents.markup import Element, Source
from regard.documents.office.walk import Dialect, Walk
from regard.documents.package import Package
from regard.errors import UserError

TYPES = "[Content_Types].xml"
FORMATS = {b"wordprocessing": ".docx", b"presentation": ".pptx", b"spreadsheet": ".xlsx"}
_MAIN = re.compile(rb"(wordprocessing|presentation|spreadsheet)ml\.\w+\.main\+xml")
_NOISE = re.compile(r"""\s(?:lang|altLang|dirty|err|noProof|smtClean|bmk)=(?:"[^"]*"|'[^']*')""")
_PARAGRAPH = re.compile(r"<(?:\w+:)?p\b[^>]*>\s*(?:<(\w+:)?pPr\b([^>]*?)(/?)>)?", re.DOTALL)
_LEFT = re.compile(r"""(\salgn=)(?:"l"|'l')""")
_DIRECTION = re.compile(r"""\srtl=(?:"[^"]*"|'[^']*')""")
_NO_PROPERTIES = re.compile(r"<(\w+:)?rPr\s*(?:/>|>\s*</(?:\w+:)?rPr>)")
_TABLE = re.compile(r"(<a:tblPr\b)([^>]*?)(/?>)")
_LEVEL = re.compile(r"<(?:\w+:)?(?:lvl\dpPr|defPPr)\b[^>]*?(?=\s*/?>)")
_MASTER_STYLES = re.compile(r"<p:(txStyles|notesStyle|defaultTextStyle)\b.*?</p:\1>", re.DOTALL)
_RUN_LANGUAGE = re.compile(r"""(<(?:\w+:)?rPr\b[^>]*?\slang=)(?:"[^"]*"|'[^']*')""")
_EMPTY_EAST_ASIAN = re.compile(r"""(<(?:\w+:)?ea\s+typeface=)(?:""|'')""")

Change = Callable[[str], str]


def checked(package: Package) -> Package:
    """Return the package if it may be changed; reject a signed one, and one with the name of another format."""
    found = {FORMATS[family] for family in _MAIN.findall(package.read(TYPES))}
    ending = splitext(package.name)[1].lower()
    if found and ending in FORMATS.values() and ending not in found:
        raise UserError(f"{package.name}: is a {min(found)} by another name; rename it")
    if any(name.startswith("_xmlsignatures/") for name in package.names):
        raise UserError(
            f"{package.name}: is signed, and a translation would break the signature; remove the signature first"
        )
    return package


def types(package: Package) -> dict[str, str]:
    """Return the type of each part by name, as the last words of its content type."""
    found: dict[str, str] = {}
    defaults: dict[str, str] = {}
    source = Source(package.read(TYPES), f"{package.name}, {TYPES}")
    root = source.elements()[0]
    for element in root.elements():
        name, kind = element.attributes.get("PartName", ""), element.attributes.get("ContentType", "")
        kind = kind.removesuffix("+xml").rpartition(".")[2] if "." in kind else kind
        if name.startswith("/") and name[1:] in package:
            found[name[1:]] = kind
        elif "Extension" in element.attributes:
            defaults[element.attributes["Extension"].lower()] = kind
    rest = {name: defaults.get(name.rpartition(".")[2].lower(), "") for name in package.names if name not in found}
    return found | {name: kind for name, kind in rest.items() if kind in ("main", "worksheet", "slide")}


def related(package: Package, part: str) -> dict[str, tuple[str, str]]:
    """Return the parts that a part refers to: by relationship id, their type and path."""
    rels = join(dirname(part), "_rels", f"{part.rpartition('/')[2]}.rels")
    if rels not in package:
        return {}
    found = {}
    for one in Source(package.read(rels), f"{package.name}, {rels}").elements("rels:Relationship"):
        given = one.attributes
        target = given.get("Target", "")
        place = target.lstrip("/") if target.startswith("/") else normpath(join(dirname(part), target))
        if given.get("TargetMode") != "External":
            found[given.get("Id", "")] = (given.get("Type", "").rpartition("/")[2], place)
    return found


def assembled(
    package: Package, parts: Sequence[tuple[Source, Part]], changes: Mapping[str, Change], kept: Counter[str]
) -> Document:
    """Build a document from parts with texts, and others that change with the language."""

    def whole(texts: Sequence[str]) -> bytes:
        changed = {part.name: (source, text) for (source, part), text in zip(parts, texts, strict=True)}
        for name, change in changes.items():
            source, text = changed.get(name) or _text(package, name)
            changed[name] = source, change(text)
        return package.written({name: source.encoded(text) for name, (source, text) in changed.items()})

    return Document([part for _, part in parts], whole, kept)


def _text(package: Package, name: str) -> tuple[Source, str]:
    source = Source(package.read(name), f"{package.name}, {name}")
    return source, source.content.decode()


def walked(package: Package, name: str, dialect: Dialect, kept: Counter[str]) -> tuple[Source, Part]:
    source = Source(package.read(name), f"{package.name}, {name}")
    return source, Walk(source, dialect, kept).part(name)


def drawing(target: str | None, *, styled: bool = False) -> Dialect:
    """Return the dialect for the paragraphs of slides, charts and diagrams.

    `styled`: a paragraph that names no alignment has that of its master, or of a chart's titles.
    """
    return Dialect(
        blocks=frozenset(("a:p",)),
        runs=frozenset(("a:r",)),
        texts=frozenset(("a:t",)),
        properties=frozenset(("a:rPr", "a:pPr")),
        words={"a:fld": "field", "a14:m": "formula", "m:oMath": "formula", "m:oMathPara": "formula"},
        dividers=frozenset(("a:br",)),
        attributes={"p:cNvPr": ("descr", "title"), "xdr:cNvPr": ("descr", "title"), "wp:docPr": ("descr", "title")},
        key=lambda opening: _NO_PROPERTIES.sub("", _NOISE.sub("", opening)),
        fixed=_links,
        paragraph=(lambda start: _turned(start, "" if styled else ' algn="r"')) if right_to_left(target) else str,
        run=_in_language(target),
    )


def _links(run: Element) -> bool:
    properties = run.first("a:rPr")
    return properties is not None and properties.first("a:hlinkClick", "a:hlinkMouseOver") is not None


def _in_language(target: str | None) -> Change:
    """Return a function that sets the language of runs."""
    if target is None:
        return str
    return lambda opening: _RUN_LANGUAGE.sub(lambda found: f'{found[1]}"{tag(target)}"', opening)


def _turned(start: str, alignment: str) -> str:
    """Return a paragraph's start with the direction from right to left; `alignment` is added where it names none."""
    found = _PARAGRAPH.match(start)
    if found is None:
        return start
    if found[2] is None:
        name = re.match(r"<((?:\w+:)?)p", start)
        return start + f'<{name[1] if name else ""}pPr{alignment} rtl="1"/>'
    given = _LEFT.sub(r'\1"r"', _DIRECTION.sub("", found[2]))
    given = given if " algn=" in given else given + alignment
    return start[: found.start(2)] + given + ' rtl="1"' + start[found.end(2) :]


def masters_from_the_right(text: str) -> str:
    """Return a master, a layout or a slide whose paragraphs begin at the right edge; what is centred stays so."""

    def level(found: re.Match[str]) -> str:
        return _LEFT.sub(r'\1"r"', found[0])

    def styles(found: re.Match[str]) -> str:
        return _LEVEL.sub(lambda one: one[0] if " algn=" in one[0] else one[0] + ' algn="r"', found[0])

    text = _MASTER_STYLES.sub(styles, _LEVEL.sub(level, text))
    return _TABLE.sub(lambda found: f'{found[1]}{_DIRECTION.sub("", found[2])} rtl="1"{found[3]}', text)


def theme_changes(package: Package, kinds: Mapping[str, str], target: str | None) -> dict[str, Change]:
    """Return changes that add a font for the language to themes without an East Asian one."""
    chosen = font(target)
    if chosen is None:
        return {}
    return {
        name: lambda text: _EMPTY_EAST_ASIAN.sub(lambda found: f'{found[1]}"{chosen}"', text)
        for name, kind in kinds.items()
        if kind == "theme" and name in package
    }
