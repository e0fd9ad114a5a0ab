"""Blockwise decoding against greedy search: the same text, whatever the heads propose."""

from typing import Any

import pytest
import torch
from tests.support.models import banning, padded
from torch import Tensor

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.special_tokens import EOS
from regard.errors import Failed
from regard.model.build import build
from regard.model.kernels import linear
from regard.model.later.blockwise import BlockwiseTransformer
from regard.search import blockwise
from regard.search.blockwise import blockwise_search
from regard.search.constraints import Constraints
from regard.search.greedy import greedy_search

SOURCES = [[4, 5, 6], [6], [], [5, 5, 4, 6, 5, 4], [6, 4]]
CONFIG = DecodeConfig(extra_length=12)


def random_model(seed: int, blocks: int = 4, *, vocabulary: int = 9, **changes: Any) -> BlockwiseTransformer:
    """A model whose distributions are far from uniform, and its heads likewise."""
    torch.manual_seed(seed)
    sizes = {"encoder_layers": 1, "decoder_layers": 2, "d_model": 8, "d_ff": 16, "heads": 2, "tie_projection": False}
    model = (
        build(model_config(vocabulary=vocabulary, blocks=blocks, **{**sizes, **changes})).eval().requires_grad_(False)
    )
    assert isinstance(model, BlockwiseTransformer)
    model.projection_VD.mul_(3.0)
    return model


class Knowing(BlockwiseTransformer):
    """Heads that know greedy search's text, and are wrong at every `wrong`-th token."""

    text: list[int]
    wrong: int

    def decoded(self, tokens_BT: Tensor, state: Any) -> Any:
        self.end = state.length + tokens_BT.shape[1]
        self.begin = state.length
        self.read = tokens_BT[0].tolist()
        return super().decoded(tokens_BT, state)

    def proposed(self, features_BD: Tensor, next_B: Tensor, state: Any) -> Tensor:
        del features_BD, state
        accepted = 1
        while accepted < len(self.read) and self.text[self.begin + accepted - 1] == self.read[accepted]:
            accepted += 1
        at = self.begin + accepted
        assert int(next_B) == self.text[at - 1]
        ahead = [self.text[at + i] if at + i < len(self.text) else EOS for i in range(3)]
        return torch.tensor(
            [[4 + (token - 3) % 5 if (at + i) % self.wrong == 0 else token for i, token in enumerate(ahead)]]
        )


def knowing(model: BlockwiseTransformer, text: list[int], wrong: int) -> Knowing:
    twin = Knowing(model.config).eval()  # type: ignore[arg-type]
    twin.load_state_dict(model.state_dict())
    twin.text, twin.wrong = text, wrong
    return twin


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("blocks", [2, 4, 7])
def test_text_and_scores_are_those_of_greedy_search(seed: int, blocks: int) -> None:
    model = random_model(seed, blocks)
    for source in SOURCES:
        (greedy,) = greedy_search(model, padded([source]), CONFIG)
        (found,) = blockwise_search(model, padded([source]), CONFIG)
        assert found.tokens == greedy.tokens
        assert found.token_scores == pytest.approx(greedy.token_scores, abs=1e-5)
        assert found.score == pytest.approx(greedy.score, abs=1e-5)
        assert len(found.steps) == len(found.tokens) + 1


@pytest.mark.parametrize("seed", range(4))
def test_a_model_for_inference_writes_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With copies of its matrices for few rows, those of the heads rounded, whatever their size."""
    for name, value in (("LARGE", 1), ("_available", lambda: True), ("_multiplies_bf16", lambda: True)):
        monkeypatch.setattr(linear, name, value)
    plain, packed = random_model(seed), random_model(seed)
    linear.pack(packed)
    for source in SOURCES:
        (greedy,) = greedy_search(plain, padded([source]), CONFIG)
        (found,) = blockwise_search(packed, padded([source]), CONFIG)
        assert found.tokens == greedy.tokens
    assert packed.proposals.packed is not None and packed.proposals.packed._copy is not None
    assert packed.packed is not None and packed.packed.dtype == torch.float32, "what verifies is exact"
    assert packed.proposals.packed.dtype == torch.bfloat16


@pytest.mark.parametrize(
    "rules", [Constraints(), Constraints(banned=banning((4,), (5, 6), *((n,) for n in range(9, 299))))]
)
@pytest.mark.parametrize("likely", [2, 3])
def test_rounded_logits_choose_no_other_token(likely: int, rules: Constraints, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logits so close to each other that rounding reorders them; with few tokens allowed, none is left to fill up."""
    for name, value in (("LARGE", 1), ("_available", lambda: True), ("_multiplies_bf16", lambda: True)):
        monkeypatch.setattr(linear, name, value)
    monkeypatch.setattr(blockwise, "LIKELY", likely)
    exact: list[int] = []
    all_logits = blockwise._Sentence._logits

    def counted(self: Any, features_TD: Tensor) -> Tensor:
        exact.append(1)
        return all_logits(self, features_TD)

    monkeypatch.setattr(blockwise._Sentence, "_logits", counted)
    steps = 0
    for seed in range(10):
        plain, packed = (random_model(seed, vocabulary=300) for _ in range(2))
        linear.pack(packed)
        for source in SOURCES:
            (greedy,) = greedy_search(plain, padded([source]), CONFIG, constraints=rules, scored=False)
            (found,) = blockwise_search(packed, padded([source]), CONFIG, constraints=rules, scored=False)
            assert found.tokens == greedy.tokens
            steps += found.steps[-1]
    assert 0 < len(exact) < steps, "both ways were taken"


def test_sources_of_a_batch_are_decoded_as_alone() -> None:
    model = random_model(1)
    together = blockwise_search(model, padded(SOURCES), CONFIG, scored=False)
    assert [one.tokens for one in together] == [
        blockwise_search(model, padded([source]), CONFIG, scored=False)[0].tokens for source in SOURCES
    ]


@pytest.mark.parametrize("wrong", [2, 3, 4, 5, 1000])
def test_right_proposals_are_accepted_and_wrong_ones_are_not(wrong: int) -> None:
    model = random_model(3)
    for source in SOURCES:
        (greedy,) = greedy_search(model, padded([source]), CONFIG)
        text = [*greedy.tokens, EOS]
        (found,) = blockwise_search(knowing(model, text, wrong), padded([source]), CONFIG)
        assert found.tokens == greedy.tokens
        steps, at, step = [1], 1, 1  # the first step has no proposals
        while at < len(text):
            step, count = step + 1, 1
            while count < 4 and at + count <= len(text) - 1 and (at + count - 1) % wrong:
                count += 1
            steps += [step] * count
            at += count
        assert list(found.steps) == steps


@pytest.mark.parametrize(
    "rules",
    [
        Constraints(no_repeat=2),
        Constraints(banned=banning((4,), (5, 6))),
        Constraints(prefixes=((6, 6, 5, 4, 4, 6),)),
    ],
)
def test_constraints_hold_as_in_greedy_search(rules: Constraints) -> None:
    for seed in range(8):
        model = random_model(seed)
        (greedy,) = greedy_search(model, padded([SOURCES[3]]), CONFIG, constraints=rules)
        (found,) = blockwise_search(model, padded([SOURCES[3]]), CONFIG, constraints=rules)
        assert found.tokens == greedy.tokens


@pytest.mark.parametrize("longest", [0, 1, 5])
def test_no_position_beyond_the_longest_is_read(longest: int) -> None:
    for seed in range(4):
        model = random_model(seed, positions="learned", max_length=longest + 1)
        (found,) = blockwise_search(model, torch.tensor([[EOS]]), CONFIG, longest=longest)
        (greedy,) = greedy_search(model, torch.tensor([[EOS]]), CONFIG, longest=longest)
        assert found.tokens == greedy.tokens and len(found.tokens) <= longest


def test_a_tie_is_broken_as_greedy_search_breaks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every choice counted as a tie, each is made from single steps: to the bit as in greedy search."""
    monkeypatch.setattr(blockwise, "TIE", 1e9)
    calls: list[int] = []
    exact = blockwise._Sentence._greedy_choice

    def counted(self: Any) -> Any:
        calls.append(1)
        return exact(self)

    monkeypatch.setattr(blockwise._Sentence, "_greedy_choice", counted)
    model = random_model(2)
    (greedy,) = greedy_search(model, padded([SOURCES[0]]), CONFIG)
    (found,) = blockwise_search(model, padded([SOURCES[0]]), CONFIG)
    assert found.tokens == greedy.tokens
    assert len(calls) == len(greedy.tokens) == 15, "at the limit only EOS is left, so that there is no tie"


def test_logits_that_are_no_numbers_are_a_failure() -> None:
    model = random_model(0)
    model.projection_VD[5] = torch.nan
    with pytest.raises(Failed, match="not numbers"):
        blockwise_search(model, padded([[4]]), CONFIG)
