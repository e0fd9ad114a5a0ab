import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.support.models import banning, log_probabilities, next_logs, padded

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import EOS
from regard.errors import UserError
from regard.model.seq2seq import Seq2Seq
from regard.search.constraints import Constraints
from regard.search.greedy import greedy_search
from regard.search.sampling import Sampling, draw, likely, sample

Make = Callable[..., Seq2Seq]


def test_samples_follow_the_distribution(make: Make) -> None:
    """Outputs of at most two tokens; what may not be drawn has its probability shared out."""
    model, source, many = make(3, sharpness=1.0), [4, 5], 4000
    config = DecodeConfig(extra_length=0)
    drawn = Counter(one.tokens for one in sample(model, padded([source] * many), config, Sampling(seed=7)))

    def chances(tokens: tuple[int, ...]) -> dict[int, float]:
        p = {token: math.exp(log) for token, log in enumerate(next_logs(model, source, tokens)) if token >= EOS}
        return {token: chance / sum(p.values()) for token, chance in p.items()}

    wanted: dict[tuple[int, ...], float] = {(): chances(())[EOS]}
    for first in (4, 5, 6):
        after = chances((first,))
        wanted[first,] = chances(())[first] * after[EOS]
        wanted |= {(first, second): chances(())[first] * after[second] for second in (4, 5, 6)}
    assert sum(wanted.values()) == pytest.approx(1)
    assert set(drawn) <= set(wanted)
    for tokens, p in wanted.items():
        assert abs(drawn[tokens] / many - p) < 4 * math.sqrt(p * (1 - p) / many)


def test_scores_are_the_models_own(make: Make) -> None:
    model, source = make(5), [4, 5, 6]
    chosen = Sampling(temperature=2.0, top_k=2, seed=1)
    for one in sample(model, padded([source] * 20), DecodeConfig(extra_length=2), chosen):
        (wanted,) = log_probabilities(model, source, [(*one.tokens, EOS)])
        assert one.token_scores == pytest.approx(wanted, abs=1e-5)


def test_a_sample_depends_on_its_seed_and_on_nothing_else(make: Make) -> None:
    model = make(8, vocabulary=30)
    sources, config = [[4, 5, 6, 7], [8], [9, 10]], DecodeConfig(extra_length=5)
    together = sample(model, padded(sources), config, Sampling(), seeds=[5, 6, 7])
    alone = [sample(model, padded([one]), config, Sampling(), seeds=[5 + i])[0] for i, one in enumerate(sources)]
    assert [one.tokens for one in together] == [one.tokens for one in alone]
    many = {sample(model, padded([[4, 5]]), config, Sampling(seed=seed))[0].tokens for seed in range(20)}
    assert len(many) > 5


def test_cold_sampling_is_greedy(make: Make) -> None:
    model, sources, config = make(8, vocabulary=30), [[4, 5, 6], [7]], DecodeConfig(extra_length=5)
    wanted = [one.tokens for one in greedy_search(model, padded(sources), config)]
    for cold in (Sampling(temperature=1e-4), Sampling(top_k=1), Sampling(top_p=1e-9)):
        assert [one.tokens for one in sample(model, padded(sources), config, cold)] == wanted


@pytest.mark.parametrize(
    "values", [{"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.01}, {"temperature": 0.0}, {"temperature": math.inf}]
)
def test_mistakes(values: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="change"):
        Sampling(**values)


def test_what_is_likely() -> None:
    p = torch.tensor([[0.5, 0.1, 0.25, 0.15], [0.1, 0.2, 0.3, 0.4]], dtype=torch.float64)
    logits = p.log()
    torch.testing.assert_close(likely(logits, Sampling()), p)
    wanted = torch.tensor([[2 / 3, 0, 1 / 3, 0], [0, 0, 3 / 7, 4 / 7]], dtype=torch.float64)
    torch.testing.assert_close(likely(logits, Sampling(top_k=2)), wanted)
    torch.testing.assert_close(likely(logits, Sampling(top_p=0.6)), wanted)
    torch.testing.assert_close(likely(logits, Sampling(temperature=0.5)), p**2 / (p**2).sum(1, keepdim=True))


def test_drawing_hits_every_token_in_proportion_and_none_without_chance() -> None:
    p = torch.tensor([0.0, 0.25, 0.0, 0.5, 0.25, 0.0], dtype=torch.float64)
    uniform = torch.linspace(0, 1, 4001, dtype=torch.float64)
    counts = draw(p.expand(4001, -1), uniform).bincount(minlength=6)
    assert counts.tolist() == [0, 1000, 0, 2000, 1001, 0]


def test_constraints_hold(make: Make) -> None:
    model = make(4, vocabulary=10)
    rules = Constraints(banned=banning((5,)), prefixes=((7, 7),) * 30)
    for one in sample(model, padded([[4, 5]] * 30), DecodeConfig(extra_length=4), Sampling(), constraints=rules):
        assert one.tokens[:2] == (7, 7)
        assert 5 not in one.tokens
