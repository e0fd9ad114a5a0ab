"""An ensemble of models, which averages their probabilities at every step.

Shapes: B sentences, S source positions, T target positions, D the sizes of all models' features together, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from regard.errors import UserError
from regard.model.seq2seq import Attentions, DecoderState, Memory, Seq2Seq


@dataclass(frozen=True)
class Memories(Memory):
    """The encoder outputs of all models; the fields of Memory are the first model's."""

    parts: tuple[Memory, ...]


@dataclass(frozen=True)
class States:
    """The decoder states of all models."""

    parts: tuple[DecoderState, ...]

    @property
    def length(self) -> int:
        return self.parts[0].length

    def select(self, rows: Tensor) -> Self:
        return type(self)(tuple(part.select(rows) for part in self.parts))


class Ensemble(Seq2Seq):
    """An ensemble of models of any architecture with one vocabulary. Logits are log probabilities: log Σ p_m / M."""

    def __init__(self, models: Sequence[Seq2Seq]) -> None:
        super().__init__()
        assert models, "an ensemble has at least one model"
        self.models: Sequence[Seq2Seq] = nn.ModuleList(models)  # type: ignore[assignment]  # untyped
        sizes = {len(model.projection_VD) for model in models}
        if len(sizes) > 1:
            raise UserError(
                f"models with vocabularies of {sorted(sizes)} tokens can't be combined; they must share one"
            )
        self.train(any(model.training for model in models))

    def encode(self, source_BS: Tensor) -> Memories:
        parts = tuple(model.encode(source_BS) for model in self.models)
        return Memories(parts[0].encoded_BSD, parts[0].mask_BS, parts)

    def features(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Return the features of all models, concatenated."""
        return torch.cat([model.features(source_BS, target_BT) for model in self.models], dim=-1)

    def logits(self, features: Tensor) -> Tensor:
        sizes = [model.projection_VD.shape[1] for model in self.models]
        parts = torch.split(features, sizes, dim=-1)
        return _mean([model.logits(part) for model, part in zip(self.models, parts, strict=True)])

    @property
    def projection_VD(self) -> Tensor:
        raise NotImplementedError("an ensemble is not one projection; call logits")

    @property
    def vocabulary(self) -> int:
        return self.models[0].vocabulary

    def start(self, memory: Memory, max_length: int) -> States:
        assert isinstance(memory, Memories)
        return States(tuple(m.start(part, max_length) for m, part in zip(self.models, memory.parts, strict=True)))

    def advance(self, tokens_BT: Tensor, state: DecoderState) -> tuple[Tensor, States]:
        assert isinstance(state, States)
        steps = [model.advance(tokens_BT, part) for model, part in zip(self.models, state.parts, strict=True)]
        return _mean([logits for logits, _ in steps]), States(tuple(part for _, part in steps))

    def attentions(self, source_BS: Tensor, target_BT: Tensor) -> Attentions:
        """Return the attentions of the first model: layers and heads of different models do not correspond."""
        return self.models[0].attentions(source_BS, target_BT)


def _mean(logits: list[Tensor]) -> Tensor:
    logs = torch.stack([part.float().log_softmax(dim=-1) for part in logits])
    return logs.logsumexp(dim=0) - math.log(len(logits))
