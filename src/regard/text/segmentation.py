"""Random segmentations of a text into subwords, from the ids of its usual segmentation.

BPE dropout (Provilkov et al., 2020, algorithm 1): at every step of the merging, each possible merge is left out with
probability p. Unigram sampling (Kudo, 2018): a segmentation is drawn with a probability proportional to P(x)^α.

Pieces never reach over a space, so each word is segmented by itself. Reserved tokens, bytes and what can't be divided
stay. Sentencepiece has both, too, but its random generator can't be set again, so what it draws can't be repeated.
"""

import math
import random
from collections.abc import Sequence
from functools import cached_property

from regard.errors import UserError
from regard.text.subword_file import LONGEST_PIECE, MARK
from regard.text.subwords import Subwords
from regard.text.word_vocabulary import Words


class Segmenter:
    """Draw segmentations of texts that a vocabulary has encoded."""

    def __init__(self, subwords: Subwords, rate: float) -> None:
        """Draw with dropout `rate` if the subwords are BPE; for unigram, it is the exponent α."""
        if isinstance(subwords, Words):
            raise UserError("train.subword_sampling divides subwords, and this vocabulary has words; leave it out")
        if subwords.kind == "bpe" and rate >= 1:
            raise UserError("train.subword_sampling is the probability to leave out a merge, below 1; make it smaller")
        self._subwords, self._rate = subwords, rate
        self._draw = self._bpe if subwords.kind == "bpe" else self._unigram

    @cached_property
    def _scores(self) -> dict[str, float]:
        """The score of every piece that text is made of."""
        return self._subwords.scores

    @cached_property
    def _numbers(self) -> dict[str, int]:
        names = self._subwords.pieces(range(self._subwords.size))
        return {name: number for number, name in enumerate(names) if name in self._scores}

    def __call__(self, ids: Sequence[int], dice: random.Random) -> list[int]:
        """Return other ids of the same text; the same ones for the same state of the dice."""
        found: list[int] = []
        word: list[str] = []
        for number, name in zip(ids, self._subwords.pieces(ids), strict=True):
            if name not in self._scores:  # reserved, or a byte
                found += self._drawn(word, dice)
                found.append(number)
                word = []
                continue
            if name.startswith(MARK):
                found += self._drawn(word, dice)
                word = []
            word.append(name)
        return found + self._drawn(word, dice)

    def _drawn(self, word: list[str], dice: random.Random) -> list[int]:
        """Return the ids of a word, segmented anew; as it is if a letter is no piece of its own."""
        letters = "".join(word)
        if len(letters) < 2 or not all(letter in self._scores for letter in letters):
            return [self._numbers[name] for name in word]
        return [self._numbers[name] for name in self._draw(letters, dice)]

    def _bpe(self, letters: str, dice: random.Random) -> list[str]:
        """Merge the best pair that is not left out, until all pairs are left out or none is a piece."""
        pieces, scores, rate, draw = list(letters), self._scores, self._rate, dice.random
        while True:
            best, place = -math.inf, -1
            for at in range(len(pieces) - 1):
                score = scores.get(pieces[at] + pieces[at + 1])
                if score is not None and draw() >= rate and score > best:
                    best, place = score, at
            if place < 0:
                return pieces
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]

    def _unigram(self, letters: str, dice: random.Random) -> list[str]:
        """Sum over all segmentations from the left, then draw pieces from the right."""
        sums = [0.0]  # the logarithm of Σ P(x)^α over all segmentations of the first letters
        ways: list[list[tuple[int, float]]] = [[]]
        for end in range(1, len(letters) + 1):
            here = [
                (start, sums[start] + self._rate * self._scores[letters[start:end]])
                for start in range(max(0, end - LONGEST_PIECE), end)
                if letters[start:end] in self._scores
            ]
            top = max(value for _, value in here)
            sums.append(top + math.log(math.fsum(math.exp(value - top) for _, value in here)))
            ways.append(here)
        pieces: list[str] = []
        end = len(letters)
        while end:
            point = dice.random()
            shares = ((start, math.exp(value - sums[end])) for start, value in ways[end])
            start = next((start for start, share in shares if (point := point - share) < 0), ways[end][-1][0])
            pieces.append(letters[start:end])
            end = start
        return pieces[::-1]
