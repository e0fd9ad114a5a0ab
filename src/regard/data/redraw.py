"""Random changes to a pair each time it is trained on, as a pure function of the seed and the pair's position."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from regard.data.batches import Ids, Position
from regard.data.prepared import Prepared
from regard.data.spans import SpanCorruption
from regard.text.segmentation import Segmenter
from regard.text.subwords import Subwords

Segmenters = tuple[Segmenter, Segmenter | None]


@dataclass
class Redraw:
    """Segment the texts of a pair anew, and leave spans out of a text to denoise.

    It depends on the position alone: at every visit it is another one, and the same one when a run resumes.
    """

    seed: int
    segmenters: Segmenters | None = None
    """Segmenters of source and target; a parser's target has none, since symbols can't be divided."""
    spans: SpanCorruption | None = None
    longest: int | None = None
    """Most tokens of a text; one that would get longer keeps its usual segmentation."""
    _dice: random.Random = field(default_factory=random.Random)

    @classmethod
    def of(cls, data: Prepared, seed: int, rate: float | None = None, longest: int | None = None) -> Self | None:
        """Return what a run on this data draws; None if nothing."""
        source, target = data.source_subwords, data.target_subwords
        spans = SpanCorruption(source) if data.config.task == "denoise" else None
        if rate is None:
            return None if spans is None else cls(seed, spans=spans, longest=longest)
        own = Segmenter(source, rate)
        other = own if target is source else Segmenter(target, rate) if isinstance(target, Subwords) else None
        return cls(seed, (own, other), spans, longest)

    def __call__(self, position: Position, row: int, source: Ids, target: Ids) -> tuple[Sequence[int], Sequence[int]]:
        """Return the ids to train on instead of the pair in this row of the batch at a position."""
        dice = self._dice
        dice.seed(f"{self.seed} {position.epoch} {position.window} {position.batch} {row}")
        sides = source.tolist(), target.tolist()
        if self.segmenters is not None:
            sides = self._segmented(sides[0], 0, dice), self._segmented(sides[1], 1, dice)
        return sides if self.spans is None else self.spans(sides[0], dice)

    def _segmented(self, ids: list[int], side: int, dice: random.Random) -> list[int]:
        assert self.segmenters is not None
        segmenter = self.segmenters[side]
        drawn = ids if segmenter is None else segmenter(ids, dice)
        return ids if self.longest is not None and len(drawn) + 1 > self.longest else drawn
