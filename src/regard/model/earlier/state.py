"""The state of decoders that keep a few positions per layer, and the source tensors that beams share.

Shapes: B sources, R = B·K rows if each has K, T target positions, P positions before them, D features.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from regard.model.cache import sources_of


@dataclass(frozen=True)
class Shared:
    """Tensors with one row per source, for a search whose rows are grouped by source, equally many for each.

    So reordering the beams of a sentence copies nothing of its source.
    """

    tensors: tuple[Tensor, ...]
    beams: int = 1
    """Number of rows per source."""

    def select(self, rows: Tensor) -> Self:
        sources, beams = sources_of(rows // self.beams)
        tensors = self.tensors
        if not torch.equal(sources, torch.arange(len(tensors[0]), device=sources.device)):
            tensors = tuple(tensor.index_select(0, sources) for tensor in tensors)
        return type(self)(tensors, beams)

    def by_source(self, x_RTD: Tensor) -> Tensor:
        """Return the rows of each source as positions of one row: B, K·T, D."""
        return x_RTD.reshape(len(self.tensors[0]), -1, x_RTD.shape[2])


@dataclass(frozen=True)
class PastState:
    """The state of a decoder whose layers each look back at a few positions."""

    pasts: tuple[Tensor, ...]
    """The last positions of each layer: R, P, D."""
    source: Shared
    length: int = 0

    def select(self, rows: Tensor) -> Self:
        pasts = tuple(past_RPD.index_select(0, rows) for past_RPD in self.pasts)
        return type(self)(pasts, self.source.select(rows), self.length)

    def after(self, pasts: list[Tensor], positions: int) -> Self:
        """Return the state after further positions."""
        return type(self)(tuple(pasts), self.source, self.length + positions)
