"""Denoising as a task for text in one language: spans of tokens are left out, and the model writes them (T5).

Raffel et al., 2020, section 3.1.4: 15 % of the tokens in spans of 3 on average. A reserved token stands for each span
in the source; the target is each of these tokens followed by what it stands for. Spans are drawn anew at each visit.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

from regard.config.data import CorpusConfig, PrepareConfig
from regard.data.corpus import CHUNK_BYTES, CHUNK_LINES, Corpus
from regard.data.lines import Lines
from regard.data.raw_pairs import LineSettings, RawChunk
from regard.errors import UserError
from regard.text.subwords import Subwords

DENSITY = 0.15  # share of the tokens that are left out
MEAN_SPAN = 3.0  # mean tokens of a span
SENTINELS = tuple(f"<span:{number}>" for number in range(32))  # enough for 640 tokens
TAGS = (*SENTINELS, "<bt>")  # <bt> is for back-translations in a later fine-tuning


class PlainText(Corpus):
    """One file of text while it is read: each line is both sides of a pair."""

    def __init__(self, config: CorpusConfig, prepare: PrepareConfig) -> None:
        if len(config.files) != 1:
            raise UserError(f"{' '.join(config.files)}: text to denoise is one file; name each by itself")
        super().__init__(config, LineSettings(config.files * 2, skip_invalid=prepare.skip_invalid))

    def chunks(self) -> Iterator[RawChunk]:
        waiting: list[bytes] = []
        first = size = 1
        with Lines(self.config.files[0], skip_invalid=self.reading.skip_invalid, skippable=True) as file:
            for lines in file:
                waiting += lines
                size += 2 * sum(map(len, lines))
                if size >= CHUNK_BYTES or len(waiting) >= CHUNK_LINES:
                    self.position = file.position()
                    yield RawChunk("parallel", first, len(waiting), (b"\n".join(waiting),) * 2)
                    first, waiting, size = first + len(waiting), [], 0
            self.position = file.position()
            self.warnings += [] if file.broken is None else [f"{file.name}: {file.broken}"]
        if waiting:
            yield RawChunk("parallel", first, len(waiting), (b"\n".join(waiting),) * 2)


class SpanCorruption:
    """Leave spans out of the ids of a text."""

    def __init__(self, subwords: Subwords) -> None:
        self.sentinels = [subwords.tag(name) for name in SENTINELS]
        self._tags = frozenset(subwords.tag(name) for name in subwords.tags)

    def __call__(self, ids: Sequence[int], dice: random.Random) -> tuple[list[int], list[int]]:
        """Return the ids with spans left out, and the target with the spans. Tags before the text stay."""
        start = next((at for at, number in enumerate(ids) if number not in self._tags), len(ids))
        source, text = list(ids[:start]), list(ids[start:])
        target: list[int] = []
        at = 0
        for sentinel, (kept, left_out) in zip(self.sentinels, _spans(len(text), dice), strict=False):
            source += [*text[at : at + kept], sentinel]
            target += [sentinel, *text[at + kept : at + kept + left_out]]
            at += kept + left_out
        return source + text[at:], target


def _spans(length: int, dice: random.Random) -> list[tuple[int, int]]:
    """Return how many tokens are kept and then left out, again and again; the tokens after the last span are kept.

    Unlike T5, which cuts documents, this cuts sentences: a span may be at either end, and not always at the last.
    """
    noise = max(1, round(DENSITY * length))
    count = min(max(1, round(noise / MEAN_SPAN)), length - noise + 1, len(SENTINELS))
    kept = _parts(length - noise + 2, count + 1, dice)  # two more: one each for the ends, which may have none
    kept[0] -= 1
    return list(zip(kept, _parts(noise, count, dice), strict=False))


def _parts(total: int, count: int, dice: random.Random) -> list[int]:
    """Divide `total` into so many parts of at least 1, all divisions alike probable."""
    cuts = [0, *sorted(dice.sample(range(1, total), count - 1)), total]
    return [end - begin for begin, end in pairwise(cuts)]
