"""A vocabulary that grows: the pieces of a model, and new ones learned from other text.

BPE's merging continues where it ended: the new text is cut into the pieces there are, and the most frequent pair of
neighbours becomes a piece, again and again. So every old piece stays, and every new piece is made of old ones, from
whose mean its embedding starts (train/fine_tuning.py).
"""

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from regard.errors import UserError
from regard.text import subword_file
from regard.text.subword_file import LONGEST_PIECE, MARK, STAND_IN
from regard.text.subwords import Subwords
from regard.text.vocabulary_size import COVERED
from regard.text.word_vocabulary import Words

LEAST = 2  # occurrences from which a pair becomes a piece
_NO_PIECE = re.compile(f"[\\s\0{MARK}\u2585{STAND_IN}\ud800-\udfff]")
_DIGIT = re.compile(r"\d")  # numbers are copied digit by digit

Pair = tuple[str, str]


def grown(subwords: Subwords, sentences: Iterable[str], count: int, tags: Sequence[str] = ()) -> Subwords:
    """Return the subwords with at most `count` more, learned from normalised sentences, and with more tags."""
    if isinstance(subwords, Words) or subwords.imported:
        raise UserError("--grow is for subwords that regard has learned; this model has words or another program's")
    words = Counter(word for sentence in sentences for word in sentence.split(" ") if word)
    letters = _letters(words, subwords)[:count]
    more = [tag for tag in tags if tag not in (*subwords.tags, *subwords.reserved)]
    lowest = min(subwords.scores.values())
    base = _extended(subwords, more, letters, lowest, words)
    merges = list(_merges(base, words, count - len(letters)))
    return _extended(base, (), merges, min(base.scores.values()), words)


def _extended(
    subwords: Subwords, tags: Sequence[str], pieces: list[tuple[str, int]], lowest: float, words: Counter[str]
) -> Subwords:
    """Return the subwords with more tags and pieces, which come with the number of times they occur.

    BPE merges in the order of scores, so a new piece gets a lower one than all before it; unigram's are logarithms of
    probabilities.
    """
    total = sum(map(len, words)) + 1
    scores = [
        lowest - 1 - number if subwords.kind == "bpe" else math.log(times / total)
        for number, (_, times) in enumerate(pieces)
    ]
    new = [(name, score) for (name, _), score in zip(pieces, scores, strict=True)]
    return Subwords.from_bytes(subword_file.extended(subwords.content, tags, new), "the grown subwords")


def _letters(words: Counter[str], subwords: Subwords) -> list[tuple[str, int]]:
    """Return the letters that are no pieces yet, most frequent first, without the rarest of all letters."""
    letters: Counter[str] = Counter()
    for word, times in words.items():
        for letter in word:
            letters[letter] += times
    wanted, seen = COVERED * letters.total(), 0
    found = []
    for letter, times in sorted(letters.items(), key=lambda one: (-one[1], one[0])):
        if seen >= wanted:
            break
        seen += times
        if letter not in subwords.scores and not _NO_PIECE.match(letter):
            found.append((letter, times))
    return found


def _merges(subwords: Subwords, words: Counter[str], count: int) -> Iterator[tuple[str, int]]:
    """Yield pairs of neighbouring pieces that become one, most frequent first, with the number of their occurrences."""
    known = set(subwords.scores)
    order = sorted(words)
    texts = [subwords.pieces(ids) for ids in subwords.encode(order)]
    times = [words[word] for word in order]
    counts: Counter[Pair] = Counter()
    where: dict[Pair, set[int]] = defaultdict(set)
    for number, text in enumerate(texts):
        for pair in pairwise(text):
            counts[pair] += times[number]
            where[pair].add(number)
    queue = [(-found, pair) for pair, found in counts.items()]
    heapq.heapify(queue)
    made = 0
    while queue and made < count:
        found, pair = heapq.heappop(queue)
        if -found != counts[pair]:  # the count has changed since it was queued
            if counts[pair] >= LEAST:
                heapq.heappush(queue, (-counts[pair], pair))
            continue
        piece = "".join(pair)
        if -found < LEAST or piece in known or not _may_join(pair, subwords):
            continue
        known.add(piece)
        made += 1
        yield piece, -found
        for number in sorted(where.pop(pair)):
            for changed in _join(texts[number], pair, times[number], counts):
                where[changed].add(number)
                heapq.heappush(queue, (-counts[changed], changed))


def _may_join(pair: Pair, subwords: Subwords) -> bool:
    piece = "".join(pair)
    bytes_ = any(name not in subwords.scores and name in subword_file.BYTES for name in pair)
    return not bytes_ and len(piece) <= LONGEST_PIECE and not _DIGIT.search(piece) and MARK not in piece[1:]


def _join(text: list[str], pair: Pair, times: int, counts: Counter[Pair]) -> set[Pair]:
    """Join the pair wherever it occurs in a word, keep the counts of pairs right, and return the pairs that are new."""
    before = Counter(pairwise(text))
    at = 0
    while at < len(text) - 1:
        if (text[at], text[at + 1]) == pair:
            text[at : at + 2] = ["".join(pair)]
        at += 1
    after = Counter(pairwise(text))
    for one in before.keys() | after.keys():
        counts[one] += times * (after[one] - before[one])
    return after.keys() - before.keys()
