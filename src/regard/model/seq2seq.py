"""The contract that every model shares, so that training, search, evaluation, serving and pictures are written once.

Shapes: B sentences, S source positions, T target positions, D = d_model, V vocabulary, H heads.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol, Self

from torch import Tensor, nn

from regard.model.kernels.linear import linear


@dataclass(frozen=True)
class Memory:
    """What the encoder made of the source."""

    encoded_BSD: Tensor
    mask_BS: Tensor
    """True where there is a token."""


@dataclass(frozen=True)
class Attentions:
    """The weights of every layer, in order, each B, H, T, S. A model without a kind of attention has none of it."""

    encoder: tuple[Tensor, ...]
    decoder: tuple[Tensor, ...]
    cross: tuple[Tensor, ...]


class DecoderState(Protocol):
    """How far a decoder has come. A value: advancing returns a new one and leaves the old as it was."""

    @property
    def length(self) -> int:
        """Target positions passed."""

    def select(self, rows: Tensor) -> Self:
        """The state of these rows: repeated for beams, reordered, or with finished rows left out."""


class Seq2Seq(nn.Module):
    """A model from a source sequence to a target sequence.

    Source rows are token ids, ended by EOS, then padding; target rows begin with BOS, then padding on the right.
    """

    @abstractmethod
    def encode(self, source_BS: Tensor) -> Memory:
        """Read the source."""

    @abstractmethod
    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """The decoder's output before the vocabulary, B, T, D. Target position i sees targets up to i."""

    @property
    @abstractmethod
    def projection_VD(self) -> Tensor:
        """The matrix from features to the vocabulary (the tied embedding, section 3.4)."""

    @property
    def vocabulary(self) -> int:
        """How many tokens there are to choose from."""
        return len(self.projection_VD)

    def logits(self, features: Tensor) -> Tensor:
        """Scores over the vocabulary."""
        return linear(features, self.projection_VD)

    @abstractmethod
    def start(self, memory: Memory, max_length: int) -> DecoderState:
        """The state before the first target token. At most `max_length` tokens will follow."""

    @abstractmethod
    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Logits after each of T >= 1 further target tokens, and the new state.

        The tokens may be a prefix, the one just chosen, or a block to verify.
        """

    @abstractmethod
    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        """Every attention weight of one pass, to look at."""
