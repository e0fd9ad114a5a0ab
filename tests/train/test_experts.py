"""Training with experts: the penalty is part of the loss, and the noise of the gates resumes exactly."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.training import ALONE, Watcher, steps

from regard.config.model import model_config
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import Interrupted
from regard.model.kernels.dropout import seeded_dropout
from regard.train.loop import train
from regard.train.objective.loss import Objective, smoothed_cross_entropy
from regard.train.run import settle
from regard.train.step import Trainer

EXPERTS = {"experts": 4, "active_experts": 2, "d_ff": 8, "d_model": 16, "decoder_layers": 1}
KINDS: list[dict[str, Any]] = [
    {**EXPERTS, "architecture": "gnmt", "encoder_layers": 2},
    {**EXPERTS, "heads": 2, "encoder_layers": 1},
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_run_ends_with_the_same_bits(
    kind: dict[str, Any], config: Config, data: Prepared, tmp_path: Path
) -> None:
    changes = {"model": model_config(**kind), "train": config.train.model_copy(update={"steps": 4})}
    config = settle(config.model_copy(update=changes), data)
    train(config, data, tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(config, data, tmp_path / "stopped", observer=Watcher(1))
    train(config, data, tmp_path / "stopped")
    files = [tmp_path / name / "model" / "model.safetensors" for name in ("whole", "stopped")]
    assert len({sha256(path.read_bytes()).hexdigest() for path in files}) == 1


def test_the_penalty_counts_for_each_token_in_training_only(config: Config, data: Prepared) -> None:
    config = settle(config.model_copy(update={"model": model_config(**KINDS[1])}), data)
    trainer = Trainer(config.model, config.train, ALONE)
    (batch,) = steps(config, data, 1)[0].batches
    source_BS, target_BT = batch.source_BS, batch.target_BT
    objective = Objective(trainer.model, 0.1)
    for training in (True, False):
        objective.train(training)
        with seeded_dropout(5):
            loss, _ = objective(source_BS, target_BT)
        with seeded_dropout(5):
            features, penalty = trainer.model.features_and_penalty(source_BS, target_BT[:, :-1])
        plain = smoothed_cross_entropy(features, trainer.model.projection_VD, target_BT[:, 1:], 0.1)
        added = 0.0 if penalty is None else penalty.item() * plain.tokens
        assert (penalty is not None) == training and (added > 0) == training
        assert loss.item() == pytest.approx(plain.smoothed.item() + added, rel=1e-6)
    torch.testing.assert_close(loss, plain.smoothed)
