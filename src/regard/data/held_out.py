"""Split off validation and test pairs from the training text by source sentence, between the two passes.

A sentence and all its translations go to the same split, so that no source of a validation or test pair was trained on.
Which ones is decided by a hash of the sentence: it does not depend on the order of the pairs.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.config.data import PrepareConfig
from regard.data.passes.first_pass import SpooledText, SpooledTexts
from regard.data.passes.spool import Frame, Spool, read_frame
from regard.errors import UserError
from regard.text.filters import SPLIT_OFF

VALID_MOST, TEST_MOST = 500, 1000
SHARE, SMALL_SHARE, SMALL = 20, 10, 50  # one in 20 pairs; of a small corpus one in 10, but not more than 50
SPARE = 4  # hashes kept per wanted pair
HASHES = 1 << 64

Pairs = list[tuple[str, str]]


class _Choice(NamedTuple):
    """The hashes of the sentences of the test and of the validation set."""

    test: set[int]
    valid: set[int]


def share(pairs: int, most: int) -> int:
    """Return how many of so many pairs to split off."""
    return min(most, max(pairs // SHARE, min(pairs // SMALL_SHARE, SMALL)))


def split_off(texts: SpooledTexts, config: PrepareConfig, raw_valid: Path, raw_test: Path) -> SpooledTexts:
    """Move pairs from the training texts to a validation and a test set, and write these to the raw files.

    How many is what the config says; None is a share of the pairs.
    """
    total = sum(text.count() for text in texts.train)
    valid, test = (
        share(total, most) if wanted is None else wanted
        for wanted, most in ((0 if texts.valid else config.valid_pairs, VALID_MOST), (config.test_pairs, TEST_MOST))
    )
    if valid + test > total // 2:
        raise UserError(
            f"{valid + test:,} of {total:,} pairs are to be split off for validation and testing; "
            "split off fewer, or give more text"
        )
    if not valid + test:
        return texts
    chosen = _choose(texts, test, valid)
    validation: list[SpooledText] = []
    with closing(Spool(texts.spool, append=True)) as spool:
        for text in texts.train:
            tested, validated = _take(texts.spool, text, chosen)
            _write(raw_test, tested, text.config.tag)
            if validated:
                _write(raw_valid, validated, text.config.tag)
                source, target = ("\n".join(side).encode() for side in zip(*validated, strict=True))
                frames = [spool.add(source, target, len(validated))]
                validation.append(SpooledText(text.config, frames, read=len(validated)))
    return replace(texts, valid=[*texts.valid, *validation])


def _choose(texts: SpooledTexts, test: int, valid: int) -> _Choice:
    """Choose sentences for at least so many pairs. Only hashes below a bound are kept, so that memory stays small."""
    total = sum(text.count() for text in texts.train)
    bound = min(HASHES, SPARE * (test + valid) * HASHES // total)
    counts = Counter(
        number
        for text in texts.train
        for frame, rows in _rows(text)
        for number in _hashes(texts.spool, frame, rows)
        if number < bound
    )
    order = sorted(counts)
    choice = _Choice(set(), set())
    for chosen, wanted in ((choice.test, test), (choice.valid, valid)):
        most, have = max(3, wanted // 10), 0  # a sentence with very many translations would be most of a small set
        while order and have < wanted:
            number = order.pop(0)
            if counts[number] <= most:
                chosen.add(number)
                have += counts[number]
    return choice


def _rows(text: SpooledText) -> Iterator[tuple[Frame, list[int]]]:
    """Yield each frame with the rows of its kept pairs."""
    for frame, kept in text.parts():
        yield frame, list(range(frame.count)) if kept is None else np.flatnonzero(kept).tolist()


def _hashes(spool: Path, frame: Frame, rows: list[int]) -> list[int]:
    sources = read_frame(spool, frame)[0]
    return [sentence_hash(sources[row]) for row in rows]


def sentence_hash(source: str) -> int:
    """Return a number below 2^64 that is the same for sentences that differ only in case, spaces and punctuation."""
    letters = "".join(filter(str.isalnum, source.casefold())) or source
    return int.from_bytes(blake2b(letters.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _take(spool: Path, text: SpooledText, choice: _Choice) -> tuple[Pairs, Pairs]:
    """Return the chosen pairs of a training text, for the test and the validation set, and take them out of it."""
    taken: tuple[Pairs, Pairs] = [], []
    if text.repeated is None:  # nothing is left out so far
        text.first = 0
        text.repeated = bytearray((sum(frame.count for frame in text.frames) + 7) // 8)
    bits = bytearray(text.repeated)
    start = text.first
    for frame, rows in list(_rows(text)):
        sources, targets = read_frame(spool, frame)
        for row in rows:
            number = sentence_hash(sources[row])
            for pairs, chosen in zip(taken, choice, strict=True):
                if number in chosen:
                    pairs.append((sources[row], targets[row]))
                    bits[(start + row) >> 3] |= 1 << ((start + row) & 7)
        start += frame.count
    text.repeated = bits
    text.dropped[SPLIT_OFF] += sum(map(len, taken))
    return taken


def _write(raw: Path, pairs: Pairs, tag: str | None) -> None:
    """Append pairs to a raw file, one JSON object a line."""
    if pairs:
        with raw.open("a", encoding="ascii") as file:
            file.writelines(json.dumps({"source": one, "target": other, "tag": tag}) + "\n" for one, other in pairs)
