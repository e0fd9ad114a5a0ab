"""Compute the losses on the validation set."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from regard.config.run import Config
from regard.config.train import TrainConfig
from regard.data.batches import evaluation_batches
from regard.data.prepared import Prepared
from regard.data.redraw import Redraw
from regard.errors import UserError
from regard.model.seq2seq import Seq2Seq

NOISE = {"bleu": 1.0, "chrf": 15.0}  # a score that is no higher says nothing

Validator = Callable[[Seq2Seq], Mapping[str, float | str]]
"""Return figures of a model by name, possibly with signatures; the first process calls it at every validation."""


def check_validation(config: Config, data: Prepared, validator: Validator | None) -> None:
    """Reject settings that need a validation when there can be none."""
    settings = config.train
    asked = {"bleu": settings.bleu, "patience": settings.patience is not None, "final": settings.final == "best"}
    needing = [f"train.{name}" for name, needs in asked.items() if needs]
    if needing and data.valid is None:
        raise UserError(
            f"{data.directory}: has no validation set, which {needing[0]} needs; prepare the data again with --valid"
        )
    if settings.bleu and validator is None:
        raise UserError("train.bleu needs somebody who translates; give train() a validator that returns bleu")


def score_of(settings: TrainConfig) -> str | None:
    """Return the score by which models are compared, `bleu` or `chrf`; None if only the loss is computed."""
    if settings.best == "chrf":
        return "chrf"
    return "bleu" if settings.bleu else None


def badness(figures: Mapping[str, Any], score: str | None) -> tuple[float, float]:
    """Return a key by which models are sorted, the best first: by `bleu` or `chrf`, or by loss if `score` is None.

    A BLEU below 1 and a chrF below 15 are noise: models that have no more are sorted by loss, as models of equal scores
    are.
    """
    nll = figures.get("nll")
    loss = nll if nll is not None and math.isfinite(nll) else math.inf
    return (0.0 if score is None else -max(figures[score], NOISE[score]), loss)


@torch.no_grad()
def validation_losses(
    objective: nn.Module, data: Prepared, batch_tokens: int, device: torch.device, longest: int | None = None
) -> tuple[float, float]:
    """Return the smoothed loss and the negative log-likelihood, each per token.

    What is drawn at random for each pair, such as the spans to denoise, is the same at every validation.
    """
    assert data.valid is not None
    loss = nll = 0.0
    tokens = 0
    for batch in evaluation_batches(data.valid, batch_tokens, longest=longest, redraw=Redraw.of(data, 0)):
        source_BS, target_BT = batch.source_BS.to(device), batch.target_BT.to(device)
        batch_loss, batch_nll = objective(source_BS, target_BT)
        loss, nll, tokens = loss + batch_loss.item(), nll + batch_nll.item(), tokens + batch.plan.target_tokens
    return loss / tokens, nll / tokens
