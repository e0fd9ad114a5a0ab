"""Layouts: all pairs, full batches, little padding."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.layout import lay_out

# The machine is shared, so no example has a deadline.
examples = settings(deadline=None, max_examples=60)


def positions(source: np.ndarray, target: np.ndarray, order: np.ndarray, bounds: list[int]) -> int:
    groups = [order[begin:end] for begin, end in itertools.pairwise(bounds)]
    return sum(len(rows) * int(source[rows].max() + target[rows].max() + 2) for rows in groups)


@examples
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=80), st.integers(1, 70), st.integers(0))
def test_all_pairs_in_full_batches(lengths: list[tuple[int, int]], tokens: int, seed: int) -> None:
    source, target = np.array(lengths, dtype=np.int64).reshape(-1, 2).T
    order, bounds = lay_out(source, target, tokens, np.random.default_rng(seed))
    longest = np.maximum(source, target)[order] + 1
    assert sorted(order.tolist()) == list(range(len(lengths)))
    assert (bounds[0], bounds[-1]) == (0, len(lengths))
    for begin, end in itertools.pairwise(bounds):
        assert end == begin + 1 or (end - begin) * longest[begin:end].max() <= tokens
        if begin > 0 and end < len(lengths):  # all but the first, which is cut short, and the last
            assert (end + 1 - begin) * longest[begin : end + 1].max() > tokens


@settings(examples, max_examples=20)
@given(st.integers(0, 2**32), st.integers(40, 400))
def test_less_padding_than_sorting_by_one_length(seed: int, tokens: int) -> None:
    random = np.random.default_rng(seed)
    source = random.integers(1, 30, 3000)
    target = np.clip(source + random.integers(-6, 7, 3000), 1, 35)
    by_source = np.argsort(source, kind="stable")
    bounds, longest = [0], 0
    for place, row in enumerate(by_source):
        longest = max(longest, source[row] + 1, target[row] + 1)
        if (place + 1 - bounds[-1]) * longest > tokens:
            bounds.append(place)
            longest = max(source[row], target[row]) + 1
    sorted_only = positions(source, target, by_source, [*bounds, len(source)])
    assert positions(source, target, *lay_out(source, target, tokens, random)) < sorted_only


def test_pairs_of_one_length_need_no_padding() -> None:
    source = target = np.full(1000, 9)
    order, bounds = lay_out(source, target, 100, np.random.default_rng(0))
    assert positions(source, target, order, bounds) == 1000 * 20
    assert len(bounds) - 1 <= 101
