"""Glossaries: source terms with the target terms that a translation must use for them.

A term matches whole words of a sentence, the longest at each place, in any case unless it is marked `case`. In Hangul,
particles may follow it; a term that ends with * matches every word that begins with it. In scripts that are written
without spaces, a term matches anywhere. Time is linear in the length of the sentence, whatever the glossary.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Self

from regard.errors import UserError
from regard.terms.script import is_particle, joins

MOST_TERMS = 100_000
LONGEST_TERM = 200  # characters
LONGEST_ENDING = 3  # letters that may follow a target term as its inflection
SHORTEST_STEM = 3  # letters of a target word that may have an ending


@dataclass(frozen=True)
class Term:
    """A source term and its translations, any of which will do."""

    source: str
    targets: tuple[str, ...]
    case: bool = False
    """True if the source matches only in its own case."""
    prefix: bool = False
    """True if the source matches every word that begins with it."""


@dataclass(frozen=True)
class TermUse:
    """A term that occurs in a sentence, and whether its translation contains one of the term's targets."""

    source: str
    targets: tuple[str, ...]
    placed: bool


class Glossary:
    """Terms by their source, for one direction of translation."""

    def __init__(self, terms: Iterable[Term]) -> None:
        """Join terms with the same source, in any case unless that counts: any of their targets will do."""
        joined: dict[tuple[str, bool, bool], tuple[str, dict[str, None]]] = {}
        for term in terms:
            source, targets = _clean(term.source), [_clean(target) for target in term.targets]
            if not source or not targets or not all(targets):
                raise UserError(f"the term {term.source[:40]!r} lacks one of its sides; give a source and a target")
            if max(map(len, (source, *targets))) > LONGEST_TERM:
                raise UserError(f"the term {source[:40]!r}… has over {LONGEST_TERM} characters; shorten it")
            if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for text in (source, *targets) for letter in text):
                raise UserError(f"the term {source[:40]!r} has characters that no text has (NUL or a surrogate)")
            key = source if term.case else _folded(source), term.case, term.prefix
            joined.setdefault(key, (source, {}))[1].update(dict.fromkeys(targets))
            if len(joined) > MOST_TERMS:
                raise UserError(f"the glossary has over {MOST_TERMS:,} terms; leave out what the texts do not use")
        self.terms = tuple(Term(source, tuple(targets), *how) for (_, *how), (source, targets) in joined.items())

    @classmethod
    def of(cls, pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> Self:
        """Return a glossary of pairs of terms; a source that ends with * matches every word that begins with it."""
        given = pairs.items() if isinstance(pairs, Mapping) else pairs
        return cls(term_of(source, target) for source, target in given)

    @classmethod
    def read(cls, path: str | Path, languages: tuple[str | None, str | None] = (None, None)) -> Self:
        """Read a glossary from a file: TSV, CSV, or TBX, of which the languages are used."""
        from regard.terms.read import read_terms  # noqa: PLC0415  # it needs this file

        return cls(read_terms(Path(path), languages))

    def __len__(self) -> int:
        return len(self.terms)

    def found(self, text: str) -> tuple[Term, ...]:
        """Return the terms that occur in a sentence, in order; each once."""
        return tuple(dict.fromkeys(term for term, *_ in self.places(_clean(text))))

    def places(self, text: str) -> Iterator[tuple[Term, int, int]]:
        """Yield each term that occurs in a text in NFC, in order, where it begins, and where the word ends it is in."""
        folded = _folded(text)
        at = 0
        while at < len(text):
            taken = self._at(text, folded, at)
            if taken is None:
                at += 1
                continue
            yield taken[0], at, taken[1]
            at = taken[1]

    @cached_property
    def _by_source(self) -> dict[str, list[Term]]:
        """Terms by their folded source, the most exact first: in their own case, then whole words, then prefixes."""
        found: dict[str, list[Term]] = {}
        for term in sorted(self.terms, key=lambda term: (not term.case, term.prefix)):
            found.setdefault(_folded(term.source), []).append(term)
        return found

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """Lengths of the terms that begin with a character, longest first."""
        sources = sorted(self._by_source)
        return {
            first: sorted({len(source) for source in group}, reverse=True)
            for first, group in groupby(sources, key=lambda source: source[0])
        }

    def _at(self, text: str, folded: str, at: int) -> tuple[Term, int] | None:
        """Return the longest term that begins at a place, and where its word ends."""
        if at and joins(text[at - 1], text[at]):
            return None
        for length in self._lengths.get(folded[at], ()):
            for term in self._by_source.get(folded[at : at + length], ()):
                end = _end(text, at + length, prefix=term.prefix)
                if end is not None and (not term.case or text[at : at + length] == term.source):
                    return term, end
        return None


def term_of(source: str, target: str, *, case: bool = False) -> Term:
    """Return the term of a line of a glossary, in which * marks a prefix."""
    stripped = source.strip()
    prefix = stripped.endswith("*") and len(stripped) > 1
    return Term(stripped[:-1] if prefix else stripped, (target,), case, prefix)


def occurs(target: str, text: str) -> bool:
    """Return whether a target term occurs in a translation as words of its own, each with an ending at most."""
    words, text = _folded(_clean(target)).split(" "), _clean(text)
    folded = _folded(text)
    at = folded.find(words[0])
    while at >= 0:
        if (at == 0 or not joins(text[at - 1], text[at])) and _follow(words, text, folded, at):
            return True
        at = folded.find(words[0], at + 1)
    return False


def _follow(words: Sequence[str], text: str, folded: str, at: int) -> bool:
    """Return whether words stand one after the other in a text, from a place on."""
    for number, word in enumerate(words):
        if number:
            if text[at : at + 1] != " ":
                return False
            at += 1
        end = at + len(word)
        at = _word_end(text, end)
        if not folded.startswith(word, end - len(word)) or not _is_ending(word, text[end:at]):
            return False
    return True


def _is_ending(word: str, ending: str) -> bool:
    """Return whether letters after a target word may be its inflection: a few letters, or Korean particles."""
    if not ending or is_particle(ending):
        return True
    letters = [letter for letter in ending if unicodedata.category(letter)[0] != "M"]
    hangul = "\uac00" <= word[-1] <= "\ud7a3"
    return not hangul and len(word) >= SHORTEST_STEM and 1 <= len(letters) <= LONGEST_ENDING


def _end(text: str, end: int, *, prefix: bool) -> int | None:
    """Return where the word ends of which a term ends at `end`; None if it is another word."""
    rest = _word_end(text, end)
    return rest if rest == end or prefix or is_particle(text[end:rest]) else None


def _word_end(text: str, end: int) -> int:
    """Return the end of the word that continues at `end`; a limit keeps the time linear."""
    rest = end
    while 0 < rest < len(text) and joins(text[rest - 1], text[rest]) and rest - end < LONGEST_TERM:
        rest += 1
    return rest


def _clean(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _folded(text: str) -> str:
    """Return a text in lower case, with plain apostrophes, character by character, so that places stay the same."""
    lower = text.lower()
    if len(lower) != len(text) or "Σ" in text:  # İ becomes two characters, and Σ depends on its neighbours
        lower = "".join(lower if len(lower := character.lower()) == 1 else character for character in text)
    return lower.replace("\u2019", "'")
