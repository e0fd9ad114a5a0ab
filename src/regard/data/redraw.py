"""New segmentations of the texts of a batch, as a pure function of the seed and the batch's position."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from regard.data.batches import Ids, Position
from regard.data.prepared import Prepared
from regard.text.segmentation import Segmenter
from regard.text.subwords import Subwords


@dataclass
class Redraw:
    """Segment a text anew: other subwords at every visit, the same ones when a run resumes."""

    sides: tuple[Segmenter | None, Segmenter | None]
    """Of the source and the target; None leaves texts as they are: the symbols of trees can't be divided."""
    seed: int
    _dice: random.Random = field(default_factory=random.Random)

    @classmethod
    def of(cls, data: Prepared, rate: float, seed: int) -> "Redraw":
        source = Segmenter(data.source_subwords, rate)
        target = data.target_subwords
        return cls((source, Segmenter(target, rate) if isinstance(target, Subwords) else None), seed)

    def __call__(self, position: Position, row: int, side: int, ids: Ids) -> Sequence[int]:
        segmenter = self.sides[side]
        if segmenter is None:
            return ids.tolist()
        self._dice.seed(f"{self.seed} {position.epoch} {position.window} {position.batch} {row} {side}")
        return segmenter(ids.tolist(), self._dice)
