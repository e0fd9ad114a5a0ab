import math
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from tests.support.models import Scored, Scripted, banning, exhaustive, log_probabilities, padded, plain_beam_search

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import BOS, EOS, PAD, UNK
from regard.model.seq2seq import Seq2Seq
from regard.search import beam as module
from regard.search.beam import beam_search
from regard.search.constraints import Constraints, limits
from regard.search.greedy import greedy_search
from regard.search.hypothesis import Hypothesis
from regard.search.required import required_search

Make = Callable[..., Seq2Seq]
PENALTIES = [(0.0, "paper"), (0.6, "paper"), (1.0, "average"), (2.0, "paper"), (0.6, "average"), (3.0, "average")]


def settings(**changes: Any) -> DecodeConfig:
    return DecodeConfig(**changes)


def same(found: list[Hypothesis], wanted: list[Scored]) -> None:
    assert [hypothesis.tokens for hypothesis in found] == [tokens for _, tokens in wanted]
    assert [hypothesis.score for hypothesis in found] == pytest.approx([score for score, _ in wanted], abs=1e-4)


@pytest.mark.parametrize(("alpha", "penalty"), PENALTIES)
def test_a_beam_as_wide_as_the_space_is_exhaustive_search(make: Make, alpha: float, penalty: str) -> None:
    """Three tokens besides the reserved ones, up to six of them: 1,093 outputs."""
    source = [4, 6]
    config = settings(beam=1093, alpha=alpha, penalty=penalty, extra_length=4)
    for seed in range(3):
        model = make(seed)
        wanted = exhaustive(model, source, config)[:20]
        for early in (True, False):
            (found,) = beam_search(model, padded([source]), config, n_best=20, early_stopping=early)
            same(found, wanted)


def test_the_whole_space_can_be_had(make: Make) -> None:
    config = settings(beam=40, extra_length=3)
    (found,) = beam_search(make(1), padded([[]]), config, n_best=40)
    same(found, exhaustive(make(1), [], config))
    assert len(found) == 1 + 3 + 9 + 27


@pytest.mark.parametrize("beam", [1, 2, 3, 5])
def test_a_narrow_beam_is_a_plain_beam_search(make: Make, beam: int) -> None:
    sources = [[4, 5, 6, 7, 8], [11], []]
    model = make(beam, vocabulary=12, sharpness=2.0)
    memo: dict[Any, list[float]] = {}
    for (alpha, penalty), early, n_best in product(PENALTIES, (True, False), {1, (beam + 1) // 2, beam}):
        config = settings(beam=beam, alpha=alpha, penalty=penalty, extra_length=3)
        found = beam_search(model, padded(sources), config, n_best=n_best, early_stopping=early)
        for hypotheses, source in zip(found, sources, strict=True):
            same(hypotheses, plain_beam_search(model, source, config, n_best, early=early, memo=memo))


@pytest.mark.parametrize(("alpha", "penalty"), PENALTIES)
def test_stopping_early_changes_nothing_but_the_work(make: Make, alpha: float, penalty: str) -> None:
    sources = [[4 + (3 * row + column) % 26 for column in range(row % 7)] for row in range(40)]
    model = make(3, vocabulary=30, sharpness=2.0)
    rows: list[int] = []
    advance = model.advance

    def counted(tokens: torch.Tensor, state: Any) -> Any:
        rows.append(len(tokens))
        return advance(tokens, state)

    model.advance = counted  # type: ignore[method-assign,assignment]
    config = settings(beam=4, alpha=alpha, penalty=penalty, extra_length=20)
    late = beam_search(model, padded(sources), config, n_best=2, early_stopping=False)
    work = sum(rows)
    rows.clear()
    for one, other in zip(beam_search(model, padded(sources), config, n_best=2), late, strict=True):
        assert [hypothesis.tokens for hypothesis in one] == [hypothesis.tokens for hypothesis in other]
    assert sum(rows) <= work
    if alpha == 0:  # then a longer output can't be better than one that it continues
        assert sum(rows) < work


def test_as_many_stay_open_although_one_of_a_parent_ends() -> None:
    """EOS is the best first token, then 4, then 5: a beam of 2 keeps both open, and 5 leads to the best output."""

    def logits(tokens: tuple[int, ...]) -> list[float]:
        if not tokens:
            return [-2.5, -99.0, -99.0, -0.9, -1.2, -1.3]
        certain = EOS if tokens[0] == 5 else 0
        return [0.0 if token == certain else -9.0 for token in range(6)]

    for early in (True, False):
        config = settings(beam=2, alpha=1.0, penalty="average", extra_length=3)
        ((found,),) = beam_search(Scripted(logits), padded([[]]), config, early_stopping=early)
        assert found.tokens == (5,)
    assert required_search(Scripted(logits), padded([[]]), config, [()])[0][0].tokens == (5,)


def test_greedy_is_a_beam_of_one(make: Make) -> None:
    sources = [[4 + (5 * row + column) % 26 for column in range(row % 9)] for row in range(50)]
    for alpha in (0.0, 2.0):
        config = settings(beam=1, alpha=alpha, extra_length=8)
        model = make(7, vocabulary=30, sharpness=2.0)
        wide = [hypotheses[0] for hypotheses in beam_search(model, padded(sources), config)]
        for one, other in zip(greedy_search(model, padded(sources), config), wide, strict=True):
            assert one.tokens == other.tokens
            assert one.token_scores == pytest.approx(other.token_scores, abs=1e-5)
            assert one.score == pytest.approx(other.score, abs=1e-5)


def test_greedy_without_scores_finds_the_same(make: Make) -> None:
    sources = [[4 + (5 * row + column) % 26 for column in range(row % 9)] for row in range(50)]
    model, config = make(7, vocabulary=30, sharpness=2.0), settings(beam=1, extra_length=8)
    plain = greedy_search(model, padded(sources), config, scored=False)
    assert [one.tokens for one in plain] == [one.tokens for one in greedy_search(model, padded(sources), config)]
    assert all(math.isnan(one.score) and math.isnan(one.log_probability) and not one.token_scores for one in plain)


@pytest.mark.parametrize(("beam", "seed"), [(1, 14), (4, 3), (4, 14)])
def test_a_translation_does_not_depend_on_its_batch(make: Make, beam: int, seed: int) -> None:
    sources = [[4 + (7 * row + column) % 46 for column in range((5 * row) % 13)] for row in range(20)]
    model = make(seed, vocabulary=50, sharpness=2.0)
    config = settings(beam=beam, extra_length=10)
    together = beam_search(model, padded(sources), config, n_best=beam)
    backwards = beam_search(model, padded(sources[::-1]), config, n_best=beam)[::-1]
    for row, source in enumerate(sources):
        (alone,) = beam_search(model, padded([source]), config, n_best=beam)
        for other in (together[row], backwards[row]):
            assert [one.tokens for one in alone] == [one.tokens for one in other]
            assert [one.score for one in alone] == pytest.approx([one.score for one in other], abs=1e-4)


def test_scores_are_log_probabilities(make: Make) -> None:
    source = [4, 5, 6]
    model = make(11)
    for hypothesis in beam_search(model, padded([source]), settings(beam=5, extra_length=4), n_best=5)[0]:
        (wanted,) = log_probabilities(model, source, [(*hypothesis.tokens, EOS)])
        assert hypothesis.token_scores == pytest.approx(wanted, abs=1e-5)
        assert hypothesis.log_probability == pytest.approx(sum(hypothesis.token_scores), abs=1e-9)
        assert max(hypothesis.token_scores) <= 0


def test_limits(make: Make) -> None:
    """An output has at most so many tokens more than its source, and its EOS is scored like any other."""
    model = make(2)
    model.projection_VD[EOS] = 0
    model.projection_VD[EOS, 0] = -40  # hardly ever
    for length, extra in ((0, 0), (0, 3), (4, 0), (3, 2)):
        config = settings(beam=2, extra_length=extra)
        for (hypothesis,) in beam_search(model, padded([[5] * length, [6] * 2]), config):
            assert len(hypothesis.tokens) <= max(length, 2) + extra
        assert len(greedy_search(model, padded([[5] * length]), config)[0].tokens) <= length + extra
    capped = beam_search(model, padded([[5] * 9]), settings(beam=2), longest=3)
    assert len(capped[0][0].tokens) <= 3


@pytest.mark.parametrize("longest", [None, 3])
def test_what_never_wants_to_end_is_as_long_as_its_limit(longest: int | None) -> None:
    model, sources = Scripted(lambda _: [0.0, 0.0, 0.0, -90.0, 0.0, 0.0]), padded([[], [5] * 3])
    config = settings(beam=2, extra_length=2)
    wanted = [2, 5] if longest is None else [2, 3]
    found = beam_search(model, sources, config, longest=longest)
    assert [len(best.tokens) for best, *_ in found] == wanted
    assert [len(one.tokens) for one in greedy_search(model, sources, config, longest=longest)] == wanted
    required = required_search(model, sources, config, [(), ()], longest=longest)
    assert [len(best.tokens) for best, *_ in required] == wanted


def test_reserved_tokens_are_never_proposed(make: Make) -> None:
    model = make(4)
    model.projection_VD[[PAD, UNK, BOS]] = model.projection_VD[5:6] * 3  # as attractive as can be
    for (hypothesis,) in beam_search(model, padded([[4, 5]] * 2), settings(extra_length=5)):
        assert not {PAD, UNK, BOS} & set(hypothesis.tokens)


def test_ties_have_one_order(make: Make) -> None:
    """Three tokens that are exactly alike: the same choice every time, in any batch."""
    model = make(6)
    for embedding in (model.projection_VD, model.embedding_VD):  # type: ignore[attr-defined]
        embedding[5] = embedding[4]
        embedding[6] = embedding[4]
    config = settings(beam=3, extra_length=2)
    found = beam_search(model, padded([[4, 5]]), config, n_best=3)
    assert found == beam_search(model, padded([[4, 5]]), config, n_best=3)
    assert found[0][0].tokens == beam_search(model, padded([[4, 5], [6]]), config, n_best=3)[0][0].tokens


def test_an_output_that_can_still_be_the_best_is_waited_for() -> None:
    """The bound of early stopping counts EOS: the longest output has `end` tokens and EOS.

    EOS at once has log p = -0.65. The other output has -2.3 for its first token, then certainty up to the limit of
    three tokens and EOS: -2.3 / 4 is better than -0.65, which -2.3 / 3 would not be.
    """
    first, ended, certain = -2.3, -0.65, 0.0
    rest = math.log(1 - math.exp(first) - math.exp(ended))

    def logits(tokens: tuple[int, ...]) -> list[float]:
        if not tokens:
            return [rest, -99.0, -99.0, ended, first]
        return [-99.0, -99.0, -99.0, certain if len(tokens) == 3 else -99.0, -99.0 if len(tokens) == 3 else certain]

    config = settings(beam=4, alpha=1.0, penalty="average", extra_length=3)
    searches = (
        beam_search(Scripted(logits), padded([[]]), config),
        beam_search(Scripted(logits), padded([[]]), config, early_stopping=False),
        required_search(Scripted(logits), padded([[]]), config, [()]),
    )
    for ((found,),) in searches:
        assert found.tokens == (4, 4, 4)
        assert found.score == pytest.approx(first / 4)


def test_an_empty_batch(make: Make) -> None:
    assert beam_search(make(1), torch.zeros(0, 3, dtype=torch.long), settings()) == []
    assert greedy_search(make(1), torch.zeros(0, 3, dtype=torch.long), settings()) == []


class TestConstraints:
    def test_a_prefix_may_be_longer_than_the_limit(self) -> None:
        sources, rules = padded([[4], [4] * 5]), Constraints(prefixes=((5, 5, 5, 5), (5,)))
        assert limits(sources, 2, rules) == [4, 7]
        assert limits(sources, 2, rules, longest=3) == [4, 3]

    def test_a_forced_prefix(self, make: Make) -> None:
        sources = [[4, 5, 6], [7], [8, 9]]
        prefixes = ((5, 5), (), (9, 4, 4, 4, 9, 9, 9))
        config = settings(beam=3, extra_length=3)
        model = make(1, vocabulary=12)
        rules = Constraints(prefixes=prefixes)
        found = beam_search(model, padded(sources), config, constraints=rules, n_best=2)
        plain = greedy_search(model, padded(sources), config, constraints=rules)
        for prefix, source, hypotheses, one in zip(prefixes, sources, found, plain, strict=True):
            for hypothesis in (*hypotheses, one):
                assert hypothesis.tokens[: len(prefix)] == prefix
                (wanted,) = log_probabilities(model, source, [(*hypothesis.tokens, EOS)])
                assert hypothesis.token_scores == pytest.approx(wanted, abs=1e-5)

            def outside(tokens: tuple[int, ...], prefix: tuple[int, ...] = prefix) -> set[int]:
                return set(range(12)) - {prefix[len(tokens)]} if len(tokens) < len(prefix) else set()

            if len(prefix) <= len(source) + 3:
                same(hypotheses, plain_beam_search(model, source, config, 2, forbidden=outside))

    def test_banned_sequences(self, make: Make) -> None:
        source, config = [4, 5, 6], settings(beam=4, alpha=2.0, extra_length=6)
        model = make(2, vocabulary=9)
        (free,) = beam_search(model, padded([source]), config)[0]
        assert len(free.tokens) > 2
        memo: dict[Any, list[float]] = {}
        for length in (1, 2, 3):
            for start in range(len(free.tokens) - length + 1):
                banned = free.tokens[start : start + length]

                def forbidden(tokens: tuple[int, ...], banned: tuple[int, ...] = banned) -> set[int]:
                    return {banned[-1]} if tokens[len(tokens) - len(banned) + 1 :] == banned[:-1] else set()

                rules = Constraints(banned=banning(banned))
                (found,) = beam_search(model, padded([source]), config, constraints=rules, n_best=2)
                same(found, plain_beam_search(model, source, config, 2, forbidden=forbidden, memo=memo))
                for hypothesis in found:
                    assert banned not in {hypothesis.tokens[at : at + length] for at in range(len(hypothesis.tokens))}

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_no_repeated_ngrams(self, make: Make, n: int) -> None:
        source, config = [4, 5, 6, 7, 8, 4, 5], settings(beam=4, alpha=2.0, extra_length=6)
        model = make(2, vocabulary=9)
        (free,) = beam_search(model, padded([source]), config)[0]
        assert len({free.tokens[at : at + n] for at in range(len(free.tokens) - n + 1)}) < len(free.tokens) - n + 1

        def forbidden(tokens: tuple[int, ...]) -> set[int]:
            tail = tokens[len(tokens) - n + 1 :]
            starts = range(len(tokens) - n + 1)
            return {tokens[at + n - 1] for at in starts if tokens[at : at + n - 1] == tail}

        rules = Constraints(no_repeat=n)
        (found,) = beam_search(model, padded([source]), config, constraints=rules, n_best=3)
        same(found, plain_beam_search(model, source, config, 3, forbidden=forbidden))
        for hypothesis in found:
            ngrams = [hypothesis.tokens[at : at + n] for at in range(len(hypothesis.tokens) - n + 1)]
            assert len(ngrams) == len(set(ngrams))


@pytest.mark.parametrize("held", [1, 40, 1 << 17])
def test_the_normaliser_is_log_sum_exp_however_many_rows_are_taken_at_once(
    monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    monkeypatch.setattr(module, "NORMALISED", held)
    for rows, vocabulary in ((1, 5), (7, 13), (64, 3)):
        logits = torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(rows)) * 30 + 100
        torch.testing.assert_close(module.normaliser(logits), logits.logsumexp(1))
        huge = logits * 1000  # exp of it is no number
        torch.testing.assert_close(module.normaliser(huge), huge.logsumexp(1))
