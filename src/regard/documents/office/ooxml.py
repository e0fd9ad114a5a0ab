"""Shared parts of .docx, .pptx and .xlsx: the types of their parts, and the paragraphs of drawings and charts."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from posixpath import dirname, join, normpath

from regard.documents.document import Document, Part
from regard.documents.language import font, right_to_left, tag
from regard.documents.markup import Element, Source
from regard.documents.office.walk import Dialect, Walk
from regard.documents.package import Package
from regard.errors import UserError

TYPES = "[Content_Types].xml"
_NOISE = re.compile(r"""\s(?:lang|altLang|dirty|err|noProof|smtClean|bmk)=(?:"[^"]*"|'[^']*')""")
_PARAGRAPH = re.compile(r"<(?:\w+:)?p\b[^>]*>\s*(?:<(\w+:)?pPr\b([^>]*?)(/?)>)?", re.DOTALL)
_RUN_LANGUAGE = re.compile(r"""(<(?:\w+:)?rPr\b[^>]*?\slang=)(?:"[^"]*"|'[^']*')""")
_EMPTY_EAST_ASIAN = re.compile(r"""(<(?:\w+:)?ea\s+typeface=)(?:""|'')""")

Change = Callable[[str], str]


def checked(package: Package) -> Package:
    """Return the package if it may be changed; reject a signed one."""
    if any(name.startswith("_xmlsignatures/") for name in package.names):
        raise UserError(
            f"{package.name}: is signed, and a translation would break the signature; remove the signature first"
        )
    return package


def types(package: Package) -> dict[str, str]:
    """Return the type of each part by name, as the last words of its content type."""
    found = {}
    source = Source(package.read(TYPES), f"{package.name}, {TYPES}")
    root = source.elements()[0]
    for element in root.elements():
        name, kind = element.attributes.get("PartName", ""), element.attributes.get("ContentType", "")
        if name.startswith("/") and name[1:] in package:
            found[name[1:]] = kind.removesuffix("+xml").rpartition(".")[2] if "." in kind else kind
    return found


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


def drawing(target: str | None) -> Dialect:
    """Return the dialect for the paragraphs of slides, charts and diagrams."""
    return Dialect(
        blocks=frozenset(("a:p",)),
        runs=frozenset(("a:r",)),
        texts=frozenset(("a:t",)),
        properties=frozenset(("a:rPr", "a:pPr")),
        words={"a:fld": "field", "m:oMath": "formula", "m:oMathPara": "formula"},
        dividers=frozenset(("a:br",)),
        attributes={"p:cNvPr": ("descr", "title"), "xdr:cNvPr": ("descr", "title"), "wp:docPr": ("descr", "title")},
        key=lambda opening: _NOISE.sub("", opening),
        fixed=_links,
        paragraph=_turned if right_to_left(target) else str,
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


def _turned(start: str) -> str:
    """Return a paragraph's start with the direction from right to left."""
    found = _PARAGRAPH.match(start)
    if found is None:
        return start
    if found[2] is None:
        name = re.match(r"<((?:\w+:)?)p", start)
        return start + f'<{name[1] if name else ""}pPr algn="r" rtl="1"/>'
    given = re.sub(r"""\s(?:rtl)=(?:"[^"]*"|'[^']*')""", "", found[2])
    given = given if " algn=" in given else given + ' algn="r"'
    return start[: found.start(2)] + given + ' rtl="1"' + start[found.end(2) :]


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
