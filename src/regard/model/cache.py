"""Key-value cache of a decoder, as an immutable value; copies share memory while that is safe.

Shapes: B sentences, R rows, H heads, S positions, K = d_k, V = d_v.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor

FIRST_CAPACITY = 16  # initial capacity of a cache in positions; it doubles when it is used up


class KeyValue(NamedTuple):
    """The keys and values of some positions, split into heads."""

    key_BHSK: Tensor
    value_BHSV: Tensor

    def select(self, rows: Tensor) -> "KeyValue":
        return KeyValue(self.key_BHSK.index_select(0, rows), self.value_BHSV.index_select(0, rows))


@dataclass
class _Buffer:
    """Tensors with capacity for more positions than are filled."""

    key_BHRK: Tensor
    value_BHRV: Tensor
    filled: int


@dataclass(frozen=True)
class Cache:
    """The keys and values so far; appending returns a new cache and leaves the old one unchanged.

    As with a slice that grows in place, the two share memory as long as only one of them has been appended to; a second
    append to the same cache copies first. So decoding step by step copies nothing, and branching is still correct.
    """

    buffer: _Buffer | None = None
    length: int = 0

    def append(self, new: KeyValue) -> Self:
        length = self.length + new.key_BHSK.shape[2]
        buffer = self.buffer
        if buffer is None or buffer.filled != self.length or length > buffer.key_BHRK.shape[2]:
            buffer = self._copy(new, max(FIRST_CAPACITY, 2 * length))
        buffer.key_BHRK.narrow(2, self.length, length - self.length).copy_(new.key_BHSK)
        buffer.value_BHRV.narrow(2, self.length, length - self.length).copy_(new.value_BHSV)
        buffer.filled = length
        return type(self)(buffer, length)

    def _copy(self, like: KeyValue, positions: int) -> _Buffer:
        B, H, _, K = like.key_BHSK.shape
        V = like.value_BHSV.shape[-1]
        buffer = _Buffer(
            like.key_BHSK.new_empty(B, H, positions, K), like.value_BHSV.new_empty(B, H, positions, V), self.length
        )
        if self.buffer is not None:
            buffer.key_BHRK[:, :, : self.length] = self.buffer.key_BHRK[:, :, : self.length]
            buffer.value_BHRV[:, :, : self.length] = self.buffer.value_BHRV[:, :, : self.length]
        return buffer

    @property
    def content(self) -> KeyValue:
        assert self.buffer is not None, "an empty cache has no content"
        key_BHRK, value_BHRV = self.buffer.key_BHRK, self.buffer.value_BHRV
        return KeyValue(key_BHRK.narrow(2, 0, self.length), value_BHRV.narrow(2, 0, self.length))

    def select(self, rows: Tensor) -> Self:
        if self.buffer is None:
            return self
        key_BHRK = self.buffer.key_BHRK.index_select(0, rows)
        value_BHRV = self.buffer.value_BHRV.index_select(0, rows)
        return type(self)(_Buffer(key_BHRK, value_BHRV, self.length), self.length)

    def first(self, length: int) -> Self:
        """Return the cache of the first `length` positions.

        Do not append to this one afterwards: both write to the same later positions.
        """
        assert 0 <= length <= self.length
        if self.buffer is not None and self.buffer.filled == self.length:
            self.buffer.filled = length
        return type(self)(self.buffer, length)


@dataclass(frozen=True)
class Joined(Cache):
    """A cache that shares no memory, for a target read in one pass with gradients and for compiled graphs."""

    pair: KeyValue | None = None

    @classmethod
    def of(cls, pair: KeyValue) -> Self:
        return cls(None, pair.key_BHSK.shape[2], pair)

    def append(self, new: KeyValue) -> Self:
        if self.pair is None:
            return type(self).of(new)
        return type(self).of(KeyValue(*(torch.cat(both, dim=2) for both in zip(self.pair, new, strict=True))))

    @property
    def content(self) -> KeyValue:
        assert self.pair is not None, "an empty cache has no content"
        return self.pair

    def select(self, rows: Tensor) -> Self:
        return self if self.pair is None else type(self).of(self.pair.select(rows))


@dataclass(frozen=True)
class Recent(Cache):
    """A cache of the last positions only, for attention restricted to neighbours: O(1) a step."""

    keep: int = 0
    """Number of positions before the next one that it can attend to."""
    pair: KeyValue | None = None

    def append(self, new: KeyValue) -> Self:
        length = self.length + new.key_BHSK.shape[2]
        if self.pair is None:
            return type(self)(None, length, self.keep, new)
        first = max(0, self.pair.key_BHSK.shape[2] - self.keep)
        old = (part[:, :, first:] for part in self.pair)
        joined = KeyValue(*(torch.cat(both, dim=2) for both in zip(old, new, strict=True)))
        return type(self)(None, length, self.keep, joined)

    @property
    def content(self) -> KeyValue:
        assert self.pair is not None, "an empty cache has no content"
        return self.pair

    def select(self, rows: Tensor) -> Self:
        return self if self.pair is None else type(self)(None, self.length, self.keep, self.pair.select(rows))

    def first(self, length: int) -> Self:
        raise NotImplementedError("what has left the neighbourhood can't be taken back")


def sources_of(source_R: Tensor) -> tuple[Tensor, int]:
    """Return the distinct sources of rows that are grouped by source, and the number of rows of each.

    If the groups differ in size, each row counts as a source of its own.
    """
    runs = 1 + int((source_R[1:] != source_R[:-1]).sum())
    beams = max(1, len(source_R) // runs)
    source_B = source_R[::beams]
    alike = torch.equal(source_B.repeat_interleave(beams), source_R)
    return (source_B, beams) if alike else (source_R, 1)
