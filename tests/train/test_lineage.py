"""The models that the Transformer is compared with learn what they can learn, and one of them can't."""

from pathlib import Path

import pytest
import torch
from tests.support.training import losses, torchrun, with_train
from torch import Tensor

from regard.config.model import model_config
from regard.config.presets import preset, preset_names
from regard.config.run import Config
from regard.config.special_tokens import BOS, EOS
from regard.data.prepared import Prepared
from regard.model.build import build
from regard.model.seq2seq import Seq2Seq
from regard.train.loop import train
from regard.train.objective.loss import smoothed_cross_entropy
from regard.train.run import settle

NAMES = [name for name in preset_names() if preset(name).model.architecture != "transformer"]
LATER = ("mask-predict", "decoder-only", "encoder-only")  # which have tests of their own
NAMES = [name for name in NAMES if not name.endswith("-published") and name not in LATER]
LENGTH, VOCABULARY = 3, 10


def batch(rows: int, *, backwards: bool) -> tuple[Tensor, Tensor]:
    tokens_BS = torch.randint(4, VOCABULARY, (rows, LENGTH))
    ends_B1 = torch.full((rows, 1), EOS)
    said_BS = tokens_BS.flip(1) if backwards else tokens_BS
    return torch.cat((tokens_BS, ends_B1), dim=1), torch.cat((torch.full((rows, 1), BOS), said_BS, ends_B1), dim=1)


def taught(name: str, *, backwards: bool) -> Seq2Seq:
    """A small model of a preset's kind after some steps on texts of a few tokens, repeated or turned round."""
    sizes = {"vocabulary": VOCABULARY, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
    if name in ("convs2s", "bytenet", "gnmt", "moe-lstm"):
        sizes |= {"encoder_layers": 2, "decoder_layers": 2}
    torch.manual_seed(1)
    model = build(model_config(**{**preset(name).model.model_dump(), **sizes})).train()
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(200):
        source_BS, target_BT = batch(48, backwards=backwards)
        features_BTD = model.features(source_BS, target_BT[:, :-1])
        loss = smoothed_cross_entropy(features_BTD, model.projection_VD, target_BT[:, 1:], 0.0)
        adam.zero_grad()
        (loss.smoothed / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
    return model.eval()


@torch.no_grad()
def share_right(model: Seq2Seq, *, backwards: bool) -> float:
    torch.manual_seed(2)
    source_BS, target_BT = batch(200, backwards=backwards)
    guessed_BT = model.logits(model.features(source_BS, target_BT[:, :-1])).argmax(-1)
    return (guessed_BT == target_BT[:, 1:])[:, :LENGTH].float().mean().item()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "feedforward"])
def test_learns_to_turn_a_text_round(name: str) -> None:
    assert share_right(taught(name, backwards=True), backwards=True) > 0.95


def test_without_context_a_text_can_be_repeated_but_not_turned_round() -> None:
    assert share_right(taught("feedforward", backwards=False), backwards=False) > 0.99
    assert share_right(taught("feedforward", backwards=True), backwards=True) < 0.5, "all but the token in the middle"


@pytest.mark.slow
@pytest.mark.parametrize("sharding", ["ddp", "fsdp"])
@pytest.mark.parametrize("name", ["lstm-additive", "convs2s", "bytenet"])
def test_two_processes_equal_one_that_accumulates(
    name: str, sharding: str, config: Config, data: Prepared, digits: Path, tmp_path: Path
) -> None:
    model = preset(name, model={"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}).model
    settled = settle(with_train(config.model_copy(update={"model": model}), sharding=sharding), data)
    train(with_train(settled, accumulate=2, sharding="ddp"), data, tmp_path / "alone")
    done = torchrun(settled, digits, tmp_path / "two")
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "alone"), abs=1e-4)
