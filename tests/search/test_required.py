from collections.abc import Callable

import pytest
from tests.support.models import banning, exhaustive, padded

from regard.config.decode import DecodeConfig
from regard.errors import UserError
from regard.model.seq2seq import Seq2Seq
from regard.search.beam import beam_search
from regard.search.constraints import Constraints
from regard.search.hypothesis import Sequences
from regard.search.required import covered, required_search

Make = Callable[..., Seq2Seq]


def holds(tokens: tuple[int, ...], sequence: tuple[int, ...]) -> bool:
    return str(list(sequence))[1:-1] in str(list(tokens))[1:-1]  # all ids have one figure


@pytest.mark.parametrize("required", [((4,),), ((6, 6),), ((4, 5), (5, 6)), ((4, 4, 5), (6,)), ((5,), (5, 6))])
def test_a_beam_as_wide_as_the_space_is_exhaustive_search(make: Make, required: Sequences) -> None:
    config = DecodeConfig(beam=2000, extra_length=3)
    for seed in range(3):
        model = make(seed)
        (found,) = required_search(model, padded([[4, 6]]), config, [required], n_best=5)
        every = [one for one in exhaustive(model, [4, 6], config) if all(holds(one[1], part) for part in required)]
        assert [one.tokens for one in found] == [tokens for _, tokens in every[:5]]
        assert [one.score for one in found] == pytest.approx([score for score, _ in every[:5]], abs=1e-4)


def test_without_requirements_it_is_beam_search(make: Make) -> None:
    sources = [[4 + (7 * row + column) % 20 for column in range(row % 6)] for row in range(12)]
    config = DecodeConfig(beam=3, extra_length=6)
    model = make(1, vocabulary=24, sharpness=2.0)
    plain = beam_search(model, padded(sources), config, n_best=2)
    for one, other in zip(required_search(model, padded(sources), config, [()] * 12, n_best=2), plain, strict=True):
        assert [hypothesis.tokens for hypothesis in one] == [hypothesis.tokens for hypothesis in other]


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_every_output_of_a_narrow_beam_holds_what_its_sentence_requires(make: Make, beam: int) -> None:
    sources = [[4, 5, 6], [7, 8], [9], []]
    required: list[Sequences] = [((9, 9),), ((5, 6, 7), (4,)), (), ((8, 8, 8, 4, 5),)]
    config = DecodeConfig(beam=beam, extra_length=4)
    model = make(2, vocabulary=10)
    rules = Constraints(no_repeat=4)
    found = required_search(model, padded(sources), config, required, n_best=beam, constraints=rules)
    for hypotheses, sequences in zip(found, required, strict=True):
        assert len(hypotheses) >= 1
        for hypothesis in hypotheses:
            assert all(holds(hypothesis.tokens, sequence) for sequence in sequences)


def test_what_can_not_be_is_told(make: Make) -> None:
    with pytest.raises(UserError, match="no output can hold .*require less"):
        rules = Constraints(banned=banning((5,)))
        required_search(make(1), padded([[4]]), DecodeConfig(extra_length=3), [((5,),)], constraints=rules)


def test_covered() -> None:
    assert covered((), (((4, 5),),)) == 0
    assert covered((9, 4), (((4, 5),),)) == 1
    assert covered((9, 4, 5, 9), (((4, 5),),)) == 2
    assert covered((4, 4), (((4, 4, 5),), ((4,),))) == 3
    assert covered((4, 9), (((4, 5),),)) == 0
    assert covered((9, 7), (((4, 5), (7,)), ((8,),))) == 2, "one of two alternatives, counted as the longer"
    assert covered((9, 4), (((4, 5), (7,)), ((8,),))) == 1
