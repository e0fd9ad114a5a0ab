"""How well a model predicts the validation set, and which figures others add to that."""

from collections.abc import Callable, Mapping

import torch

from regard.config import Config
from regard.data.batches import evaluation_batches
from regard.data.prepared import Prepared, Split
from regard.errors import UserError
from regard.model.seq2seq import Seq2Seq
from regard.train.loss import smoothed_cross_entropy

Validator = Callable[[Seq2Seq], Mapping[str, float | str]]
"""Figures of a model by name, and maybe their signatures; the first process asks for them at every validation."""


def check_validation(config: Config, data: Prepared, validator: Validator | None) -> None:
    """Refuse settings that depend on a validation that could not be made."""
    settings = config.train
    asked = {"bleu": settings.bleu, "patience": settings.patience is not None, "final": settings.final == "best"}
    needing = [f"train.{name}" for name, needs in asked.items() if needs]
    if needing and data.valid is None:
        raise UserError(
            f"{data.directory}: has no validation set, which {needing[0]} needs; prepare the data again with --valid"
        )
    if settings.bleu and validator is None:
        raise UserError("train.bleu needs somebody who translates; give train() a validator that returns bleu")


@torch.no_grad()
def validation_losses(model: Seq2Seq, split: Split, batch_tokens: int, smoothing: float) -> tuple[float, float]:
    """The smoothed loss and the negative log-likelihood, each per token."""
    device = next(model.parameters()).device
    loss = nll = 0.0
    tokens = 0
    for batch in evaluation_batches(split, batch_tokens):
        source_BS, target_BT = batch.source_BS.to(device), batch.target_BT.to(device)
        features_BTD = model.features(source_BS, target_BT[:, :-1])
        sums = smoothed_cross_entropy(features_BTD, model.projection_VD, target_BT[:, 1:], smoothing)
        loss, nll, tokens = loss + sums.smoothed.item(), nll + sums.nll.item(), tokens + sums.tokens
    return loss / tokens, nll / tokens
