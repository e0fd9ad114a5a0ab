"""Reader and writer of web pages. Every tag keeps its bytes and its order; a sentence with tags in it is one text.

Attributes that a reader sees are translated: alternative texts, titles, hints, labels, descriptions. Not translated:
comments, scripts, styles, code, other attributes, and what the page itself exempts by translate="no" or
class="notranslate". Nothing is rejected: invalid HTML stays unchanged.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from regard.documents.html_attributes import Attribute, quoted, seen_attributes
from regard.documents.language import right_to_left
from regard.documents.placement import Mark
from regard.documents.segment import Item, Piece, Segment, divided

INLINE = frozenset(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark math meter output progress q
    rp rt ruby s samp small span strike strong sub sup svg time tt u var wbr
    """.split()  # noqa: SIM905
)
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
IN_LINE = frozenset(("img", "input", "embed"))  # tags that have a place in the line, like a word
_IN_LINE_TAG = re.compile(rf"<(?:{'|'.join(sorted(IN_LINE))})\b", re.IGNORECASE)
RAW = frozenset("iframe noembed noframes plaintext script style textarea xmp".split())  # noqa: SIM905
UNTOUCHED = RAW | frozenset("code kbd math pre rp rt samp svg tt var".split())  # noqa: SIM905
_CELLS = frozenset(("td", "th"))
ENDED_BY = {  # elements whose end tag may be omitted, and the elements that end them
    "p": frozenset(
        """
        address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2
        h3 h4 h5 h6 header hgroup hr main menu nav ol p pre search section summary table ul
        """.split()  # noqa: SIM905
    ),
    "dd": frozenset(("dd", "dt")),
    "dt": frozenset(("dd", "dt")),
    "li": frozenset(("li",)),
    "option": frozenset(("option",)),
    "tr": frozenset(("tr",)),
    **dict.fromkeys(_CELLS, _CELLS | {"tr"}),
}

_START = re.compile(r"<(?=[a-zA-Z/!?])")
_TOKEN = re.compile(
    r"""
    <!--(?:-?>|.*?--!?>)                                    # a comment
    | <(?!!--)[!?][^>]*+> | </[^a-zA-Z][^>]*+> | </>        # a doctype, and what is read like a comment
    | <(?P<close>/?)(?P<name>[a-zA-Z][^\s/>]*+)
      (?P<attributes>(?: = \s*+ (?: "[^"]*+" | '[^']*+' | [^\s"'>][^\s>]*+ | (?=>) ) | [^>=] )*+) >
    """,
    re.DOTALL | re.VERBOSE,
)
_CDATA = re.compile(r"<!\[CDATA\[.*?\]\]>", re.DOTALL)  # in XHTML alone; HTML reads it as a comment up to the first >
_ATTRIBUTE = re.compile(r"""([^\s=/>"']+)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'>][^\s>]*+))?""")
_BESIDE = re.compile(  # a word, then a tag; an end tag, then a word; an empty element, then a word
    r"[^\s>]\s*+<([a-zA-Z][^\s/>]*+)|</([a-zA-Z][^\s/>]*+)\s*+>\s*+[^\s<]|<([a-zA-Z][^\s/>]*+)[^<>]*+(?<=/)>\s*+[^\s<]"
)
_LONG_NUMBER = re.compile(r"&#(?:x0*+[0-9a-f]{7,}|0*+[0-9]{8,});?", re.IGNORECASE)


@dataclass(frozen=True)
class _Token:
    raw: str
    kind: Literal["text", "open", "close", "other"]
    name: str = ""
    attributes: str = ""
    empty: bool = False
    """True if it is <x/> in XML, which has no content."""


def pieces(
    page: str,
    language: str | None = None,
    *,
    kept: Collection[str] = (),
    inside: Collection[str] = (),
    xml: bool = False,
    attributes: bool = True,
) -> list[Piece]:
    """Split a page into pieces; with a language, set <html lang> and, if it is written from right to left, dir.

    `xml`: it is XHTML, in which <x/> has no content, whatever the element.

    Custom elements: those in `kept` stay unchanged, and neither they nor those of `inside` divide a sentence.
    `attributes`: translate those that a reader sees.
    """
    found: list[Piece] = []
    items: list[Item] = []

    def sentence() -> list[Piece]:
        made = list(divided(items, escape))
        return [one for piece in made for one in _with_attributes(piece, xml)] if attributes else made

    for item in _items(_tokens(page, xml), language, frozenset(kept), INLINE.union(kept, inside)):
        if isinstance(item, Item) and not (items and _apart(items[-1], item)):
            items.append(item)
        elif isinstance(item, Item):
            found += sentence()
            items = [item]
        else:
            found += [*sentence(), *(_with_attributes(item, xml) if attributes else [item])]
            items = []
    return [*found, *sentence()]


def _tag_pieces(raw: str) -> Iterator[Piece]:
    """Yield a tag between texts, with its attributes that a reader sees as texts of their own."""
    at = 0
    for attribute in _seen(raw):
        yield raw[at : attribute.start]
        yield Segment(attribute.text, raw[attribute.start : attribute.end], (), _quoted)
        at = attribute.end
    yield raw[at:]


def _with_attributes(piece: Piece, xml: bool) -> Iterator[Piece]:
    """Yield a piece, with the attributes of its tags as texts of their own.

    Those of tags inside a sentence come before it, write nothing, and are put into the tags when it is written.
    """
    if isinstance(piece, str):
        if "=" not in piece:
            yield piece
            return
        for token, translated in _exempted(_tokens(piece, xml), frozenset()):
            yield from _tag_pieces(token.raw) if translated and token.kind == "open" else [token.raw]
        return
    changed: dict[tuple[str, Attribute], str] = {}
    tags = (mark.raw for mark in piece.marks if mark.kind in ("open", "point") or _IN_LINE_TAG.match(mark.raw))
    for raw in dict.fromkeys(tags):
        for attribute in _seen(raw):
            yield Segment(attribute.text, "", (), _quoted, finished=_into(changed, raw, attribute))
    yield replace(piece, finished=lambda text: _replaced(text, changed))


def _into(changed: dict[tuple[str, Attribute], str], raw: str, attribute: Attribute) -> Callable[[str], str]:
    """Return a function that notes a translated attribute, and writes nothing; an empty one is as in the source."""

    def note(value: str) -> str:
        changed[raw, attribute] = value or raw[attribute.start : attribute.end]
        return ""

    return note


def _replaced(text: str, changed: dict[tuple[str, Attribute], str]) -> str:
    """Return a text with translated attributes in its tags."""
    tags: dict[str, str] = {}
    for (raw, attribute), value in reversed(changed.items()):  # from the end, so that offsets stay
        tag = tags.get(raw, raw)
        tags[raw] = tag[: attribute.start] + value + tag[attribute.end :]
    for raw, tag in tags.items():
        text = text.replace(raw, tag)
    return text


def _seen(raw: str) -> list[Attribute]:
    found = _TOKEN.fullmatch(raw)
    if found is None or not found["name"] or found["close"]:
        return []
    return list(seen_attributes(found["name"].lower(), raw, found.start("attributes")))


def _quoted(parts: Sequence[str | Mark]) -> str:
    return quoted("".join(part for part in parts if isinstance(part, str)))


def _apart(one: Item, other: Item) -> bool:
    """Return whether these are two links without a space between, as in menus, which are two texts."""
    return one.kind == "close" and other.kind == "open" and one.name == other.name and one.name in ("a", "label")


def beside_words(document: str) -> set[str]:
    """Return the elements of an XML document that occur beside words, and so inside sentences."""
    return {name.lower() for found in _BESIDE.findall(document) for name in found if name} - {"br"}


def escape(text: str) -> str:
    return html.escape(text, quote=False)


def unescape(text: str) -> str:
    """Replace character references by their characters, and overlong numbers, which name none, by U+FFFD."""
    return html.unescape(_LONG_NUMBER.sub("\ufffd", text)) if "&" in text else text


def _items(
    tokens: Iterator[_Token], language: str | None, ignored: frozenset[str], within: frozenset[str]
) -> Iterator[Item | str]:
    """Yield items, and between them strings at which a text ends: the tags of paragraphs, headings, cells."""
    kept: list[str] = []
    inline = True
    for token, translated in _exempted(tokens, ignored):
        if not translated:
            kept.append(token.raw)
            inline = inline and (token.kind in ("text", "other") or token.name in within)
            continue
        if kept:
            yield Item("".join(kept), "word") if inline else "".join(kept)
            kept, inline = [], True
        yield _item(token, language, within)
    if kept:
        yield "".join(kept)


def _item(token: _Token, language: str | None, within: frozenset[str]) -> Item | str:
    if token.kind == "text":
        return Item(token.raw, "text", unescape(token.raw))
    if token.kind == "other":
        return Item(token.raw, "point") if token.raw.startswith("<!--") else token.raw
    if token.name not in within:
        root = token.name == "html" and token.kind == "open"
        return _in_language(token, language) if root and language else token.raw
    if token.name in IN_LINE:
        return Item(token.raw, "word", name=token.name)
    return Item(token.raw, "point" if token.name in VOID or _closed(token) else token.kind, name=token.name)


def _closed(token: _Token) -> bool:
    """Return whether a custom element is empty, <x/>; in HTML's own elements the slash is ignored."""
    return token.empty or (token.name not in INLINE and token.raw.endswith("/>"))


def _in_language(token: _Token, language: str) -> str:
    """Return the tag <html> with its lang, if it has one, replaced, and dir="rtl" for a language from right to left."""
    begin, raw = len(token.raw) - 1 - len(token.attributes), token.raw
    for found in reversed(list(_ATTRIBUTE.finditer(raw, begin, len(raw) - 1))):
        if found[1].lower() in ("lang", "xml:lang") and found[2] is not None:
            raw = f'{raw[: found.start(2)]}"{language}"{raw[found.end(2) :]}'
    if right_to_left(language) and not re.search(r"\sdir\s*=", raw):
        raw = f'{raw[:5]} dir="rtl"{raw[5:]}'
    return raw


def _exempted(tokens: Iterator[_Token], ignored: frozenset[str]) -> Iterator[tuple[_Token, bool]]:
    """Yield each token, and whether it is to be translated: the innermost element that specifies it decides."""
    around: list[tuple[str, bool]] = []
    count: Counter[str] = Counter()

    def leave() -> bool:
        name, translated = around.pop()
        count[name] -= 1
        return translated

    for token in tokens:
        translated = around[-1][1] if around else True
        if token.kind == "open":
            while around and token.name in ENDED_BY.get(around[-1][0], ()):
                leave()
            translated = token.name not in ignored and _opens(token, around[-1][1] if around else True)
            if token.name not in VOID and not token.empty and not (token.name in ignored and _closed(token)):
                around.append((token.name, translated))
                count[token.name] += 1
        elif token.kind == "close" and count[token.name]:
            while around[-1][0] != token.name:
                leave()
            translated = leave()
        yield token, translated


def _opens(token: _Token, around: bool) -> bool:
    """Return whether an element's content is to be translated."""
    if token.name in UNTOUCHED:
        return False
    if "translate" in token.attributes.lower():
        found = _ATTRIBUTE.finditer(token.attributes)
        given = {one[1].lower(): (one[2] or "").strip("\"'").lower() for one in found}
        if "notranslate" in given.get("class", "").split():
            return False
        if "translate" in given:
            return given["translate"] != "no" and (around or given["translate"] in ("yes", ""))
    return around


def _tokens(page: str, xml: bool) -> Iterator[_Token]:
    """Tokenise a page. An unterminated tag or comment extends to the end, as in browsers."""
    at = 0
    while start := _START.search(page, at):
        if start.start() > at:
            yield _Token(page[at : start.start()], "text")
        if xml and (section := _CDATA.match(page, start.start())):
            yield _Token(section[0], "other")
            at = section.end()
            continue
        found = _TOKEN.match(page, start.start())
        if found is None:
            yield _Token(page[start.start() :], "open", "plaintext")
            return
        name = (found["name"] or "").lower()
        kind: Literal["open", "close", "other"] = "other" if not name else "close" if found["close"] else "open"
        empty = xml and kind == "open" and found[0].endswith("/>")
        yield _Token(found[0], kind, name, found["attributes"] or "", empty)
        at = found.end()
        if kind == "open" and name in RAW and not empty:
            end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(page, at)
            stop = len(page) if end is None else end.start()
            yield _Token(page[at:stop], "text")
            at = stop
    if at < len(page):
        yield _Token(page[at:], "text")
