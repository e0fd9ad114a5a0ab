"""Reserved tokens that stand for protected spans in the data of a model, so that it learns to copy them.

In text, a reserved token is a noncharacter of Unicode, which normalised text never contains; `Subwords` encodes it as
its token. Addresses, placeholders, paths and code that both sides of a pair have become such tokens; so do, in some
pairs, numbers and names that both sides have, since most corpora have few addresses to learn from.
"""

import re
from collections import Counter
from hashlib import blake2b

from regard.text.protected.spans import Span, find_spans

MOST = 8  # reserved tokens, and so most spans of one sentence
TOKENS = tuple(f"<keep{number}>" for number in range(1, MOST + 1))
SIGNS = tuple(chr(0xFDD1 + number) for number in range(MOST))
"""The character that stands for each token in text."""
PRIVATE = tuple(chr(0xF8D1 + number) for number in range(MOST))
"""The same as private-use characters, which normalisation keeps."""
TO_SIGNS = str.maketrans(dict(zip(PRIVATE, SIGNS, strict=True)))
TO_PRIVATE = str.maketrans(dict(zip(SIGNS, PRIVATE, strict=True)))
SHARE = 8  # in one of this many pairs, names and numbers are replaced, too

_MUST_AGREE = frozenset(("url", "email", "placeholder"))
_REPLACED = frozenset(("url", "email", "placeholder", "path", "code"))
_SHARED = re.compile(r"(?<![^\W_])(?:\d[\d.,:]*\d|\d+|[A-ZÀ-ÖØ-Þ][^\W\d_]{2,})(?![^\W_])")


def agree(source: str, target: str) -> bool:
    """Return whether both sides of a pair have the same addresses and placeholders."""
    ours, theirs = (_texts(side, find_spans(side)) for side in (source, target))
    return ours == theirs


def with_reserved(source: str, target: str) -> tuple[str, str]:
    """Return a pair with reserved tokens for the spans that both sides have.

    Which tokens, and whether names and numbers are replaced, depends on the pair alone.
    """
    spans = {text for text, count in _replaceable(source).items() if _replaceable(target)[text] == count == 1}
    dice = int.from_bytes(blake2b(f"{source}\n{target}".encode("utf-8", "surrogatepass"), digest_size=8).digest())
    if dice % SHARE == 0:
        ours, theirs = (Counter(_SHARED.findall(side)) for side in (source, target))
        spans |= {text for text, count in ours.items() if theirs[text] == count == 1}
    order = sorted(spans, key=source.find)[:MOST]
    start = dice // SHARE
    for number, text in enumerate(sorted(order, key=len, reverse=True)):
        if source.count(text) == target.count(text) == 1:  # and not inside of a longer one
            sign = SIGNS[(start + number) % MOST]
            source, target = source.replace(text, sign), target.replace(text, sign)
    return source, target


def _texts(text: str, spans: list[Span]) -> Counter[str]:
    return Counter(text[span.start : span.end] for span in spans if span.kind in _MUST_AGREE)


def _replaceable(text: str) -> Counter[str]:
    return Counter(text[span.start : span.end] for span in find_spans(text) if span.kind in _REPLACED)
