"""What the rows of a search that continue the same source share, and what each row has of its own.

Shapes: B sources, R = B·K rows if each has K, T target positions, P positions before them, D features.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


def sources_of(source_R: Tensor) -> tuple[Tensor, int]:
    """The sources to keep if these are the sources of the rows, and for how many rows each."""
    runs = 1 + int((source_R[1:] != source_R[:-1]).sum())
    beams = max(1, len(source_R) // runs)
    source_B = source_R[::beams]
    alike = torch.equal(source_B.repeat_interleave(beams), source_R)
    return (source_B, beams) if alike else (source_R, 1)


@dataclass(frozen=True)
class Shared:
    """What is known of each source, once: rows that continue the same source stand side by side, as many for each.

    So what reorders the beams of a sentence copies nothing of its source.
    """

    tensors: tuple[Tensor, ...]
    """Each has a row for each source."""
    beams: int = 1
    """Rows for each source."""

    def select(self, rows: Tensor) -> Self:
        sources, beams = sources_of(rows // self.beams)
        tensors = self.tensors
        if not torch.equal(sources, torch.arange(len(tensors[0]), device=sources.device)):
            tensors = tuple(tensor.index_select(0, sources) for tensor in tensors)
        return type(self)(tensors, beams)

    def by_source(self, x_RTD: Tensor) -> Tensor:
        """Rows of one source as if they were further positions of one row: B, K·T, D."""
        return x_RTD.reshape(len(self.tensors[0]), -1, x_RTD.shape[2])


@dataclass(frozen=True)
class PastState:
    """The state of a decoder whose layers each remember some positions before the next."""

    pasts: tuple[Tensor, ...]
    """Of each layer: R, P, D."""
    source: Shared
    length: int = 0

    def select(self, rows: Tensor) -> Self:
        pasts = tuple(past_RPD.index_select(0, rows) for past_RPD in self.pasts)
        return type(self)(pasts, self.source.select(rows), self.length)

    def after(self, pasts: list[Tensor], positions: int) -> Self:
        """So many positions later."""
        return type(self)(tuple(pasts), self.source, self.length + positions)
