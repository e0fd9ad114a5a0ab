"""Batches: every pair, within the budget, in an order that anyone can find again."""

import gzip
import io
import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config.special_tokens import BOS, EOS, PAD
from regard.data.batches import Batch, Batches, BatchPlan, Position, TooLong, evaluation_batches
from regard.errors import UserError

# The machine is shared, so no example has a deadline.
examples = settings(deadline=None, max_examples=60)


class Memory:
    """A corpus of given lengths; the ids tell pair and place. It remembers which pairs were read."""

    def __init__(self, lengths: Sequence[tuple[int, int]], weight: float = 1.0) -> None:
        self.weight = weight
        self.sizes = np.array(lengths, dtype=np.uint32).reshape(-1, 2)
        self.read: list[int] = []

    def __len__(self) -> int:
        return len(self.sizes)

    def lengths(self, indices: Any) -> Any:
        return self.sizes[indices, 0], self.sizes[indices, 1]

    def pair(self, index: int) -> Any:
        self.read.append(index)
        source, target = self.sizes[index]
        return (np.arange(source) + 4 + index).astype(np.uint16), (np.arange(target) + 5 + index).astype(np.uint16)


def epoch_of(batches: Batches, epoch: int) -> list[BatchPlan]:
    plans = batches.plans(Position(epoch))
    return list(itertools.takewhile(lambda plan: plan.position.epoch == epoch, plans))


def members(plan: BatchPlan) -> list[tuple[int, int]]:
    return list(zip(plan.corpus_B.tolist(), plan.index_B.tolist(), strict=True))


def visits(plans: list[BatchPlan]) -> Counter[tuple[int, int]]:
    return Counter(pair for plan in plans for pair in members(plan))


def same(one: Batch, other: Batch) -> bool:
    return (
        (one.plan.position, one.plan.after, one.pairs) == (other.plan.position, other.plan.after, other.pairs)
        and torch.equal(one.source_BS, other.source_BS)
        and torch.equal(one.target_BT, other.target_BT)
    )


def padding(plans: list[BatchPlan]) -> float:
    """The share of PAD among all positions of the source and target tensors."""
    positions = sum(len(plan.index_B) * int(plan.source_B.max() + 1 + plan.target_B.max() + 2) for plan in plans)
    return 1 - sum(int(plan.source_B.sum() + plan.target_B.sum()) + 3 * len(plan.index_B) for plan in plans) / positions


lengths_of_corpora = st.lists(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60), min_size=1, max_size=3
).filter(any)


@st.composite
def streams(draw: st.DrawFn, weights: Sequence[float] = (1.0,)) -> Batches:
    """Batches over a few tiny corpora, often of several windows and blocks."""
    splits = [Memory(lengths, draw(st.sampled_from(weights))) for lengths in draw(lengths_of_corpora)]
    if sum(split.weight * len(split) for split in splits) < 1:
        splits[0] = Memory([(3, 4)], 1.0)
    tokens = draw(st.integers(13, 90))
    window, block = draw(st.integers(4, 80)), draw(st.integers(1, 9))
    return Batches(splits, batch_tokens=tokens, seed=draw(st.integers(0, 2**63 - 1)), window=window, block=block)


@examples
@given(streams(), st.integers(0, 5))
def test_each_pair_comes_exactly_once_an_epoch(batches: Batches, epoch: int) -> None:
    every = {(corpus, index): 1 for corpus, split in enumerate(batches.splits) for index in range(len(split))}
    assert visits(epoch_of(batches, epoch)) == every


@examples
@given(streams(weights=(0.3, 0.5, 1.0, 1.7)))
def test_a_batch_holds_its_pairs_within_the_budget(batches: Batches) -> None:
    for plan in itertools.islice(batches.plans(), 20):
        batch = batches.build(plan)
        rows = [batches.splits[corpus].pair(index) for corpus, index in batch.pairs]
        sources = [[*source.tolist(), EOS] for source, _ in rows]
        targets = [[BOS, *target.tolist(), EOS] for _, target in rows]
        longest = max(map(len, sources)), max(map(len, targets))
        assert batch.source_BS.tolist() == [row + [PAD] * (longest[0] - len(row)) for row in sources]
        assert batch.target_BT.tolist() == [row + [PAD] * (longest[1] - len(row)) for row in targets]
        assert batch.source_BS.dtype == batch.target_BT.dtype == torch.int64
        assert len(rows) * longest[0] <= batches.batch_tokens
        assert len(rows) * (longest[1] - 1) <= batches.batch_tokens  # the decoder is fed, and predicts, one less
        assert plan.source_tokens == int((batch.source_BS != PAD).sum())
        assert plan.target_tokens == int((batch.target_BT[:, 1:] != PAD).sum())


@examples
@given(streams(), st.integers(1, 5))
def test_parts_hold_every_pair_once_and_less_padding(batches: Batches, count: int) -> None:
    for plan in itertools.islice(batches.plans(), 20):
        batch = batches.build(plan)
        parts = batch.parts(count)
        assert 1 <= len(parts) <= min(count, len(plan.index_B))
        assert sorted(itertools.chain(*map(unpadded, parts))) == sorted(unpadded((batch.source_BS, batch.target_BT)))
        for source_BS, target_BT in parts:
            assert len(source_BS) == len(target_BT) > 0
            assert (source_BS[:, -1] != PAD).any() and (target_BT[:, -1] != PAD).any()
        for (_, shorter_BT), (_, longer_BT) in itertools.pairwise(parts):
            assert (shorter_BT != PAD).sum(1).max() <= (longer_BT != PAD).sum(1).min()


@pytest.mark.parametrize("count", [2, 5])
def test_parts_have_as_many_tokens(count: int) -> None:
    lengths = [(9, length) for length in range(1, 101)]
    batches = Batches([Memory(lengths, 1.0)], batch_tokens=100_000, seed=1)
    tokens = [
        sum(int((side != PAD).sum()) for side in part) for part in batches.build(next(batches.plans())).parts(count)
    ]
    assert len(tokens) == count and max(tokens) < 1.2 * min(tokens)


def unpadded(tensors: tuple[torch.Tensor, torch.Tensor]) -> list[tuple[list[int], list[int]]]:
    source, target = ([[token for token in row if token != PAD] for row in side.tolist()] for side in tensors)
    return list(zip(source, target, strict=True))


@examples
@given(streams(weights=(0.5, 1.0, 2.0)), st.integers(0, 40))
def test_a_run_resumes_at_the_exact_batch(batches: Batches, place: int) -> None:
    unbroken = list(itertools.islice(batches.plans(), place + 12))
    again = Batches(
        batches.splits,
        batch_tokens=batches.batch_tokens,
        seed=batches.seed,
        window=batches.window,
        block=batches.block,
    )
    start = Position(*unbroken[place].after)
    resumed = list(itertools.islice(again.plans(start), 11))
    assert all(
        same(batches.build(one), again.build(two)) for one, two in zip(unbroken[place + 1 :], resumed, strict=True)
    )
    assert next(again.plans(unbroken[place].position)).position == unbroken[place].position
    assert all(one.position < two.position for one, two in itertools.pairwise(unbroken))


@examples
@given(streams(weights=(0.5, 1.0, 2.0)), st.integers(1, 7), st.integers(1, 5), st.integers(0, 9))
def test_any_number_of_processes_share_the_same_stream(batches: Batches, group: int, world: int, skip: int) -> None:
    steps = 3
    start = next(itertools.islice(batches.plans(), skip, None)).position
    plans = list(itertools.islice(batches.plans(start), group * steps))
    shares = [
        list(itertools.islice(batches.steps(start, group=group, rank=rank, world=world), steps))
        for rank in range(world)
    ]
    for number, step in enumerate(zip(*shares, strict=True)):
        expected = plans[number * group : (number + 1) * group]
        interleaved = itertools.chain(*itertools.zip_longest(*(share.batches for share in step)))
        together = [batch for batch in interleaved if batch is not None]
        assert all(same(one, batches.build(two)) for one, two in zip(together, expected, strict=True))
        for share in step:
            assert (share.position, share.after) == (expected[0].position, expected[-1].after)
            assert share.target_tokens == sum(plan.target_tokens for plan in expected)
            assert share.source_tokens == sum(plan.source_tokens for plan in expected)


def test_a_process_reads_only_its_own_tokens() -> None:
    split = Memory([(3, 4)] * 200)
    batches = Batches([split], batch_tokens=20, seed=1)
    steps = list(itertools.islice(batches.steps(Position(3, 0, 5), group=4, rank=1, world=2), 3))
    own = [index for step in steps for batch in step.batches for _, index in batch.pairs]
    assert split.read == own and [len(step.batches) for step in steps] == [2, 2, 2]


@examples
@given(streams(weights=(0.25, 1 / 3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)), st.integers(1, 6))
def test_weights_are_kept_as_exactly_as_whole_pairs_allow(batches: Batches, epochs: int) -> None:
    counts = visits([plan for epoch in range(epochs) for plan in epoch_of(batches, epoch)])
    for corpus, split in enumerate(batches.splits):
        came = [counts[corpus, index] for index in range(len(split))]
        assert abs(sum(came) - epochs * split.weight * len(split)) <= 0.5 + 1e-9
        if came:
            assert max(came) - min(came) <= 1


@pytest.mark.parametrize(("weight", "epochs", "times"), [(2.0, 1, 2), (0.5, 2, 1), (1 / 3, 3, 1), (1.5, 2, 3)])
@pytest.mark.parametrize("window", [1000, 30])
def test_a_weight_is_the_number_of_passes_an_epoch_makes(weight: float, epochs: int, times: int, window: int) -> None:
    splits = [Memory([(3, 3)] * 101), Memory([(4, 2)] * 99, weight)]
    batches = Batches(splits, batch_tokens=40, seed=5, window=window, block=4)
    counts = visits([plan for epoch in range(epochs) for plan in epoch_of(batches, epoch)])
    assert {counts[0, index] for index in range(101)} == {epochs}
    assert {counts[1, index] for index in range(99)} == {times}


def test_an_epoch_of_half_a_corpus_is_another_half_than_the_last_round() -> None:
    batches = Batches([Memory([(3, 3)] * 100, 0.5)], batch_tokens=40, seed=5)
    halves = [set(visits(epoch_of(batches, epoch))) for epoch in range(4)]
    assert not halves[0] & halves[1] and not halves[2] & halves[3]
    assert halves[0] not in (halves[2], halves[3])


def test_every_window_mixes_the_corpora() -> None:
    batches = Batches([Memory([(3, 3)] * 300), Memory([(3, 3)] * 100)], batch_tokens=40, seed=5, window=40, block=4)
    for window in range(10):
        plans = [plan for plan in epoch_of(batches, 0) if plan.position.window == window]
        assert Counter(corpus for plan in plans for corpus, _ in members(plan)) == {0: 30, 1: 10}


def test_a_window_may_be_empty() -> None:
    batches = Batches([Memory([(3, 3)])] * 5, batch_tokens=40, seed=5, window=2)
    plans = epoch_of(batches, 0)
    assert visits(plans) == {(corpus, 0): 1 for corpus in range(5)}
    assert plans[0].position == Position(0, 2) and plans[-1].after == Position(1)


def test_a_large_corpus_is_read_in_blocks() -> None:
    batches = Batches([Memory([(3, 3)] * 10_000)], batch_tokens=40, seed=5, window=1000, block=50)
    for window in range(10):
        plans = [plan for plan in epoch_of(batches, 0) if plan.position.window == window]
        assert len({index // 50 for plan in plans for _, index in members(plan)}) <= 1000 // 50 + 1


def test_epochs_and_seeds_differ_and_the_same_seed_does_not() -> None:
    random = np.random.default_rng(0)
    split = Memory(random.integers(1, 30, (2000, 2)).tolist())
    one, other, again = (Batches([split], batch_tokens=300, seed=seed) for seed in (1, 2, 1))
    first, second = epoch_of(one, 0), epoch_of(one, 1)
    assert [members(plan) for plan in first] == [members(plan) for plan in epoch_of(again, 0)]
    assert [members(plan) for plan in first] != [members(plan) for plan in epoch_of(other, 0)]
    together = [{frozenset(members(plan)) for plan in plans} for plans in (first, second)]
    assert len(together[0] & together[1]) < 0.02 * len(first)  # almost no batch comes back
    longest = [int(plan.target_B.max()) for plan in first]
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.3  # batches lie in no order of length


@pytest.mark.parametrize("lengths", [(0, 0), (1, 1), (1, 9), (9, 9)])
def test_one_pair(lengths: tuple[int, int]) -> None:
    batches = Batches([Memory([lengths])], batch_tokens=10, seed=0)
    for epoch, step in enumerate(itertools.islice(batches.steps(), 3)):
        assert (step.position, step.after) == (Position(epoch), Position(epoch + 1))
        assert step.batches[0].source_BS.shape == (1, lengths[0] + 1)
        assert step.batches[0].target_BT.shape == (1, lengths[1] + 2)


def test_pairs_that_fill_the_budget_exactly() -> None:
    batches = Batches([Memory([(9, 4)] * 12 + [(49, 49)])], batch_tokens=50, seed=0)
    for epoch in range(8):
        shapes = Counter(tuple(batch.source_BS.shape) for batch in map(batches.build, epoch_of(batches, epoch)))
        assert shapes[1, 50] == 1 and shapes[5, 10] >= 1


@pytest.mark.parametrize(("tokens", "longest"), [(33, None), (60, 33)])
def test_over_long_pairs_are_left_out_and_counted(tokens: int, longest: int | None) -> None:
    splits = [Memory([(40, 1)] + [(5, 5)] * 30), Memory([(5, 5)] * 70 + [(20, 33), (32, 32), (33, 3)])]
    batches = Batches(splits, batch_tokens=tokens, seed=0, window=50, longest=longest)
    assert batches.too_long == (TooLong(1, 41), TooLong(2, 34))
    every = {(0, index) for index in range(1, 31)} | {(1, index) for index in (*range(70), 71)}
    for epoch in range(2):
        assert visits(epoch_of(batches, epoch)) == Counter(every)
    assert Batches(splits, batch_tokens=41, seed=0).too_long == (TooLong(0, 41), TooLong(0, 34))


def test_a_window_of_over_long_pairs_alone() -> None:
    """A corpus larger than a window is reordered by blocks: here one window has nothing to train on."""
    batches = Batches([Memory([(50, 50)] * 10 + [(5, 5)] * 10)], batch_tokens=40, seed=5, window=10, block=10)
    assert visits(epoch_of(batches, 0)) == Counter((0, index) for index in range(10, 20))
    for position in (Position(0, 0), Position(0, 1), Position(1, 0), Position(1, 1)):
        assert members(next(batches.plans(position)))


def test_over_long_pairs_alone_are_refused() -> None:
    with pytest.raises(UserError, match="all 3 training pairs have a text of 34 or more tokens.*make these larger"):
        Batches([Memory([(33, 1), (1, 33)]), Memory([]), Memory([(60, 2)])], batch_tokens=33, seed=0)


def test_nothing_to_train_on_is_refused() -> None:
    for splits in ([], [Memory([])], [Memory([(1, 1)], weight=0.5)]):
        with pytest.raises(UserError, match="no pair"):
            Batches(splits, batch_tokens=10, seed=0)


@pytest.mark.parametrize("position", [Position(0, 1, 0), Position(0, 0, 99)])
def test_a_position_of_other_data_is_refused(position: Position) -> None:
    with pytest.raises(UserError, match="resume with the data"):
        next(Batches([Memory([(1, 1)] * 50)], batch_tokens=10, seed=0).plans(position))


def test_evaluation_leaves_out_what_a_model_cannot_read() -> None:
    split = Memory([(5, 5), (9, 2), (2, 10), (10, 10)])
    found = [index for batch in evaluation_batches(split, 8, longest=10) for _, index in batch.pairs]
    assert sorted(found) == [0, 1]


@examples
@given(lengths_of_corpora, st.integers(5, 60), st.integers(1, 80))
def test_evaluation_takes_every_pair_once(lengths: list[list[tuple[int, int]]], tokens: int, window: int) -> None:
    split = Memory(lengths[0])
    batches = list(evaluation_batches(split, tokens, window=window))
    assert sorted(index for batch in batches for _, index in batch.pairs) == list(range(len(split)))
    for batch in batches:
        (rows, source), (_, target) = batch.source_BS.shape, batch.target_BT.shape
        assert rows == 1 or rows * max(source, target - 1) <= tokens
    again = evaluation_batches(split, tokens, window=window)
    assert all(same(one, two) for one, two in zip(batches, again, strict=True))


@pytest.mark.parametrize(("tokens", "most"), [(4096, 0.05), (25_000, 0.14)])
def test_little_padding_on_multi30k(multi30k: Memory, tokens: int, most: float) -> None:
    batches = Batches([multi30k], batch_tokens=tokens, seed=1)
    assert max(padding(epoch_of(batches, epoch)) for epoch in range(3)) < most


@pytest.fixture(scope="module")
def multi30k(corpora: Path) -> Memory:
    """Lengths of the training pairs in subwords of a shared vocabulary of 8,000."""
    sides = [
        gzip.decompress((corpora / "multi30k" / f"train.{language}.gz").read_bytes()).decode().splitlines()
        for language in ("en", "de")
    ]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sides[0] + sides[1]),
        model_writer=model,
        vocab_size=8000,
        model_type="bpe",
        byte_fallback=True,
        minloglevel=2,
    )
    subwords = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return Memory([(len(one), len(two)) for one, two in zip(*map(subwords.encode, sides), strict=True)])
