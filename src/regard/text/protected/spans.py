"""Spans of a text that a translation keeps as they are: addresses, paths, code, placeholders, tags, numbers, emoji.

`find_spans` is a pure function from a text to spans. It takes time linear in the text; most lines have no character
that a span needs, and cost one search for such a character.
"""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["url", "email", "path", "code", "placeholder", "tag", "number", "emoji", "name"]
KINDS: tuple[Kind, ...] = ("url", "email", "path", "code", "placeholder", "tag", "number", "emoji", "name")

# Elements that format the words between their tags; any other <word> is a placeholder unless it is closed, too.
FORMATTING = frozenset(
    """
    a abbr b bdi bdo big br cite code data del dfn div em font h1 h2 h3 h4 h5 h6 hr i img ins kbd label li mark ol p
    pre q s samp small span strike strong sub sup table td th time tr tt u ul var wbr
    """.split()  # noqa: SIM905
)
_DOMAINS = "com|org|net|edu|gov|info|io|dev|app|eu|de|at|ch|uk|us|fr|es|it|nl|be|pl|cz|se|no|fi|dk|ru|jp|kr|cn|in|br"
_ENDINGS = (
    "7z|avi|bak|bat|bin|bmp|c|cc|cfg|conf|cpp|cs|css|csv|db|dll|docx?|epub|exe|flac|gif|go|gz|h|hpp|html?|ico|ini|iso|"
    "jar|java|jpe?g|js|json|jsonl|kt|lock|log|lua|md|mkv|mov|mp3|mp4|odp|ods|odt|ogg|pdf|php|pl|png|po|pptx?|ps1|py|rb|"
    "rs|rst|rtf|sh|so|sql|srt|svg|tar|tex|tiff?|toml|ts|tsv|txt|vtt|wav|webp|xlsx?|xml|ya?ml|zip|zst"
)
_LATIN = "A-Za-zÀ-ÖØ-öø-ɏ"
_UNITS = (
    "km/h|km²|km|m/s²|m/s|m²|m³|cm²|cm³|cm|mm|µm|nm|m|kg|mg|µg|g|t|lbs?|oz|ft|mi|mph|ml|cl|dl|l|L|kB|KB|MB|GB|TB|kbit/s|"
    "Mbit/s|Gbit/s|kWh|MWh|kW|MW|GW|W|mV|kV|V|mA|A|Ω|kHz|MHz|GHz|Hz|hPa|kPa|MPa|Pa|bar|kcal|kJ|J|K|px|pt|dpi|fps|rpm|"
    "ms|µs|ns|s|min|h|USD|EUR|GBP|CHF|JPY|KRW"
)
_CURRENCY = "$€£¥₩₹₽₺"
# Characters of an address: ASCII but for brackets and quotes; Latin letters with accents; letters of other scripts only
# at the beginning of a part, since a Korean particle follows an address without a space.
_ADDRESS = r"(?:[!#-;=?-\[\]_a-z~À-ÖØ-öø-ɏ]|(?<=[/=_?&#+-])[^\x00-\u024f\s]+)"
_EMOJI = (
    "(?:[\U0001f1e6-\U0001f1ff]{2}|[0-9#*]\ufe0f?\u20e3|"
    "(?:[\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff\u231a\u231b\u23e9-\u23f3\u2600-\u27bf"
    "\u2b05-\u2b55\u2934\u2935\u3030\u303d\u3297\u3299]|[\u00a9\u00ae\u2122\u2139\u2194-\u21aa]\ufe0f)"
    "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*[\U000e0020-\U000e007f]*)"
)

_PATTERNS: dict[str, str] = {
    # `` `code` ``: as many marks at the end as at the beginning
    "code": r"(?<!`)(?P<ticks>`{1,3})(?!`)[^`\n]+(?P=ticks)(?!`)",
    "url": rf"(?<![\w@])(?:(?i:https?|ftp|file|wss?|ssh|git|sftp)://|(?i:mailto:)|www\.(?=[\w-]+\.)){_ADDRESS}+",
    "email": r"(?<![\w.+-])[A-Za-z0-9À-ɏ_][A-Za-z0-9À-ɏ_.+%-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
    "tag": r"</?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>=]+))*\s*/?>|<!--.*?-->",
    "placeholder": (
        r"\{\{[^{}\n]*\}\}|\{%[^{}\n]*%\}|<%[^<>\n]*%>|[$%#@]\{[^{}\n]+\}|\{[\w.,:!\[\]# -]*\}|\[\[[^\[\]\n]+\]\]"
        r"|%\([\w.]+\)[-+#0]?\d*(?:\.\d+)?[a-zA-Z]"
        r"|(?<![\w%])%(?:\d+\$)?[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGaAcsp@](?![A-Za-z])"
        r"|(?<![\w%])%[A-Za-z_]\w*%|(?<![\w$])\$[A-Za-z_]\w*|&(?:[A-Za-z]\w{1,30}|\#\d{1,7}|\#x[0-9A-Fa-f]{1,6});"
    ),
    "path": (
        r"(?<![\w/.:~])(?:~|\.{1,2})?/(?:[\w.+@~-]+/)*[\w.+@~-]*[\w~-]/?(?![\w/])"
        r"|(?<![\w\\])(?:[A-Za-z]:\\|\\\\)(?:[^\s<>\"|?*:\\/]+\\)*[^\s<>\"|?*:\\/]*[\w~-]\\?"
        rf"|(?<![\w/.@-])[\w-][\w.+-]*(?:/[\w.+-]+)*\.(?:{_ENDINGS})(?![\w-])"
        r"|(?<![\w/.@-])[A-Za-z0-9_-]+(?:/[\w.+-]+){2,}(?![\w/])"
    ),
    # www-less domains, with a path or not
    "site": rf"(?<![\w@./-])(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+(?:{_DOMAINS})(?![\w-])(?:[/?#]{_ADDRESS}*)?",
    # --flag, snake_case, camelCase, call(), GPT-4, @handle, #tag
    "word": (
        r"(?<![\w-])--[A-Za-z][\w-]*(?:=[^\s,;]+)?|(?<![\w@.])[@#][A-Za-z_][\w]*"
        r"|(?<![\w.])[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\(\)"
        r"|(?<![\w-])[A-Za-z0-9]*_[A-Za-z0-9_]*[A-Za-z0-9](?![A-Za-z_])|(?<![\w-])__\w+__(?!\w)"
        r"|(?<![\w-])[a-z]+[A-Z][A-Za-z0-9]*(?![A-Za-z_])"
        r"|(?<![\w-])(?!\d+(?:ST|ND|RD|TH|AM|PM|S)\b)(?=[A-Za-z0-9-]*\d)(?=[A-Za-z0-9-]*[A-Z])[A-Za-z0-9]+"
        r"(?:-[A-Za-z0-9]+)*(?![A-Za-z_-])"
    ),
    "emoji": rf"{_EMOJI}(?:\u200d{_EMOJI}|[ ]?{_EMOJI})*|(?<!\S)(?:[:;=8][-^']?[()DPpO|*/\\]+|<3|\^\^|:'\()(?![\w/])",
    "number": (
        rf"(?<![\w.,])(?:[-+±−](?=[\d{_CURRENCY}]))?(?:[{_CURRENCY}][ \u00a0]?)?"
        rf"(?:\d{{1,3}}(?:[ \u00a0\u202f]\d{{3}})++(?:[.,]\d++)?+|\d++(?:[.,:/'’-]\d++)*+)"
        rf"(?![\d{_LATIN}]|[ ]?[ap]\.?m\b)"
        rf"(?:[ \u00a0]?(?:[%‰{_CURRENCY}]|°[CF]?)|[ \u00a0]?(?:{_UNITS})(?![\w'’]))?"
    ),
}
_SPAN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _PATTERNS.items()))
# A text without a match has no span. All alternatives end in one set of characters, for which `re` scans fast.
_SIGNS = (
    r"\d@/\\`{}%$<&\[#_^\u00a9\u00ae\u2122\u2139\u2194-\u21aa\u231a-\u2bff\u3030\u303d\u3297\u3299\ue000-\uf8ff"
    r"\U0001f000-\U0001faff"
)
_TRIGGER = re.compile(
    rf"[{_SIGNS}A-Z.):;=-](?:(?<=[{_SIGNS}])|(?<=--)|(?<=\(\))|(?<=\w\.)(?=\w)|(?<=[a-z][A-Z])|(?<=[:;=])['^-]?[()DPpO|*])"
)
_PRIVATE = re.compile("[\ue000-\uf8ff]+")
_NAME = re.compile(r"</?([A-Za-z][\w:.-]*)")
_TRAILING = ".,;:!?'’…*"
_PAIRS = {")": "(", "]": "[", "}": "{"}
_KIND: dict[str, Kind] = {"site": "url", "word": "code"}


@dataclass(frozen=True)
class Span:
    """A part of a text that stays as it is."""

    start: int
    end: int
    kind: Kind


def find_spans(text: str) -> list[Span]:
    """Return the spans of a text that must not be translated, in order, without overlaps; names are not among them."""
    if _TRIGGER.search(text) is None:
        return []
    spans: list[Span] = []
    at = 0
    while found := _SPAN.search(text, at):
        name = found.lastgroup if found.lastgroup != "ticks" else "code"
        assert name is not None
        kind = _KIND.get(name, name)
        end = _trimmed(text, *found.span()) if kind in ("url", "path", "number") else found.end()
        spans.append(Span(found.start(), end, kind))  # type: ignore[arg-type]  # the names of the groups are kinds
        at = max(end, found.start() + 1)
    return _with_private(text, _tags(text, spans))


def _trimmed(text: str, start: int, end: int) -> int:
    """Return the end of an address without the punctuation of the sentence around it."""
    while end > start + 1:
        last = text[end - 1]
        alone = last in _PAIRS and text.count(_PAIRS[last], start, end) < text.count(last, start, end)
        if last not in _TRAILING and not alone:
            break
        end -= 1
    return end


def _tags(text: str, spans: list[Span]) -> list[Span]:
    """Return the spans with <word> as a placeholder unless it formats, or is closed by </word>."""
    tags = [text[span.start : span.end] for span in spans if span.kind == "tag"]
    if not tags:
        return spans
    names = [(found[1].lower(), tag) for tag in tags if (found := _NAME.match(tag))]
    closed = {name for name, tag in names if tag.startswith("</")}
    formats = FORMATTING | {name for name, tag in names if name in closed and not tag.startswith("</")}

    def kind(span: Span) -> Kind:
        found = _NAME.match(text, span.start) if span.kind == "tag" else None
        return "placeholder" if found and found[1].lower() not in formats else span.kind

    return [Span(span.start, span.end, kind(span)) for span in spans]


def _with_private(text: str, spans: list[Span]) -> list[Span]:
    """Return the spans with the private-use characters, which mean something to the writer only."""
    private = [Span(*found.span(), "emoji") for found in _PRIVATE.finditer(text)]
    if not private:
        return spans
    free = [one for one in private if not any(span.start < one.end and one.start < span.end for span in spans)]
    return sorted([*spans, *free], key=lambda span: span.start)
