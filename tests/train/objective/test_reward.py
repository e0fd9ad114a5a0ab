"""Expected reward: GLEU from its definition, the gradient of a step, learning, and exact resumption."""

import random
from collections import defaultdict
from hashlib import sha256
from itertools import product
from pathlib import Path

import pytest
import torch
from tests.support.training import ALONE, Watcher, steps, still
from torch import Tensor

from regard.config.model import model_config
from regard.config.run import Config
from regard.config.special_tokens import BOS, EOS, PAD
from regard.data.prepared import Prepared
from regard.errors import Interrupted, UserError
from regard.model.build import build
from regard.model.seq2seq import Seq2Seq
from regard.saved.folder import load_model
from regard.train.distributed import World
from regard.train.log import records
from regard.train.loop import train
from regard.train.objective.loss import smoothed_cross_entropy
from regard.train.objective.reward import RewardedSamples, draw_candidates, gleu
from regard.train.optimizer.adam import Adam
from regard.train.run import settle
from regard.train.step import Trainer


def plain_gleu(candidate: list[int], reference: list[int]) -> float:
    """Match n-grams one by one, striking each off the reference's list."""
    both = [
        [text[i : i + n] for n in (1, 2, 3, 4) for i in range(len(text) - n + 1)] for text in (candidate, reference)
    ]
    left, matches = list(both[1]), 0
    for gram in both[0]:
        if gram in left:
            left.remove(gram)
            matches += 1
    return min(matches / len(both[0]), matches / len(both[1]))


def test_gleu_equals_its_definition() -> None:
    chance = random.Random(1)
    for _ in range(200):
        candidate, reference = ([chance.randrange(4) for _ in range(chance.randint(1, 9))] for _ in range(2))
        assert gleu(candidate, reference) == pytest.approx(plain_gleu(candidate, reference))
    assert gleu([1, 2, 3], [1, 2, 3]) == 1 and gleu([1, 2], [3]) == gleu([], [3]) == gleu([3], []) == 0
    assert gleu([], []) == 1
    assert gleu([5, 5, 5], [5]) == pytest.approx(1 / 6), "precision counts repetitions"
    assert gleu([5], [5, 6, 7]) == pytest.approx(1 / 6), "recall counts what is missing"


def small_model(**settings: object) -> Seq2Seq:
    torch.manual_seed(2)
    sizes = {"vocabulary": 6, "d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
    return build(model_config(architecture="recurrent", **{**sizes, **settings})).eval()


def log_probabilities(model: Seq2Seq, source_BS: Tensor, target_BT: Tensor) -> Tensor:
    logits_BTV = model.logits(model.features(source_BS, target_BT[:, :-1]))
    chosen_BT = logits_BTV.log_softmax(-1).gather(2, target_BT[:, 1:, None])[:, :, 0]
    return (chosen_BT * (target_BT[:, 1:] != PAD)).sum(1)


SOURCE, TARGET = torch.tensor([[4, 5, EOS], [5, EOS, PAD]]), torch.tensor([[BOS, 4, 4, EOS], [BOS, 5, EOS, PAD]])


def test_candidates_are_samples_with_their_rewards_around_the_mean() -> None:
    drawn = draw_candidates(small_model(), SOURCE, TARGET, 7, 3, longest=None)
    rewards = torch.empty(7, 2)
    for k, target_BT in enumerate(drawn.targets):
        for b, wanted in enumerate(([4, 4], [5])):
            row = target_BT[b].tolist()
            assert row[0] == BOS and row.count(EOS) == 1 and not any(row[row.index(EOS) + 1 :])
            rewards[k, b] = gleu(row[1 : row.index(EOS)], wanted)
    torch.testing.assert_close(torch.stack(drawn.advantages), (rewards - rewards.mean(0)) / 7)
    assert drawn.reward == pytest.approx(rewards.mean(0).sum().item(), rel=1e-5)
    again = draw_candidates(small_model(), SOURCE, TARGET, 7, 3, longest=None)
    assert all(torch.equal(one, other) for one, other in zip(drawn.targets, again.targets, strict=True))
    other = draw_candidates(small_model(), SOURCE, TARGET, 7, 4, longest=None)
    assert any(not torch.equal(one, two) for one, two in zip(drawn.targets, other.targets, strict=True))


def test_no_sample_is_longer_than_the_model_can_write() -> None:
    drawn = draw_candidates(small_model(), SOURCE, TARGET, 7, 3, longest=2)
    assert max(target_BT.shape[1] for target_BT in drawn.targets) <= 2 + 2  # BOS and EOS


def test_samples_drawn_in_parts_are_those_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row has its own seed, in whichever part it is."""
    together = draw_candidates(small_model(), SOURCE, TARGET, 7, 3, longest=None)
    monkeypatch.setattr("regard.train.objective.reward.ROWS", 3)
    parts = draw_candidates(small_model(), SOURCE, TARGET, 7, 3, longest=None)
    assert all(torch.equal(one, other) for one, other in zip(together.targets, parts.targets, strict=True))


def test_the_estimate_is_the_gradient_of_the_expected_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the sum over every output of at most two tokens; the baseline biases the estimate by 1/K."""
    monkeypatch.setattr("regard.train.objective.reward.EXTRA_LENGTH", 0)
    model, source, target = small_model(), SOURCE[:1], TARGET[:1]
    exact = torch.zeros(())
    for length in (0, 1, 2):
        for tokens in product((4, 5), repeat=length):
            output = torch.tensor([[BOS, *tokens, EOS]])
            logits = model.logits(model.features(source, output[:, :-1]))[0]
            logits = logits.index_fill(1, torch.tensor([PAD, 1, BOS]), -torch.inf)  # what search never writes
            chosen = [row.log_softmax(0)[token] for row, token in zip(logits, output[0, 1:].tolist(), strict=True)]
            chosen = chosen[:2]  # after two tokens the end is certain
            exact = exact + torch.stack(chosen).sum().exp() * gleu(tokens, [4, 4])
    exact.backward()
    wanted = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    model.zero_grad()
    count = 3000
    drawn = draw_candidates(model, source, target, count, 1, longest=None)
    weights: dict[tuple[int, ...], float] = defaultdict(float)  # samples that are equal have equal gradients
    for target_BT, weight_B in zip(drawn.targets, drawn.advantages, strict=True):
        weights[tuple(target_BT[0].tolist())] += weight_B.item()
    assert len(weights) == 7 and max(map(len, weights)) == 4, "every output was drawn, and no longer one"
    for row, weight in weights.items():
        output = torch.tensor([row])
        logits = model.logits(model.features(source, output[:, :-1]))[0]
        logits = logits.index_fill(1, torch.tensor([PAD, 1, BOS]), -torch.inf)
        chosen = [row.log_softmax(0)[token] for row, token in zip(logits, output[0, 1:].tolist(), strict=True)][:2]
        (torch.stack(chosen).sum() * weight).backward()
    found = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    assert torch.cosine_similarity(found, wanted, dim=0) > 0.98
    assert found.norm().item() == pytest.approx(wanted.norm().item(), rel=0.1)


def test_a_weighted_loss_equals_the_plain_one() -> None:
    features, projection = torch.randn(3, 5, 8, requires_grad=True), torch.randn(11, 8, requires_grad=True)
    expected, weight = torch.randint(0, 11, (3, 5)), torch.randn(3, 5)
    plain = torch.nn.functional.cross_entropy(
        (features @ projection.T).flatten(0, 1), expected.flatten(), reduction="none"
    )
    plain = (plain * weight.flatten() * (expected != PAD).flatten()).sum()
    wanted = torch.autograd.grad(plain, (features, projection))
    loss = smoothed_cross_entropy(features, projection, expected, 0.0, weight=weight, rows=4)
    assert loss.smoothed.item() == pytest.approx(plain.item(), rel=1e-4)
    for found, other in zip(torch.autograd.grad(loss.smoothed, (features, projection)), wanted, strict=True):
        torch.testing.assert_close(found, other, atol=1e-5, rtol=1e-4)


def test_a_step_follows_the_mixed_objective(config: Config, data: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    """α times the smoothed likelihood plus the weighted samples, per token of the references."""
    config = still(config, data, objective="reward", samples=3, likelihood_weight=0.5)
    trainer = Trainer(config.model, config.train, ALONE)
    (step,) = steps(config, data, 1)
    drawn: list[RewardedSamples] = []

    def recorded(*given: object) -> RewardedSamples:
        drawn.append(draw_candidates(*given))  # type: ignore[arg-type]
        return drawn[-1]

    monkeypatch.setattr("regard.train.micro_batches.draw_candidates", recorded)
    gradients: dict[str, Tensor] = {}
    monkeypatch.setattr(
        Adam, "update", lambda self, rate: gradients.update({n: p.grad.clone() for n, p in self.parameters.items()})
    )
    update = trainer.update(step, 1)
    (batch,), (one,) = step.batches, drawn
    model = trainer.model.train()
    likelihood = smoothed_cross_entropy(
        model.features(batch.source_BS, batch.target_BT[:, :-1]), model.projection_VD, batch.target_BT[:, 1:], 0.1
    )
    order = batch.parts(1)[0][0]
    loss = 0.5 * likelihood.smoothed
    for target_BT, weight_B in zip(one.targets, one.advantages, strict=True):
        loss = loss - (log_probabilities(model, order, target_BT) * weight_B).sum()
    loss = loss / step.target_tokens
    for name, parameter in model.named_parameters():
        (wanted,) = torch.autograd.grad(loss, parameter, retain_graph=True)
        torch.testing.assert_close(gradients[name], wanted, atol=1e-6, rtol=1e-3)
    assert update.loss == pytest.approx(0.5 * likelihood.smoothed.item() - one.reward, rel=1e-4)
    assert update.nll == pytest.approx(likelihood.nll.item(), rel=1e-4)
    assert update.reward == pytest.approx(one.reward / len(batch.source_BS))


def with_train(config: Config, **settings: object) -> Config:
    return config.model_copy(update={"train": config.train.model_copy(update=settings)})


def with_reward(config: Config, **more: object) -> Config:
    return with_train(config, **{"objective": "reward", "samples": 4, "steps": 6, "checkpoint_every": 2, **more})


def test_a_stopped_run_ends_with_the_same_bits(config: Config, data: Prepared, tmp_path: Path) -> None:
    config = settle(with_reward(config), data)
    train(config, data, tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(config, data, tmp_path / "stopped", observer=Watcher(2))
    train(config, data, tmp_path / "stopped")
    files = [tmp_path / name / "model" / "model.safetensors" for name in ("whole", "stopped")]
    assert len({sha256(path.read_bytes()).hexdigest() for path in files}) == 1
    logged = [record for record in records(tmp_path / "whole" / "log.jsonl") if record["event"] == "train"]
    assert all(0 <= record["reward"] <= 1 for record in logged)


def test_a_sharded_model_is_refused(config: Config, data: Prepared) -> None:
    config = settle(with_reward(config, sharding="fsdp"), data)
    with pytest.raises(UserError, match=r"set train.sharding=ddp"):
        Trainer(config.model, config.train, World(0, 2, torch.device("cpu")))


@pytest.mark.slow
def test_reward_rises_by_the_samples_alone(config: Config, data: Prepared, tmp_path: Path) -> None:
    begun = train(settle(with_train(config, steps=100), data), data, tmp_path / "likelihood")
    more = {"steps": 100, "peak_rate": 0.005, "samples": 8, "log_every": 20, "checkpoint_every": 100}
    refined = settle(with_reward(config, likelihood_weight=0.0, **more), data)
    train(refined, data, tmp_path / "reward", weights=dict(load_model(begun).model.state_dict()))
    rewards = [r["reward"] for r in records(tmp_path / "reward" / "log.jsonl") if r["event"] == "train"]
    assert rewards[-1] > 1.1 * rewards[0]
