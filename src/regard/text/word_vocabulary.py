"""A vocabulary of whole words, as translation models had before subwords: every other word is unknown.

A token is a word or a single other character; ▁ before it stands for the space before it. So a text is the tokens
joined, and what is unknown is exactly the words outside the vocabulary. The ids are PAD, UNK, BOS, EOS, the tags, and
the words, the most frequent first.

The vocabulary of sources also has a dictionary from source words to target words, known or not. With it unknown words
of an output are replaced (PosUnk: Luong et al., 2015): by the translation of the source word they are aligned with, or
by that word itself.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby

from regard.config.special_tokens import UNK
from regard.errors import UserError
from regard.text.subword_file import LARGEST_FILE, MARK, MOST_PIECES, RESERVED, UNKNOWN_SURFACE, is_tag
from regard.text.subwords import Subwords

FORMAT = "regard words 1"
JOINERS = "\u200c\u200d"  # inside words of Persian or Hindi, and inside emoji


class Words(Subwords):
    """A vocabulary of words, with the interface of Subwords."""

    def __init__(self, content: bytes, origin: str) -> None:
        words, self.tags, self.dictionary = _read(content, origin)
        self.reserved = ()
        self.content = content
        self._origin = origin
        self._names = [RESERVED[number][0] for number in range(len(RESERVED))] + [*self.tags, *words]
        self.size = len(self._names)
        first = len(RESERVED) + len(self.tags)
        self._numbers = {word: number for number, word in enumerate(words, first)}

    @classmethod
    def learn(cls, sentences: Iterable[str], size: int, tags: Sequence[str] = ()) -> "Words":
        """Take the most frequent words of normalised sentences; `size` counts the reserved tokens and tags."""
        counts = Counter(token for sentence in sentences for token in split_words(sentence))
        if not counts:
            raise UserError("there is no text to learn words from; give at least one sentence")
        room = max(1, size - len(RESERVED) - len(tags))
        words = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:room]]
        return cls(_write(words, tags, {}), "the learned words")

    def with_dictionary(self, dictionary: Mapping[str, str]) -> "Words":
        """Return the same vocabulary with a dictionary into the target language."""
        words = self._names[len(RESERVED) + len(self.tags) :]
        return Words(_write(words, self.tags, dictionary), self._origin)

    def encode(self, texts: Sequence[str], *, threads: int = 1) -> list[list[int]]:
        """Encode each normalised text as ids, without BOS and EOS; an unknown word is UNK."""
        return [[self._numbers.get(token, UNK) for token in split_words(text)] for text in texts]

    def decode_all(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        spelling = self._spelling
        return [join_words([spelling[number] for number in ids]) for ids in sequences]

    @cached_property
    def _spelling(self) -> list[str]:
        first = len(RESERVED) + len(self.tags)
        reserved = [MARK + UNKNOWN_SURFACE if number == UNK else "" for number in range(first)]
        return reserved + self._names[first:]

    @cached_property
    def spelling(self) -> list[bytes]:
        first = len(RESERVED) + len(self.tags)
        return [b""] * first + [name.replace(MARK, " ").encode() for name in self._names[first:]]

    def replacement(self, token: str) -> str:
        """Return the replacement of an unknown word aligned with this source token: its translation, or itself."""
        mark, word = (MARK, token[1:]) if token.startswith(MARK) else ("", token)
        return mark + self.dictionary.get(word, word)


def split_words(text: str) -> list[str]:
    """Split a normalised text into words and single other characters, with ▁ for a space before one."""
    tokens: list[str] = []
    for part in text.replace(MARK, "_").split(" "):
        begin = len(tokens)
        for inside, characters in groupby(part, key=_in_word):
            run = list(characters)
            tokens += ["".join(run)] if inside else run
        if len(tokens) > begin:
            tokens[begin] = MARK + tokens[begin]
    return tokens


def join_words(tokens: Iterable[str]) -> str:
    """Undo `split_words`."""
    return "".join(tokens).replace(MARK, " ").strip(" ")


def _in_word(character: str) -> bool:
    """Return whether a character is a letter, a number, or a mark that belongs to one."""
    return character.isalnum() or character in JOINERS or unicodedata.category(character).startswith("M")


def _write(words: Sequence[str], tags: Sequence[str], dictionary: Mapping[str, str]) -> bytes:
    content = {"format": FORMAT, "tags": list(tags), "words": list(words), "dictionary": dict(dictionary)}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _read(content: bytes, origin: str) -> tuple[list[str], tuple[str, ...], dict[str, str]]:
    """Validate a file's bytes; raise a UserError that begins with `origin` unless regard wrote such a file."""
    refusal = UserError(f"{origin}: not a vocabulary of words that regard wrote; restore it from a copy")
    if len(content) > LARGEST_FILE:
        raise refusal
    try:
        found = json.loads(content)
        words, tags, dictionary = (found[key] for key in ("words", "tags", "dictionary"))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise refusal from None
    lists = isinstance(words, list) and isinstance(tags, list) and isinstance(dictionary, dict)
    if not lists or found.get("format") != FORMAT or not 0 < len(words) <= MOST_PIECES:
        raise refusal
    texts = [*words, *tags, *dictionary, *dictionary.values()]
    if not all(isinstance(text, str) and text and "\n" not in text for text in texts):
        raise refusal
    if len(set(words)) != len(words) or not all(map(is_tag, tags)):
        raise refusal
    return words, tuple(tags), dictionary
