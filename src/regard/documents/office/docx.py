"""Word documents (.docx): body, headers, footers, notes, comments, text boxes, tables, charts, alt texts."""

import re
from collections import Counter
from dataclasses import replace

from regard.documents.document import Document, Languages
from regard.documents.language import font, right_to_left, tag
from regard.documents.markup import Element
from regard.documents.office.fields import Fields
from regard.documents.office.ooxml import Change, assembled, checked, drawing, theme_changes, types, walked
from regard.documents.office.walk import Dialect
from regard.documents.package import Package

WRITTEN = frozenset(("main", "header", "footer", "footnotes", "endnotes", "comments", "document"))
DRAWN = frozenset(("chart", "diagramData", "diagramDrawing"))
CODE = frozenset(
    """
    code codechar codeblock sourcecode sourcetext htmlpreformatted preformattedtext htmlcode htmlkeyboard htmlsample
    verbatimchar macrotext inlinecode userentry
    """.split()  # noqa: SIM905
)
WORDS = Dialect(
    blocks=frozenset(("w:p",)),
    runs=frozenset(("w:r",)),
    texts=frozenset(("w:t",)),
    properties=frozenset(("w:rPr", "w:pPr", "w:sdtPr", "w:sdtEndPr", "w:smartTagPr", "w:customXmlPr")),
    wrappers=frozenset(
        "w:hyperlink w:ins w:moveTo w:smartTag w:sdt w:sdtContent w:customXml w:dir w:bdo".split()  # noqa: SIM905
    ),
    words={
        "m:oMath": "formula",
        "m:oMathPara": "formula",
        "w:fldSimple": "field",
        "w:ruby": "reading aid",
        "w:sym": "symbol",
    },
    dividers=frozenset(("w:br", "w:cr", "w:tab", "w:ptab")),
    noise=frozenset(("w:proofErr", "w:lastRenderedPageBreak")),
    characters={"w:noBreakHyphen": "\u2011", "w:softHyphen": "\u00ad"},
    attributes={"wp:docPr": ("descr", "title"), "v:shape": ("alt",), "v:textpath": ("string",)},
)
_NOISE = re.compile(
    r"<w:(?:lang|noProof|webHidden)\b[^>]*/>|<w:rPrChange\b.*?</w:rPrChange>"
    r"""|\sw:(?:rsid\w*|hint)=(?:"[^"]*"|'[^']*')""",  # a font's hint is at every change of script in Korean
    re.DOTALL,
)
_NOTHING = re.compile(r"<w:rFonts\s*/>|<w:rPr>\s*</w:rPr>|<w:rPr/>")
_AFTER_BIDI = re.compile(  # the properties of a paragraph that follow its direction in the schema
    r"<w:(?:adjustRightInd|snapToGrid|spacing|ind|contextualSpacing|mirrorIndents|suppressOverlap|jc|textDirection"
    r"|textAlignment|textboxTightWrap|outlineLvl|divId|cnfStyle|rPr|sectPr|pPrChange)\b|</w:pPr>"
)
_AFTER_RTL = re.compile(r"<w:(?:cs|em|lang|eastAsianLayout|specVanish|oMath|rPrChange)\b|</w:rPr>")
_WESTERN = re.compile(r"<w:(b|i|sz)(\s[^>]*)?/>(?!\s*<w:\1Cs\b)")  # formatting that Arabic and Hebrew have apart
_OFF = re.compile(r"""<w:(bidi|rtl|bidiVisual)\s+w:val=["'](?:0|false|off)["']\s*/>""")  # as Google Docs writes
_FIELD = re.compile(rb"""fldCharType=["'](begin|end)["']""")
_BOUND = re.compile(r"<(?:w|w15):dataBinding\b[^>]*/>")
_TABLE = re.compile(r"(<w:tblPr>(?:\s*<w:(?:tblStyle|tblpPr|tblOverlap)\b[^>]*/>)*+)(?!\s*<w:bidiVisual)")
_DEFAULT = re.compile(r"(<w:rPrDefault>\s*<w:rPr>)(.*?)(</w:rPr>\s*</w:rPrDefault>)", re.DOTALL)
_FONTS = re.compile(r"<w:rFonts\b[^>]*/>")
_EAST_ASIAN = re.compile(r"""\sw:eastAsia(?:Theme)?=(?:"[^"]*"|'[^']*')""")
_LANGUAGE = re.compile(r"<w:lang\b[^>]*/>")


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a document."""
    package = checked(Package(content, name))
    kinds = types(package)
    kept: Counter[str] = Counter()
    words = _words(languages.target)
    parts = [
        walked(package, part, replace(words, fields=Fields(kept, ended=_fields_end(package.read(part)))), kept)
        for part, kind in kinds.items()
        if kind in WRITTEN
    ]
    shapes = drawing(languages.target)
    parts += [walked(package, part, shapes, kept) for part, kind in kinds.items() if kind in DRAWN]
    changes = theme_changes(package, kinds, languages.target)
    if languages.target is not None:
        own = _tables_from_the_right if right_to_left(languages.target) else _unbound
        changes |= {part: own for part, kind in kinds.items() if kind in WRITTEN}
        changes |= {part: _styled(languages.target) for part, kind in kinds.items() if kind == "styles"}
    return assembled(package, parts, changes, kept)


def _fields_end(content: bytes) -> bool:
    """Return whether as many fields end in a part as begin."""
    kinds = _FIELD.findall(content)
    return kinds.count(b"begin") == kinds.count(b"end")


def _words(target: str | None) -> Dialect:
    turned = right_to_left(target)
    return replace(
        WORDS,
        hidden=_hidden,
        code=_code,
        inline=_inline,
        key=_look,
        paragraph=_from_the_right if turned else str,
        run=_run_from_the_right if turned else str,
    )


def _look(opening: str) -> str:
    """Return the part of a run's opening that is equal for runs that look alike."""
    bare = _NOTHING.sub("", _NOISE.sub("", opening))
    return re.sub(r"<w:rPr>\s*</w:rPr>", "", bare)


def _on(properties: Element | None, name: str) -> bool:
    found = properties.first(name) if properties is not None else None
    return found is not None and found.attributes.get("w:val", "1") not in ("0", "false", "off")


def _hidden(run: Element) -> bool:
    return _on(run.first("w:rPr"), "w:vanish")


def _code(element: Element) -> bool:
    """Return whether a paragraph's or a run's style is one for code."""
    properties = element.first("w:pPr", "w:rPr")
    style = properties.first("w:pStyle", "w:rStyle") if properties is not None else None
    return style is not None and is_code(style.attributes.get("w:val", ""))


def is_code(style: str) -> bool:
    """Return whether a style of this name is one for code; OpenDocument spells a space as _20_."""
    return re.sub(r"_20_|[\s_-]", "", style.lower()) in CODE


def _inline(element: Element) -> bool:
    """Return whether a picture, an emoji, or a formula of another program, is in the line and not beside it."""
    if element.name == "w:object":
        return True
    if element.name == "mc:AlternateContent":
        names = {inner.name for inner in element.descendants()}
        return "wp:inline" in names or ("w:t" in names and "w:p" not in names)
    return element.name == "w:drawing" and element.first("wp:inline") is not None


def _from_the_right(start: str) -> str:
    """Return a paragraph's start with the direction from right to left."""
    start = _OFF.sub("", start)
    if "<w:bidi" in start:
        return start
    if "<w:pPr>" not in start:
        return start.replace("<w:pPr/>", "") + "<w:pPr><w:bidi/></w:pPr>"
    at = _AFTER_BIDI.search(start)
    return start[: at.start()] + "<w:bidi/>" + start[at.start() :] if at else start


def _run_from_the_right(opening: str) -> str:
    """Return a run's start with the direction from right to left, and its formatting for such scripts."""
    opening = _OFF.sub("", _complex(opening))
    if "<w:rtl" in opening:
        return opening
    if "<w:rPr>" not in opening:
        return opening.replace("<w:rPr/>", "") + "<w:rPr><w:rtl/></w:rPr>"
    at = _AFTER_RTL.search(opening)
    return opening[: at.start()] + "<w:rtl/>" + opening[at.start() :] if at else opening


def _complex(text: str) -> str:
    """Return a text in which what is bold, italic or of a size is so in scripts from the right, too."""
    return _WESTERN.sub(lambda found: f"{found[0]}<w:{found[1]}Cs{found[2] or ''}/>", text)


def _tables_from_the_right(text: str) -> str:
    return _TABLE.sub(
        r"\1<w:bidiVisual/>", _OFF.sub(lambda one: "" if one[1] == "bidiVisual" else one[0], _unbound(text))
    )


def _unbound(text: str) -> str:
    """Return a part whose content controls show their text, and not what they are bound to, such as the title."""
    return _BOUND.sub("", text)


def _styled(target: str) -> Change:
    """Return a function that sets the language of a document's styles, and the font of an East Asian one."""
    chosen = font(target)

    def changed(text: str) -> str:
        text = _complex(text) if right_to_left(target) else text
        return _DEFAULT.sub(lambda found: found[1] + default(found[2]) + found[3], text, count=1)

    def default(properties: str) -> str:
        kind = "eastAsia" if chosen else "bidi" if right_to_left(target) else "val"
        properties = _LANGUAGE.sub(lambda found: _with(found[0], f"w:{kind}", tag(target)), properties)
        if chosen is None:
            return properties
        fonts = _FONTS.search(properties)
        if fonts is None:
            return f'<w:rFonts w:eastAsia="{chosen}"/>{properties}'
        given = _EAST_ASIAN.sub("", fonts[0])
        return properties.replace(fonts[0], _with(given, "w:eastAsia", chosen))

    return changed


def _with(element: str, attribute: str, value: str) -> str:
    """Return an empty element with an attribute set."""
    element = re.sub(rf"""\s{attribute}=(?:"[^"]*"|'[^']*')""", "", element)
    return element.removesuffix("/>").rstrip() + f' {attribute}="{value}"/>'
