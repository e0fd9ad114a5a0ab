"""Scores that are not numbers: every search says so, in the same sentence."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from tests.support.models import Scripted, padded

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import EOS, PAD
from regard.engines.engine import Request
from regard.engines.torch_engine import TorchEngine
from regard.errors import Failed
from regard.model.seq2seq import Seq2Seq
from regard.search.beam import beam_search
from regard.search.constraints import Constraints
from regard.search.ensemble import Ensemble
from regard.search.greedy import greedy_search
from regard.search.hypothesis import NO_NUMBERS
from regard.search.required import required_search
from regard.search.sampling import Sampling, sample
from regard.search.tree_rule import TreeRule

SYMBOLS = ["<pad>", "<unk>", "<s>", "</s>", "(S", ")S", "NN"]
OPEN, CLOSE, WORD = 4, 5, 6
RULE = TreeRule.over(SYMBOLS)
TREES = Constraints(trees=TreeRule(RULE.kind_V, RULE.closing_V, (1,)))
CONFIG = DecodeConfig(beam=2, extra_length=4, alpha=0.0)
SOURCE = padded([[5]])

SEARCHES: dict[str, Callable[[Seq2Seq], Any]] = {
    "greedy": lambda model: greedy_search(model, SOURCE, CONFIG),
    "greedy without scores": lambda model: greedy_search(model, SOURCE, CONFIG, scored=False),
    "greedy trees": lambda model: greedy_search(model, SOURCE, CONFIG, constraints=TREES, scored=False),
    "sampling": lambda model: sample(model, SOURCE, CONFIG, Sampling()),
    "likely sampling": lambda model: sample(model, SOURCE, CONFIG, Sampling(top_k=2, top_p=0.5)),
    "beam": lambda model: beam_search(model, SOURCE, CONFIG),
    "beam of trees": lambda model: beam_search(model, SOURCE, CONFIG, constraints=TREES),
    "required": lambda model: required_search(model, SOURCE, CONFIG, [((WORD,),)]),
    "engine": lambda model: TorchEngine(model).search([[5]], Request(CONFIG)),
}


def sound(tokens: tuple[int, ...]) -> list[float]:
    """(S NN )S and EOS, with some doubt."""
    logits = [0.0] * len(SYMBOLS)
    logits[[OPEN, WORD, CLOSE, EOS][min(len(tokens), 3)]] = 3.0
    return logits


def with_value(value: float, *places: int, after: int = 0) -> Callable[[tuple[int, ...]], Sequence[float]]:
    """The same with a value in some places, from a step on."""

    def logits(tokens: tuple[int, ...]) -> list[float]:
        right = sound(tokens)
        return [value if at in places and len(tokens) >= after else right[at] for at in range(len(right))]

    return logits


EVERY = range(len(SYMBOLS))
BROKEN = {
    "all NaN": with_value(math.nan, *EVERY),
    "a token's NaN": with_value(math.nan, WORD),
    "NaN for what is never chosen": with_value(math.nan, PAD),
    "NaN later": with_value(math.nan, *EVERY, after=2),
    "infinite": with_value(math.inf, OPEN),
    "nothing is possible": with_value(-math.inf, *EVERY),
}


@pytest.mark.parametrize("search", SEARCHES)
def test_numbers_are_searched(search: str) -> None:
    assert SEARCHES[search](Scripted(sound))
    assert SEARCHES[search](Ensemble([Scripted(sound), Scripted(sound)]))


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("search", SEARCHES)
def test_what_is_no_number_is_told(search: str, broken: str) -> None:
    """A beam that has an output already says so, too: who searches is not to decide what is told."""
    for model in (Scripted(BROKEN[broken]), Ensemble([Scripted(sound), Scripted(BROKEN[broken])])):
        with pytest.raises(Failed) as told:
            SEARCHES[search](model)
        assert str(told.value) == NO_NUMBERS


@pytest.mark.parametrize("search", ["greedy", "sampling", "beam", "required"])
def test_no_log_probability_is_above_0_even_by_rounding(search: str) -> None:
    """Of logits so far apart, the greatest minus log Σ exp is 0.001 in float32; early stopping rests on 0."""
    logits = [-9442.2, 1654.3, -7401.1, 9410.0, 0.0, 0.0, 9410.0]
    found = SEARCHES[search](Scripted(lambda tokens: logits if tokens else [*logits[:3], 0.0, *logits[4:]]))
    best = found[0][0] if isinstance(found[0], list) else found[0]
    assert max(best.token_scores) <= 0 and best.log_probability <= 0


def test_half_precision_is_computed_in_full() -> None:
    """Logits of float16 whose sum is beyond float16 are numbers all the same."""
    model = Scripted(lambda tokens: [20_000.0] * len(SYMBOLS))
    whole = model.advance
    model.advance = lambda tokens, state: (whole(tokens, state)[0].half(), whole(tokens, state)[1])  # type: ignore[method-assign,assignment]
    (found,) = greedy_search(model, SOURCE, CONFIG)
    assert found.token_scores == pytest.approx([-math.log(len(SYMBOLS))] * len(found.token_scores), abs=0.01)
    assert torch.isfinite(torch.tensor(found.score))
