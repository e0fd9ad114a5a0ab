"""The figures of a validation against the model's own log probabilities, pair by pair."""

import math

import pytest
import torch
from tests.support.training import ALONE, steps

from regard.config.run import Config
from regard.config.special_tokens import BOS, EOS
from regard.data.prepared import Prepared
from regard.train.run import settle
from regard.train.step import Trainer
from regard.train.validation import validation_losses


@pytest.mark.parametrize("batch_tokens", [40, 4000])
def test_losses_are_means_over_tokens_without_dropout(config: Config, data: Prepared, batch_tokens: int) -> None:
    """However the pairs are divided into batches, and right after a step of training, in which dropout was on."""
    config = settle(config, data)
    trainer = Trainer(config.model, config.train, ALONE)
    trainer.update(steps(config, data, 1)[0], 1)
    assert data.valid is not None
    loss, nll = validation_losses(trainer.scored(undivided=False), data, batch_tokens, ALONE.device)

    model, smoothing = trainer.model.eval(), config.train.label_smoothing
    chosen, uniform, tokens = 0.0, 0.0, 0
    for index in range(len(data.valid)):
        source, target = (side.tolist() for side in data.valid.pair(index))
        with torch.no_grad():
            features_1TD = model.features(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]]))
            log_p_TV = model.logits(features_1TD)[0].log_softmax(-1)
        chosen -= log_p_TV[range(len(target) + 1), [*target, EOS]].sum().item()
        uniform -= log_p_TV.mean(1).sum().item()
        tokens += len(target) + 1
    assert nll == pytest.approx(chosen / tokens, rel=1e-5)
    assert loss == pytest.approx(((1 - smoothing) * chosen + smoothing * uniform) / tokens, rel=1e-5)
    assert math.exp(nll) < 2 * model.vocabulary
