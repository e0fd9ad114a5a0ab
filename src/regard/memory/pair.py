"""A pair of a translation memory, and the normalised forms by which pairs are found."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from regard.documents.language import base
from regard.errors import UserError

LONGEST_TEXT = 10_000  # characters
LONGEST_NAME = 100  # characters of an origin or an author
MOST_TOKENS = 64  # tokens of a text that are indexed
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")
_TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_WORD = re.compile(r"\w+")
# Scripts whose words vary too much, or have no spaces between them: they are indexed by pairs of characters.
_SYLLABIC = re.compile("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")
CORRECTIONS = ("correction", "suggestion", "added")
"""Origins of what people have written themselves, which `regard tune` learns."""


@dataclass(frozen=True)
class Pair:
    """A text with its translation, and where it is from."""

    source_language: str
    target_language: str
    source: str
    target: str
    origin: str = "added"
    author: str = ""
    time: str = ""
    """The time at which it was stored, in UTC, as 2026-11-18T04:00:00Z."""
    id: int = 0
    """Its number in the memory; 0 before it is stored."""

    def check(self) -> None:
        """Raise UserError for what a memory can't hold."""
        for code in (self.source_language, self.target_language):
            if not _LANGUAGE.fullmatch(code):
                raise UserError(f"{code[:20]!r} is not a language; give a code such as en or ko")
        for text in (self.source, self.target):
            if not text.strip():
                raise UserError("a pair needs a text and its translation; one of them is blank")
            if len(text) > LONGEST_TEXT:
                raise UserError(f"a text of {len(text):,} characters is too long for a memory ({LONGEST_TEXT:,})")
        for text in (self.source, self.target, self.origin, self.author):
            if _NO_TEXT.search(text):
                raise UserError("a text has characters that no text has (NUL or a surrogate); remove them")
        if self.time and not is_time(self.time):
            raise UserError(
                f"{self.time[:30]!r} is not a time such as 2026-11-18T04:00:00Z; write it so, or leave it out"
            )
        if max(len(self.origin), len(self.author)) > LONGEST_NAME:
            raise UserError(f"origin and author have at most {LONGEST_NAME} characters; shorten them")


@dataclass(frozen=True)
class Match:
    """A pair with a similar source, and its similarity in percent: 100 for the same."""

    pair: Pair
    percent: int


def is_time(text: str) -> bool:
    """Return whether a text is a time in UTC as memories have it."""
    return _TIME.fullmatch(text) is not None


def plain(text: str) -> str:
    """Return a text by which the same texts are recognised: NFC, with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def key(source_language: str, target_language: str, source: str) -> int:
    """Return the number under which a source is found exactly."""
    given = "\0".join((base(source_language), base(target_language), plain(source)))
    return int.from_bytes(blake2b(given.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)


def tokens(text: str) -> list[str]:
    """Return the index terms of a text, each once: its words, or pairs of characters, as short ASCII codes."""
    found: dict[str, None] = {}
    for piece in _pieces(plain(text).lower()):
        found[blake2b(piece.encode("utf-8", "replace"), digest_size=4).hexdigest()] = None
        if len(found) >= MOST_TOKENS:
            break
    return list(found)


def _pieces(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if _SYLLABIC.search(word) is None or len(word) == 1:
            yield word
        else:
            yield from (word[at : at + 2] for at in range(len(word) - 1))
