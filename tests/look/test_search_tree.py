"""A beam search as a tree."""

from collections.abc import Callable

import pytest
from tests.support.models import next_logs, padded

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import EOS
from regard.look.search_tree import Branch, SearchTree
from regard.model.seq2seq import Seq2Seq
from regard.search.beam import beam_search


def tokens(branches: list[Branch], branch: Branch) -> tuple[int, ...]:
    return (*(() if branch.parent is None else tokens(branches, branches[branch.parent])), branch.token)


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_the_tree_is_what_a_plain_search_keeps(make: Callable[..., Seq2Seq], beam: int) -> None:
    model, source, config = make(5, vocabulary=12, sharpness=2.0), [4, 7, 5], DecodeConfig(beam=beam, extra_length=3)
    tree = SearchTree(config)
    (found,) = beam_search(model, padded([source]), config, n_best=beam, watch=tree)
    kept: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for step in range(1, tree.branches[-1].step + 1):
        last = step == len(source) + config.extra_length + 1
        candidates = sorted(
            (
                (total + log, (*before, token))
                for total, before in kept
                for token, log in enumerate(next_logs(model, source, before))
                if token == EOS or (token >= 4 and not last)
            ),
            reverse=True,
        )
        ended = [one for one in candidates[:beam] if one[1][-1] == EOS]
        kept = [one for one in candidates if one[1][-1] != EOS][:beam]
        here = [branch for branch in tree.branches if branch.step == step]
        assert [tokens(tree.branches, branch) for branch in here] == [one[1] for one in sorted([*ended, *kept])[::-1]]
        assert [branch.log_probability for branch in here] == pytest.approx(
            [one[0] for one in sorted([*ended, *kept])[::-1]], abs=1e-4
        )
    finished = sorted((branch for branch in tree.branches if branch.token == EOS), key=lambda branch: -branch.score)
    assert [tokens(tree.branches, branch)[:-1] for branch in finished[:beam]] == [one.tokens for one in found]
    assert [branch.score for branch in finished[:beam]] == [one.score for one in found]


def test_watching_changes_nothing(make: Callable[..., Seq2Seq]) -> None:
    config = DecodeConfig(beam=3, extra_length=5)
    arguments = (make(2, vocabulary=12), padded([[4, 5, 6]]), config)
    assert beam_search(*arguments, n_best=3, watch=SearchTree(config)) == beam_search(*arguments, n_best=3)
