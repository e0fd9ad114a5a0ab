"""Inline Markdown: emphasis, links, code.

Emphasis follows CommonMark except in rare corner cases; a delimiter without a partner is text.
"""

import re
import unicodedata
from dataclasses import replace

from regard.documents.html import VOID, unescape
from regard.documents.segment import Item

_ADDRESS = r"""\(\s*+(?:<[^<>\n]*>|(?:[^()\s]|\([^()\s]*\))*)(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)"""
_TOKEN = re.compile(
    rf"""
    (?P<escape>\\[!-/:-@\[-`{{-~])
    | (?P<newline>(?<![ \t])[ \t]*+\r?\n[ \t]*(?:>[ \t]?)*)
    | (?P<word>
        (?P<ticks>`{{1,32}}+(?!`)).*?(?<!`)(?P=ticks)(?!`)
        | !\[[^\[\]]*\](?:{_ADDRESS}|\[[^\[\]]*\])
        | <(?:[a-zA-Z][a-zA-Z0-9+.-]+:[^\s<>]*|[^\s<>@]+@[^\s<>]+)>
        | \[\^[^\[\]\s]+\]
        | <(?P<raw>code|kbd|samp|tt|var)(?:\s[^<>]*)?>[^<]*+</(?P=raw)>
        | \$(?![\s$])(?:[^$\\\n]|\\.)++(?<!\s)\$(?!\d)
        | https?://[^\s<>\[\]()*`\\]*[^\s<>\[\]()*_`.,;:!?'"\\]
      )
    | (?P<tag><(?P<close>/?)(?P<name>[a-zA-Z][a-zA-Z0-9-]*)(?:\s[^<>]*)?/?>)
    | (?P<comment><!--(?:[^-<]|-(?!->)|<(?!!--))*+-->)
    | (?P<label>\[[^\[\]]+\](?:\[\])?)(?![\[(])
    | (?P<opening>\[)
    | (?P<closing>\](?:{_ADDRESS}|\[[^\[\]]+\]))
    | (?P<run>\*+|_+|~~)
    | (?P<backtick>`++)
    """,
    re.VERBOSE | re.DOTALL,
)
_SIGNS = re.compile(r"[\\`*_\[\]<|~]")
_REFERENCE = re.compile(r"&(?=#?\w+;)")
_BLOCK = re.compile(r"\s*(?:\d+(?=[.)])|(?=[-#+>=]))")


def items(text: str, labels: frozenset[str]) -> list[Item]:
    """Return the items of a line, or of several that form a paragraph; `labels` are the defined link labels."""
    found: list[Item] = []
    opened: list[int] = []  # brackets
    emphasis: list[int] = []
    at = 0
    while token := _TOKEN.search(text, at):
        _append_text(found, text[at : token.start()])
        at = token.end()
        kind = token.lastgroup if token.lastgroup not in ("ticks", "close", "name") else ""
        if token["label"] is not None and token["label"].removesuffix("[]")[1:-1].lower() not in labels:
            at = token.start() + 1
            kind = "opening"
        if token["word"] is not None or kind == "label":
            found.append(Item(token[0], "word"))
        elif kind == "opening":
            opened.append(len(found))
            found.append(_plain("["))
        elif token["closing"] is not None and opened:
            number = opened.pop()
            while emphasis and emphasis[-1] > number:
                emphasis.pop()
            found[number] = Item("[", "open", name=f"link {number}")
            found.append(Item(token[0], "close", name=f"link {number}"))
        elif token["run"] is not None:
            _emphasise(found, emphasis, text, token.start(), token.end())
        else:
            found.append(_single(token))
            if token["closing"] is not None:
                found[-1] = _plain("]")
                at = token.start() + 1
    _append_text(found, text[at:])
    return found


def written(text: str) -> str:
    """Escape a text so that no character in it is markup."""
    text = _REFERENCE.sub("&amp;", _SIGNS.sub(r"\\\g<0>", text))
    block = _BLOCK.match(text)
    return f"{block[0]}\\{text[block.end() :]}" if block else text


def _append_text(found: list[Item], text: str) -> None:
    if text:
        found.append(Item(text, "text", unescape(text)))


def _plain(sign: str) -> Item:
    return Item(sign, "text", sign)


def _single(token: re.Match[str]) -> Item:
    raw = token[0]
    if token["escape"] is not None:
        return Item(raw, "text", raw[1:])
    if token["newline"] is not None:
        return Item(raw, "text", " ")
    if token["tag"] is not None:
        name = token["name"].lower()
        if name == "br":
            return Item(raw, "break")
        return Item(raw, "point" if name in VOID else "close" if token["close"] else "open", name=name)
    return Item(raw, "point") if token["comment"] is not None else _plain(raw)


def _emphasise(found: list[Item], emphasis: list[int], text: str, start: int, end: int) -> None:
    """Add a run of delimiters: end the items that it closes, and note those that it may open.

    `emphasis` has the indices of the open items.
    """
    run = text[start:end]
    before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
    opens = not after.isspace() and (not _is_sign(after) or before.isspace() or _is_sign(before))
    closes = not before.isspace() and (not _is_sign(before) or after.isspace() or _is_sign(after))
    if run[0] == "_":
        opens, closes = opens and (not closes or _is_sign(before)), closes and (not opens or _is_sign(after))
    while closes and emphasis and run.startswith(found[emphasis[-1]].raw):
        number = emphasis.pop()
        raw = found[number].raw
        found[number] = Item(raw, "open", name=f"emphasis {number}")
        found.append(replace(found[number], kind="close"))
        run = run[len(raw) :]
    while run:
        sign = run[: 2 if len(run) > 1 else 1]
        run = run[len(sign) :]
        if opens:
            emphasis.append(len(found))
        found.append(_plain(sign))


def _is_sign(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"
