"""Attributes of HTML elements that a reader sees or hears: alternative texts, titles, hints, labels, descriptions."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

SEEN = frozenset(("alt", "title", "placeholder", "aria-label", "aria-description", "aria-roledescription"))
DESCRIPTIONS = frozenset(
    """
    description og:title og:description og:image:alt twitter:title twitter:description twitter:image:alt
    """.split()  # noqa: SIM905
)
BUTTONS = frozenset(("submit", "button", "reset"))  # inputs whose value is their label
_ATTRIBUTE = re.compile(r"""([^\s=/>"']+)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'>][^\s>]*+))?""")


@dataclass(frozen=True)
class Attribute:
    """A value in a tag: its place there, with quotation marks, and its text."""

    start: int
    end: int
    text: str


def seen_attributes(name: str, raw: str, begin: int) -> Iterator[Attribute]:
    """Yield the values in a tag that are text; the tag's attributes begin at `begin`."""
    if "=" not in raw:
        return
    given: dict[str, re.Match[str]] = {}
    for found in _ATTRIBUTE.finditer(raw, begin, len(raw) - 1):
        if found[2] is not None:
            given.setdefault(found[1].lower(), found)
    for key, found in given.items():
        if key in SEEN or _is_label(name, key, given):
            text = " ".join(html.unescape(found[2].strip("\"'") if found[2][0] in "\"'" else found[2]).split())
            if any(map(str.isalpha, text)):
                yield Attribute(found.start(2), found.end(2), text)


def quoted(text: str) -> str:
    return f'"{html.escape(text)}"'


def _is_label(name: str, key: str, given: dict[str, re.Match[str]]) -> bool:
    """Return whether an attribute is the description of a page, or the label of a button."""

    def value(other: str) -> str:
        return given[other][2].strip("\"'").lower() if other in given else ""

    if name == "meta" and key == "content":
        return bool(DESCRIPTIONS & {value("name"), value("property")})
    return name == "input" and key == "value" and value("type") in BUTTONS
