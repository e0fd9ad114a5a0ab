"""Batches whose texts are segmented anew: other subwords each epoch, the same ones at the same position."""

from itertools import islice

import numpy as np
import pytest
import torch

from regard.config.special_tokens import BOS, EOS, PAD
from regard.data.batches import Batches, Position, Step
from regard.data.prepared import Prepared
from regard.data.redraw import Redraw
from regard.text.subwords import Subwords


def batches(data: Prepared, seed: int = 1, rate: float = 0.5) -> Batches:
    return Batches(data.train, batch_tokens=150, seed=seed, redraw=Redraw.of(data, rate, seed))


def texts(data: Prepared, step: Step) -> list[tuple[str, str]]:
    source, target = data.source_subwords, data.target_subwords
    assert isinstance(target, Subwords)
    return [
        (source.decode(one[one != PAD].tolist()), target.decode(other[other != PAD].tolist()))
        for batch in step.batches
        for one, other in zip(batch.source_BS, batch.target_BT, strict=True)
    ]


def test_texts_stay_and_their_segmentation_changes(data: Prepared) -> None:
    usual = Batches(data.train, batch_tokens=150, seed=1)
    plain, drawn = next(usual.steps()), next(batches(data).steps())
    assert texts(data, plain) == texts(data, drawn)
    assert drawn.target_tokens > plain.target_tokens
    [batch] = drawn.batches
    assert int((batch.target_BT != PAD).sum()) - len(batch.target_BT) == drawn.target_tokens
    assert int((batch.source_BS != PAD).sum()) == drawn.source_tokens
    assert (batch.target_BT[:, 0] == BOS).all() and ((batch.target_BT == EOS).sum(1) == 1).all()


def test_a_position_has_one_segmentation_and_another_epoch_another(data: Prepared) -> None:
    stream = list(islice(batches(data).steps(), 40))
    again = next(batches(data).steps(stream[7].position))
    assert torch.equal(again.batches[0].target_BT, stream[7].batches[0].target_BT)
    by_pair = {}
    for step in stream:
        for pair, row in zip(step.batches[0].pairs, step.batches[0].target_BT.tolist(), strict=True):
            by_pair.setdefault(pair, set()).add(tuple(number for number in row if number != PAD))
    assert stream[-1].position.epoch > 0
    assert any(len(segmentations) > 1 for segmentations in by_pair.values())
    other = next(Batches(data.train, batch_tokens=150, seed=1, redraw=Redraw.of(data, 0.5, 2)).steps())
    assert not torch.equal(other.batches[0].target_BT, stream[0].batches[0].target_BT)


@pytest.mark.parametrize("world", [2, 3])
def test_processes_share_one_stream_and_count_alike(data: Prepared, world: int) -> None:
    alone = next(batches(data).steps(group=4))
    shares = [next(batches(data).steps(group=4, rank=rank, world=world)) for rank in range(world)]
    assert {(share.source_tokens, share.target_tokens) for share in shares} == {
        (alone.source_tokens, alone.target_tokens)
    }
    joined = [batch for number in range(4) for batch in (shares[number % world].batches[number // world],)]
    for one, other in zip(alone.batches, joined, strict=True):
        assert torch.equal(one.source_BS, other.source_BS) and torch.equal(one.target_BT, other.target_BT)


def test_a_text_that_would_get_too_long_stays(data: Prepared) -> None:
    stream = Batches(
        data.train, batch_tokens=150, seed=1, longest=12, redraw=lambda position, row, side, ids: [*ids.tolist()] * 3
    )
    for step in islice(stream.steps(), 5):
        for batch in step.batches:
            assert max(batch.plan.source_B.max(), batch.plan.target_B.max()) <= 11
            for (corpus, index), length in zip(batch.pairs, batch.plan.source_B.tolist(), strict=True):
                usual = len(data.train[corpus].pair(index)[0])
                assert length == (3 * usual if 3 * usual + 1 <= 12 else usual)


def test_the_symbols_of_trees_are_left_alone() -> None:
    ids = np.array([5, 6, 7], dtype=np.uint16)
    assert Redraw((None, None), 1)(Position(), 0, 1, ids) == [5, 6, 7]
