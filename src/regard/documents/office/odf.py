"""OpenDocument (.odt, .odp, .ods): body, headers, footers, notes, comments, text boxes, tables, charts."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field, replace

from regard.documents.document import Document, Languages
from regard.documents.language import base, font, right_to_left, tag
from regard.documents.markup import Element, Source
from regard.documents.office.docx import is_code
from regard.documents.office.ooxml import Change, assembled, walked
from regard.documents.office.walk import Dialect, Walk
from regard.documents.package import Package
from regard.documents.segment import Piece
from regard.errors import UserError

FIELDS = """
    page-number page-count page-continuation date time author-name author-initials sender-firstname sender-lastname
    bookmark-ref reference-ref note-ref sequence sequence-ref title subject description file-name chapter expression
    variable-get variable-set variable-input user-field-get user-field-input database-display placeholder
    conditional-text hidden-text hidden-paragraph sheet-name template-name creation-date creation-time
    modification-date modification-time print-date print-time editing-duration editing-cycles initial-creator creator
    printed-by keywords word-count character-count paragraph-count table-count image-count object-count
    bibliography-mark dde-connection measure script ruby user-defined table-formula drop-down
"""
MIRRORED = {"left": "right", "start": "right", "end": "left"}
VALUES = frozenset(("float", "percentage", "currency", "date", "time", "boolean"))
_STYLE_NAME = re.compile(r"""\stext:style-name=(?:"([^"]*)"|'([^']*)')""")
_RSID = re.compile(r"""\s[\w]+:(?:rsid|paragraph-rsid)=(?:"[^"]*"|'[^']*')""")
_MODE = re.compile(r"""(\sstyle:writing-mode=)(?:"(?:lr-tb|lr|page)"|'(?:lr-tb|lr|page)')""")
_ALIGNED = re.compile(r"""(\sfo:text-align=)(?:"(left|start|end)"|'(left|start|end)')""")
_PARAGRAPHS = re.compile(r"<style:paragraph-properties\b(?![^>]*\sfo:text-align=)")
_TEXT = re.compile(r"""<style:text-properties\b(?:[^>"'/]|"[^"]*"|'[^']*')*+""")
_WESTERN = re.compile(r"""\sfo:(font-weight|font-style|font-size)=("[^"]*"|'[^']*')""")
_DEFAULT = re.compile(r"<style:default-style\b.*?</style:default-style>", re.DOTALL)


_BESIDE = frozenset(("office:annotation", "draw:frame", "draw:custom-shape"))  # what a cell has besides its value


def _cell(walk: Walk, element: Element) -> Iterator[Piece]:
    """Yield a cell; the result of a formula or a number stays, but not the comment on it."""
    formula = "table:formula" in element.attributes
    if formula:
        walk.kept["formula"] += 1
    if not formula and element.attributes.get("office:value-type") not in VALUES:
        yield from walk.content(element)
        return
    at = element.start
    for child in element.elements():
        if child.name in _BESIDE:
            yield walk.source.raw(at, child.start)
            yield from walk.pieces(child)
            at = child.end
    yield walk.source.raw(at, element.end)


def _section(walk: Walk, element: Element) -> Iterator[Piece]:
    """Yield a section; a hidden one stays."""
    if element.attributes.get("text:display") == "none":
        walk.kept["hidden text"] += 1
        yield walk.raw(element)
    else:
        yield from walk.content(element)


def _inline(element: Element) -> bool:
    """Return whether a picture is in the line and not beside it."""
    return element.attributes.get("text:anchor-type") == "as-char"


TEXTS = Dialect(
    blocks=frozenset(("text:p", "text:h", "svg:title", "svg:desc")),
    runs=frozenset(("text:span",)),
    wrappers=frozenset(("text:a", "text:meta", "text:text-input", "loext:content-control")),
    words={**{f"text:{name}": "field" for name in FIELDS.split()}, "presentation:date-time": "field"},
    kept={"text:tracked-changes": "deleted text"},
    dividers=frozenset(("text:tab", "text:line-break")),
    noise=frozenset(("text:soft-page-break",)),
    characters={"text:s": " "},
    attributes={"table:table-cell": ("office:string-value",)},  # which is shown instead of the paragraph
    special={"table:table-cell": _cell, "table:covered-table-cell": _cell, "text:section": _section},
    inline=_inline,
)
EDGES = frozenset(
    f"style:{what}{which}" for what in ("header", "footer") for which in ("", "-left", "-first")
)  # of pages, in styles.xml


@dataclass
class _Styles:
    """The formatting of a part's character styles, with those that hide their text, and those for code."""

    looks: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    hidden_pages: set[str] = field(default_factory=set)
    """Styles of hidden slides."""
    hidden_sheets: set[str] = field(default_factory=set)
    code: set[str] = field(default_factory=set)

    def add(self, source: Source, style: Element) -> None:
        name, parent = style.attributes.get("style:name", ""), style.attributes.get("style:parent-style-name", "")
        properties = "".join(
            source.raw(child.start, child.end) for child in style.elements() if child.name == "style:text-properties"
        )
        bare = _RSID.sub("", properties)
        self.looks[name] = f"{parent}|{'' if re.fullmatch('<[^ ]*text-properties */>', bare) else bare}"
        if any(child.attributes.get("text:display") == "none" for child in style.elements()):
            self.hidden.add(name)
        if any(child.attributes.get("presentation:visibility") == "hidden" for child in style.elements()):
            self.hidden_pages.add(name)
        if any(child.attributes.get("table:display") == "false" for child in style.elements()):
            self.hidden_sheets.add(name)
        if parent in self.code or is_code(parent):
            self.code.add(name)

    def key(self, opening: str) -> str:
        found = _STYLE_NAME.search(opening)
        name = (found[1] or found[2] or "") if found else ""
        look = self.looks.get(name, name)
        return "" if look == "|" else look


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a document."""
    package = Package(content, name)
    _check(package)
    kept: Counter[str] = Counter()
    parts = []
    for member in package.names:
        folder, _, file = member.rpartition("/")
        if member == "content.xml" or (file == "content.xml" and folder.startswith("Object")):
            dialect = _with_styles(package, member)
            if folder:  # a chart, whose table repeats the cells
                dialect = replace(dialect, kept={**dialect.kept, "table:table": "chart's data"})
            parts.append(walked(package, member, dialect, kept))
        elif member == "styles.xml":
            parts.append(walked(package, member, replace(_with_styles(package, member), roots=EDGES), kept))
    if "content.xml" not in package:
        package.read("content.xml")
    target = languages.target
    aligned = not name.lower().endswith(".ods")  # a cell's own alignment stays
    changes = {
        member: _styled(target, aligned=aligned)
        for member in ("styles.xml", "content.xml")
        if member in package and target
    }
    return assembled(package, parts, changes, kept)


def _check(package: Package) -> None:
    if "META-INF/documentsignatures.xml" in package:
        raise UserError(
            f"{package.name}: is signed, and a translation would break the signature; remove the signature first"
        )
    manifest = "META-INF/manifest.xml"
    if manifest in package and b":encryption-data" in package.read(manifest):  # which need not be well-formed
        raise UserError(f"{package.name}: is encrypted; save it without a password first")


def _unless_hidden(attribute: str, hidden: Container[str], kind: str) -> Callable[[Walk, Element], Iterator[Piece]]:
    """Return what yields an element's content, or, if its style is a hidden one, the element as it is."""

    def content(walk: Walk, element: Element) -> Iterator[Piece]:
        if element.attributes.get(attribute, "") in hidden:
            walk.kept[kind] += 1
            yield walk.raw(element)
        else:
            yield from walk.content(element)

    return content


def _with_styles(package: Package, member: str) -> Dialect:
    styles = _Styles()
    for part in ("styles.xml", member):
        if part in package:
            source = Source(package.read(part), f"{package.name}, {part}")
            source.each("style:style".__eq__, lambda style, source=source: styles.add(source, style))  # type: ignore[misc]

    def style(element: Element) -> str:
        return element.attributes.get("text:style-name", "")

    special = dict(TEXTS.special)
    if styles.hidden_pages:
        special["draw:page"] = _unless_hidden("draw:style-name", styles.hidden_pages, "hidden slide")
    if styles.hidden_sheets:
        special["table:table"] = _unless_hidden("table:style-name", styles.hidden_sheets, "hidden sheet")
    return replace(
        TEXTS,
        special=special,
        hidden=lambda element: style(element) in styles.hidden,
        code=lambda element: style(element) in styles.code or is_code(style(element)),
        key=styles.key,
    )


def _styled(target: str | None, *, aligned: bool) -> Change:
    """Return a function that sets the direction, the language and the font of styles.

    Left and right are exchanged for a language from the right if `aligned`. They are written as such, since LibreOffice
    takes the start of a line for its left end.
    """
    assert target is not None
    code, chosen, turned = tag(target), font(target), right_to_left(target)
    kind = "style:{}-asian" if chosen else "style:{}-complex" if turned else "fo:{}"
    language, _, country = code.partition("-")
    given = {kind.format("language"): language or base(target), kind.format("country"): country or "none"}
    if chosen:
        given["style:font-family-asian"] = chosen

    def default(found: re.Match[str]) -> str:
        style = found[0]
        if chosen:
            style = re.sub(r"""\sstyle:font-name-asian=(?:"[^"]*"|'[^']*')""", "", style)
        for name, value in given.items():
            style = re.sub(rf"""\s{name}=(?:"[^"]*"|'[^']*')""", "", style)
            style = re.sub(r"(<style:text-properties\b)", rf'\1 {name}="{value}"', style)
        return _PARAGRAPHS.sub(r'\g<0> fo:text-align="right"', style) if turned and aligned else style

    def own(found: re.Match[str]) -> str:
        """Return text properties in which what is bold, italic or of a size is so in the language's script, too."""
        script = "asian" if chosen else "complex"
        more = [f" style:{name}-{script}={value}" for name, value in _WESTERN.findall(found[0])]
        return found[0].rstrip() + "".join(one for one in more if one.partition("=")[0] not in found[0])

    def changed(text: str) -> str:
        text = _DEFAULT.sub(default, text)
        text = _TEXT.sub(own, text) if chosen or turned else text
        text = _MODE.sub(r'\1"rl-tb"', text) if turned else text
        return _ALIGNED.sub(lambda one: f'{one[1]}"{MIRRORED[one[2] or one[3]]}"', text) if turned and aligned else text

    return changed
