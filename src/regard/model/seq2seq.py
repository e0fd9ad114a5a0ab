"""The interface of every model, so that training, search, evaluation, serving and plots are written once.

Shapes: B sentences, S source positions, T target positions, D = d_model, V vocabulary, H heads.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self, runtime_checkable

import torch
from torch import Tensor, nn

from regard.model.kernels.linear import Packed, linear


@dataclass(frozen=True)
class Memory:
    """The encoder's output."""

    encoded_BSD: Tensor
    mask_BS: Tensor
    """True where there is a token."""
    penalty: Tensor | None = field(default=None, kw_only=True)
    """Added to the loss in training, for the encoder; see `features_and_penalty`."""


@dataclass(frozen=True)
class Attentions:
    """The attention weights of every layer, in order, each B, H, T, S; empty for a kind that the model lacks."""

    encoder: tuple[Tensor, ...]
    decoder: tuple[Tensor, ...]
    cross: tuple[Tensor, ...]

    def over_source(self, layer: int | None = None) -> Tensor | None:
        """Return the mean of the heads of one layer over the source, B, T, S; None for a model without such attention.

        The layer is by default the last but one, by which words are aligned best (Garg et al., 2019, "Jointly Learning
        to Align and Translate with Transformer Models").
        """
        if not self.cross:
            return None
        return self.cross[max(0, len(self.cross) - 2) if layer is None else layer].mean(1)


@dataclass(frozen=True)
class LossInput:
    """The input of the loss: the features of a batch, and the expected token of each."""

    features: Tensor
    """(…, D)."""
    expected: Tensor
    """(…); PAD where no token is expected."""
    penalty: Tensor | None = None
    """Number that training adds to the loss of each token; see `features_and_penalty`."""
    share: float = 1.0
    """Factor of the loss, for a model with several heads, each of which expects a token at every position."""


def total(*penalties: Tensor | None) -> Tensor | None:
    """Return the sum of those penalties that are not None; None if all are."""
    there = [penalty for penalty in penalties if penalty is not None]
    return torch.stack(there).sum() if there else None


class DecoderState(Protocol):
    """The state of a decoder, an immutable value: advancing returns a new state."""

    @property
    def length(self) -> int:
        """Return the number of target positions so far."""

    def select(self, rows: Tensor) -> Self:
        """Return the state of these rows: repeated for beams, reordered, or without finished rows."""


class RevocableState(DecoderState, Protocol):
    """A state whose last positions can be taken back."""

    def first(self, length: int) -> Self:
        """Return the state after the first `length` positions. Do not advance this one afterwards."""


class Layer(nn.Module):
    """A layer of an encoder or decoder: the unit that sharded training (FSDP) keeps sharded until it is used."""

    uses_weights: ClassVar[tuple[str, ...]] = ()
    """Methods besides `forward` that use the layer's weights, for which FSDP must gather them."""


class Seq2Seq(nn.Module):
    """A sequence-to-sequence model.

    Source rows are token ids, ended by EOS, then padding; target rows begin with BOS, then padding on the right.
    """

    packed: Packed | None = None
    """Packed copy of the projection, in a model that is not trained."""

    @abstractmethod
    def encode(self, source_BS: Tensor) -> Memory:
        """Return the encoder's output for the source."""

    @abstractmethod
    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Return the decoder's output before the projection, B, T, D. Position i depends on targets up to i."""

    def features_and_penalty(self, source_BS: Tensor, target_BT: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the features, and the penalty that training adds to the loss of each token, as for experts.

        The penalty is a differentiable number; None if the model has none or is not in training.
        """
        return self.features(source_BS, target_BT), None

    def loss_input(self, source_BS: Tensor, target_BT: Tensor) -> LossInput:
        """Return the input of the loss for whole targets, BOS and EOS included.

        Each token is predicted from those before it.
        """
        features_BTD, penalty = self.features_and_penalty(source_BS, target_BT[:, :-1])
        return LossInput(features_BTD, target_BT[:, 1:], penalty)

    @property
    @abstractmethod
    def projection_VD(self) -> Tensor:
        """Return the matrix from features to the vocabulary (the tied embedding, section 3.4)."""

    @property
    def vocabulary(self) -> int:
        """Return the size of the target vocabulary."""
        return len(self.projection_VD)

    def logits(self, features: Tensor) -> Tensor:
        """Return the logits over the vocabulary."""
        return linear(features, self.projection_VD, packed=self.packed)

    @abstractmethod
    def start(self, memory: Memory, max_length: int) -> DecoderState:
        """Return the state before the first target token. At most `max_length` tokens will follow."""

    @abstractmethod
    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Return the logits after each of T >= 1 further target tokens, and the new state.

        The tokens may be a prefix, the one just chosen, or a block to verify.
        """

    def deterministic_in_threads(self, precision: str) -> bool:
        """Return whether two threads that run micro-batches in parallel in training give the same bits every time."""
        return True

    @abstractmethod
    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        """Return all attention weights of one pass."""


@runtime_checkable
class BlockProposer(Protocol):
    """A model whose heads propose the tokens after the next one, for blockwise decoding (Stern et al., 2018)."""

    def decoded(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, RevocableState]:
        """Return the features of T further positions and the new state: `advance` before its logits."""

    def proposed(self, features_BD: Tensor, next_B: Tensor, state: DecoderState) -> Tensor:
        """Return the tokens that the heads propose after `next_B`, the token chosen at these features: B, K.

        The state is any of the search for these sentences.
        """

    def rounded_logits(self, features_TD: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits that may be rounded, T, V, and a bound on the error of those at each position, T.

        The bound is 0 where they are exact.
        """

    def logits_of(self, features_TD: Tensor, tokens_TC: Tensor) -> Tensor:
        """Return the exact logits of some tokens at each position: T, C."""
