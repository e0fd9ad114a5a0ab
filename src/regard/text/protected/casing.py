"""CAPITALS and Title Case: written as ordinary text for a model, and given back to its translation."""

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

Casing = Literal["capitals", "title"]
Rank = Callable[[str], int | None]
"""The rank of a word in a vocabulary, the most frequent first; None for one that is not in it."""

LEAST_LETTERS = 4  # letters of a text in capitals; a shorter one is an abbreviation
LEAST_TITLE = 3  # capitalised words of a title, besides the first
KNOWN_SHARE = 0.5  # share of such a text's words that the vocabulary has in lower case
SHORT_WORD = 3  # letters of a word that may be in lower case in a title
NAME_RANK = 0.6  # a word is more often a name if its rank with a capital is below this share of its other rank
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_TURKIC = frozenset(("tr", "az"))
_ACUTE = "\u0301"


def casing_of(text: str, rank: Rank) -> Casing | None:
    """Return whether a text is written in capitals or as a title, of words that the vocabulary has; else None."""
    if text.islower() or text[1:].islower():  # true of most texts, and fast to check
        return None
    words = _WORD.findall(text)
    if text.isupper():
        letters = sum(map(len, words))
        common = sum(_is_known(word, rank) for word in words)
        return "capitals" if letters >= LEAST_LETTERS and common >= KNOWN_SHARE * len(words) and common else None
    later = [word for word in words[1:] if len(word) > 1]
    large = [word for word in later if word[0].isupper() and word[1:].islower()]
    small = [word for word in later if word.islower()]
    if len(large) < LEAST_TITLE or any(len(word) > SHORT_WORD + 1 for word in small) or len(small) > len(large):
        return None
    common = sum(rank(word.lower()) is not None for word in large)
    return "title" if common > KNOWN_SHARE * len(large) else None


def ordinary(text: str, rank: Rank, language: str | None, *, first: bool = True) -> str:
    """Return a text as an ordinary sentence: in lower case but for names, and for the first word if it begins one."""
    begin = _WORD.search(text) if first else None

    def changed(found: re.Match[str]) -> str:
        begins = begin is not None and found.start() == begin.start()
        return _ordinary_word(found.group(), begins, rank, language)

    return _WORD.sub(changed, text)


def given_back(text: str, casing: Casing, language: str | None, *, first: bool = True) -> str:
    """Return a translation, or a part of one, in capitals or as a title; `first`: it begins the text."""
    if casing == "capitals":
        return upper(text, language)

    def large(found: re.Match[str]) -> str:
        word = found.group()
        begins = first and found.start() == len(text) - len(text.lstrip())
        return word if len(word) <= SHORT_WORD and not begins else upper(word[0], language) + word[1:]

    return _WORD.sub(large, text)


def upper(text: str, language: str | None = None) -> str:
    """Return a text in capitals by the rules of its language: Turkish i is İ, Greek has no accents, ß is SS."""
    if language in _TURKIC:
        text = text.replace("i", "İ").replace("ı", "I")
    if language == "el":
        plain = unicodedata.normalize("NFD", text).replace(_ACUTE, "")
        text = unicodedata.normalize("NFC", plain)
    return text.upper()


def lower(text: str, language: str | None = None) -> str:
    """Return a text in lower case by the rules of its language."""
    if language in _TURKIC:
        text = text.replace("İ", "i").replace("I", "ı")
    return text.lower()


def _is_known(word: str, rank: Rank) -> bool:
    return rank(word.lower()) is not None or rank(word.capitalize()) is not None


def _ordinary_word(word: str, first: bool, rank: Rank, language: str | None) -> str:
    small = lower(word, language)
    large = upper(small[0], language) + small[1:]
    if first or (language == "en" and re.split("['’]", small)[0] == "i"):
        return large
    ranks = rank(small), rank(large)
    if ranks[1] is not None and (ranks[0] is None or ranks[1] < NAME_RANK * ranks[0]):
        return large
    return small
