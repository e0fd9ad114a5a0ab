"""Reader and writer of messages in YAML (.yaml, .yml): strings that are values.

Keys, comments, anchors and the layout stay.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import yaml

from regard.documents.document import Document, Languages
from regard.documents.resources.message import Spelling, message
from regard.documents.segment import Item, Piece, Segment, divided
from regard.documents.text_file import decoded, document
from regard.errors import UserError

LARGEST = 16 << 20  # characters
DEEPEST = 100  # of nested brackets or dashes; more are slow to parse
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SAFE = re.compile(r"[^\W\d_][\w .,;!?()'/-]*[\w.!?)]|[^\W\d_]")  # a string without quotes in any context
_PLAIN = re.compile(r"[ \t]*+\r?\n[ \t]*+(?:\r?\n[ \t]*+)*+|.", re.DOTALL)
_SINGLE = re.compile(rf"''|{_PLAIN.pattern}", re.DOTALL)
_DOUBLE = re.compile(
    r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\\r?\n[ \t]*+|\\."
    rf"|{_PLAIN.pattern}",
    re.DOTALL,
)
_MEANING = dict(zip('0abtnvfre"/\\N_LP \t', '\0\a\b\t\n\v\f\r\x1b"/\\\x85\xa0\u2028\u2029 \t', strict=True))
_DASHES = re.compile(rf"(?:[-?:][ \t]+){{{DEEPEST}}}")
_HEADER = re.compile(r"[|>][^\n]*\n")
_BLOCK_LINE = re.compile(r"(?P<indent>[ \t]*+)(?P<said>[^\n]*?)(?P<end>[ \t\r]*+(?:\n|$))")
_UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a file."""
    text, mark, encoding = decoded(content, name)
    if len(text) > LARGEST:
        raise UserError(f"{name}: {len(text):,} characters, but YAML may have {LARGEST:,}; divide it")
    if _depth(text) > DEEPEST or _DASHES.search(text):
        raise UserError(f"{name}: nested more than {DEEPEST} deep; divide it")
    kept: Counter[str] = Counter()
    try:
        found = list(_pieces(text, kept))
    except yaml.YAMLError as error:
        at = getattr(error, "problem_mark", None)
        where = f"{name}, line {at.line + 1}" if at is not None else name
        raise UserError(f"{where}: not valid YAML ({getattr(error, 'problem', None) or 'a sign'}); mend it") from None
    except RecursionError:
        raise UserError(f"{name}: nested too deeply; divide it") from None
    return document(name, found, mark, encoding, kept)


def _depth(text: str) -> int:
    """Return the maximum depth of brackets, inside strings, too."""
    deepest = depth = 0
    for sign in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if sign in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _pieces(text: str, kept: Counter[str]) -> Iterator[Piece]:
    for _ in yaml.parse(text, Loader=LOADER):  # a file that is not YAML is rejected as a whole
        pass
    resolver = yaml.SafeLoader("")
    key = tagged = False
    depth = at = 0
    for token in yaml.scan(text, Loader=LOADER):
        if isinstance(token, yaml.TagToken):
            tagged = token.value != ("!!", "str")
            continue
        if isinstance(token, yaml.AnchorToken):
            continue
        if isinstance(token, yaml.ScalarToken):
            begin, end = token.start_mark.index, token.end_mark.index
            string = not token.plain or resolver.resolve(yaml.ScalarNode, token.value, (True, False)).endswith(":str")
            if string and not key and not tagged:
                yield text[at:begin]
                yield from _scalar(text[begin:end], token, flow=depth > 0, kept=kept)
                at = end
        depth += isinstance(token, yaml.FlowMappingStartToken | yaml.FlowSequenceStartToken)
        depth -= isinstance(token, yaml.FlowMappingEndToken | yaml.FlowSequenceEndToken)
        key, tagged = isinstance(token, yaml.KeyToken), False
    yield text[at:]


def _scalar(raw: str, token: yaml.ScalarToken, *, flow: bool, kept: Counter[str]) -> Iterator[Piece]:
    if token.style in ("|", ">"):
        yield from _block(raw, folded=token.style == ">")
    elif token.style in ("'", '"'):
        spelling = Spelling(_SINGLE, _single, _in_single) if token.style == "'" else Spelling(_DOUBLE, _double, _quoted)
        yield raw[0]
        yield from message(raw[1:-1], spelling, kept)
        yield raw[-1]
    elif token.value == raw:
        yield from _plain(raw, flow, kept)
    else:  # over several lines
        yield from divided([Item(raw, "text", token.value)], lambda text: _bare(text, flow=flow))


def _plain(raw: str, flow: bool, kept: Counter[str]) -> Iterator[Piece]:
    """Yield a string without quotes; its translation gets quotes if it needs them."""
    pieces = list(message(raw, Spelling(_PLAIN, _folded, str), kept))
    at = next((number for number, piece in enumerate(pieces) if isinstance(piece, Segment)), None)
    if at is None:
        yield raw
        return
    before, segment, after = "".join(map(str, pieces[:at])), pieces[at], "".join(map(str, pieces[at + 1 :]))
    assert isinstance(segment, Segment), "a line has one text"
    yield replace(
        segment, original=raw, written=lambda parts: _bare(before + segment.written(parts) + after, flow=flow)
    )


def _block(raw: str, *, folded: bool) -> Iterator[Piece]:
    """Yield the lines of a block scalar | or >. In the second, consecutive lines are one text."""
    header = _HEADER.match(raw)
    if header is None:
        yield raw
        return
    yield header[0]
    items: list[Item] = []
    indent = None
    for line in _BLOCK_LINE.finditer(raw, header.end()):
        if items and folded and line["said"] and line["indent"] == indent:
            items[-1] = Item(items[-1].raw + line["indent"], "break")
        else:
            yield from divided(items, _printable)
            items = []
            yield line["indent"]
        indent = line["indent"]
        items += [Item(line["said"], "text", line["said"]), Item(line["end"], "break")]
    yield from divided(items, _printable)


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub("", text)


def _folded(unit: str) -> str:
    """Fold line breaks: a single one is a space; of several, the first is dropped."""
    return ("\n" * (unit.count("\n") - 1) or " ") if "\n" in unit else unit


def _single(unit: str) -> str:
    return "'" if unit == "''" else _folded(unit)


def _in_single(text: str) -> str:
    return _printable(text).replace("'", "''")


def _double(unit: str) -> str:
    if not unit.startswith("\\") or len(unit) == 1:
        return _folded(unit)
    if unit[1] in "\r\n":
        return ""
    if unit[1] in "xuU" and len(unit) > 2:
        code = int(unit[2:], 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code <= 0xDFFF else "\ufffd"
    return _MEANING.get(unit[1], unit[1])


def _quoted(text: str) -> str:
    return json.dumps(_printable(text), ensure_ascii=False)[1:-1]


def _bare(text: str, *, flow: bool) -> str:
    """Return a string without quotes if it remains a string, else with quotes."""
    safe = _SAFE.fullmatch(text) and not (flow and "," in text)
    if safe and yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False)).endswith(":str"):
        return text
    return f'"{_quoted(text)}"'
