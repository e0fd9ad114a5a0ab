"""Banned words: by their letters, in whatever subwords a search may spell them.

A word is banned where a word begins: at the start, after a space, or after anything else that is no letter or figure.
So what begins with it is banned, too: without "Haus" there is no "Haustür", but there may be a "Krankenhaus".

Letters are compared as UTF-8, for a rare one may be spelt by its bytes.

Shapes: R rows (a hypothesis each), T target positions so far, V vocabulary.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

LONGEST_LETTER = 4  # bytes


@dataclass(frozen=True, eq=False)
class Banned:
    """Words that may not occur, and which tokens would write them."""

    spelling: Sequence[bytes]
    """Of each token; a reserved one is nothing."""
    words: tuple[bytes, ...]
    always: tuple[int, ...]
    """Tokens with the beginning of a word and one of the words after it."""
    order: tuple[int, ...]
    """Tokens by their spelling, so that all that begin alike stand together."""

    @classmethod
    def of(cls, spelling: Sequence[bytes], words: Sequence[str]) -> Self:
        encoded = tuple(word.encode() for word in words)
        always = (
            token
            for token, letters in enumerate(spelling)
            if any(
                word in letters and any(_begins(letters[:at]) for at in _places(word, letters) if at)
                for word in encoded
            )
        )
        return cls(spelling, encoded, tuple(always), tuple(sorted(range(len(spelling)), key=spelling.__getitem__)))

    def forbid(self, logits_RV: Tensor, history_RT: Tensor) -> None:
        """Set the logits of tokens that would complete a banned word to minus infinity, in place."""
        reach = max(map(len, self.words)) + LONGEST_LETTER
        logits_RV[:, list(self.always)] = -torch.inf
        for row, tokens in enumerate(history_RT[:, -reach:].tolist()):
            logits_RV[row, self.after(b"".join(self.spelling[token] for token in tokens))] = -torch.inf

    def after(self, written: bytes) -> list[int]:
        """The tokens that, after what is written, complete a word that has begun there or begins now."""
        return [
            token
            for word in self.words
            for begun in range(min(len(word), len(written) + 1))
            if written.endswith(word[:begun]) and _begins(written[: len(written) - begun])
            for token in self._beginning(word[begun:])
        ]

    def _beginning(self, letters: bytes) -> Sequence[int]:
        """All tokens that begin with these letters."""
        first = bisect_left(self.order, letters, key=self.spelling.__getitem__)
        last = bisect_left(self.order, True, lo=first, key=lambda token: not self.spelling[token].startswith(letters))
        return self.order[first:last]


def _places(word: bytes, letters: bytes) -> list[int]:
    return [at for at in range(len(letters)) if letters.startswith(word, at)]


def _begins(before: bytes) -> bool:
    """Whether a word begins after this."""
    return not before[-LONGEST_LETTER:].decode("utf-8", "replace")[-1:].isalnum()
