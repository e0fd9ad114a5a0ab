"""Batches whose texts are segmented anew: other subwords each epoch, the same ones at the same position."""

from itertools import islice, product

import numpy as np
import pytest
import torch

from regard.config.special_tokens import BOS, EOS, PAD
from regard.data.batches import Batches, Position, StepBatches
from regard.data.prepared import Prepared
from regard.data.redraw import Redraw
from regard.text.segmentation import Segmenter
from regard.text.subwords import Subwords


def batches(data: Prepared, seed: int = 1, rate: float = 0.5) -> Batches:
    return Batches(data.train, batch_tokens=150, seed=seed, redraw=Redraw.of(data, seed, rate))


def texts(data: Prepared, step: StepBatches) -> list[tuple[str, str]]:
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
    by_pair: dict[int, set[tuple[int, ...]]] = {}
    for step in stream:
        for pair, row in zip(step.batches[0].pairs, step.batches[0].target_BT.tolist(), strict=True):
            by_pair.setdefault(pair, set()).add(tuple(number for number in row if number != PAD))
    assert stream[-1].position.epoch > 0
    assert any(len(segmentations) > 1 for segmentations in by_pair.values())
    other = next(Batches(data.train, batch_tokens=150, seed=1, redraw=Redraw.of(data, 2, 0.5)).steps())
    assert not torch.equal(other.batches[0].target_BT, stream[0].batches[0].target_BT)


def test_every_part_of_the_position_counts(data: Prepared) -> None:
    redraw = Redraw.of(data, 1, 0.5)
    assert redraw is not None
    places = [Position(*place) for place in product((0, 1), repeat=3)]
    drawn = [
        [redraw(position, row, *data.train[0].pair(index)) for index in range(20)]
        for position in places
        for row in (0, 1)
    ]
    assert len({str(one) for one in drawn}) == 16


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


def test_a_text_that_would_get_too_long_keeps_its_segmentation(data: Prepared) -> None:
    redraw = Redraw.of(data, 1, 0.9, longest=14)
    assert redraw is not None
    kept = 0
    for index in range(200):
        usual = data.train[0].pair(index)
        for one, other in zip(usual, redraw(Position(batch=index), 0, *usual), strict=True):
            assert len(other) <= 13 or list(other) == one.tolist()
            kept += len(one) > 6 and list(other) == one.tolist()
    assert kept, "some would have become too long"


def test_nothing_is_drawn_unless_asked_and_symbols_of_trees_are_left_alone(data: Prepared) -> None:
    assert Redraw.of(data, 1) is None
    ids = np.array([5, 6, 7], dtype=np.uint16)
    segmenter = Segmenter(data.source_subwords, 0.5)
    assert Redraw(1, (segmenter, None))(Position(), 0, ids, ids)[1] == [5, 6, 7]
