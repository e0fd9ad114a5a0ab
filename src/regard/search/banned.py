"""Ban words by their spelling, however a search may split them into subwords.

A word is banned where a word begins: at the start, after a space, or after any other character that is not a letter or
digit. So words that begin with it are banned, too: banning "Haus" excludes "Haustür", but not "Krankenhaus".

Spellings are compared as UTF-8, since a rare character may be spelled by its bytes.

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
    """Banned words, and the tokens that would complete one."""

    spelling: Sequence[bytes]
    """Spelling of each token; empty for a reserved one."""
    words: tuple[bytes, ...]
    always: tuple[int, ...]
    """Tokens that contain the beginning of a word followed by a banned word."""
    order: tuple[int, ...]
    """Tokens sorted by their spelling, so that those with a common prefix are adjacent."""

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
        """Return the tokens that, after the text written so far, complete a banned word."""
        return [
            token
            for word in self.words
            for begun in range(min(len(word), len(written) + 1))
            if written.endswith(word[:begun]) and _begins(written[: len(written) - begun])
            for token in self._beginning(word[begun:])
        ]

    def _beginning(self, letters: bytes) -> Sequence[int]:
        """Return all tokens whose spelling begins with these letters."""
        first = bisect_left(self.order, letters, key=self.spelling.__getitem__)
        last = bisect_left(self.order, True, lo=first, key=lambda token: not self.spelling[token].startswith(letters))
        return self.order[first:last]


def _places(word: bytes, letters: bytes) -> list[int]:
    return [at for at in range(len(letters)) if letters.startswith(word, at)]


def _begins(before: bytes) -> bool:
    """Return whether a word can begin after this text."""
    return not before[-LONGEST_LETTER:].decode("utf-8", "replace")[-1:].isalnum()
