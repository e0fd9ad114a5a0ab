"""Micro-batches: the parts of a batch that are computed one after the other, and passes for sampled targets."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.config.train import TrainConfig
from regard.data.batches import Batch
from regard.model.seq2seq import Seq2Seq
from regard.train.objective.reward import draw_candidates

PART = 1 << 11  # tokens a side in a micro-batch on a CPU: enough to keep matrix products efficient, little memory


@dataclass(frozen=True)
class MicroBatch:
    """A batch or a part of one."""

    source_BS: Tensor
    target_BT: Tensor
    share: float = 1.0
    """Weight in all sums: 0 for a pass that is made only because other processes need one."""
    factor: float = 1.0
    """Weight in the loss alone."""
    weight_B: Tensor | None = None
    """For samples, the weight of each sentence; the pass then counts only by its gradient."""
    reward: float = 0.0
    """The sum over sentences of the mean reward of their samples."""


def micro_batches(batch: Batch, device: torch.device, at_least: int | None = None) -> list[MicroBatch]:
    """Split a batch into micro-batches; on a GPU it stays whole.

    `at_least`: add passes without weight, up to as many as a batch of so many tokens has.
    """
    if device.type != "cpu":
        return [MicroBatch(batch.source_BS, batch.target_BT)]
    positions = max(batch.source_BS.numel(), batch.target_BT[:, 1:].numel())
    parts = [MicroBatch(*tensors) for tensors in batch.parts(_passes(positions))]
    if at_least is not None:
        parts += [replace(parts[-1], share=0.0)] * (_passes(at_least) - len(parts))
    return parts


def with_samples(
    parts: Sequence[tuple[int, MicroBatch]],
    model: Seq2Seq,
    config: TrainConfig,
    position_limit: int | None,
    device: torch.device,
) -> list[tuple[int, MicroBatch]]:
    """Add passes for samples to each micro-batch, drawn with the weights as they are and without dropout.

    Each micro-batch comes with its seed.
    """
    mixed: list[tuple[int, MicroBatch]] = []
    model.eval()
    for seed, part in parts:
        drawn = draw_candidates(
            model,
            part.source_BS.to(device),
            part.target_BT,
            config.samples,
            seed,
            None if position_limit is None else position_limit - 1,  # BOS is read, too
        )
        mixed.append((seed, replace(part, factor=config.likelihood_weight, reward=drawn.reward)))
        for k, (target_BT, weight_B) in enumerate(zip(drawn.targets, drawn.advantages, strict=True)):
            if weight_B.any():
                mixed.append((step_seed(seed, k), MicroBatch(part.source_BS, target_BT, weight_B=weight_B)))
    model.train()
    return mixed


def _passes(tokens: int) -> int:
    """Return the number of micro-batches for a batch of so many tokens a side on a CPU."""
    return -(-tokens // PART)


def step_seed(*place: int) -> int:
    """Return a seed that is a function of a position in the run."""
    return int.from_bytes(hashlib.blake2b(repr(place).encode(), digest_size=8).digest(), "little") >> 1
