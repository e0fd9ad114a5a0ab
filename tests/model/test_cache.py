"""The cache is a value: growing it never changes what an older one holds."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.model.cache import Cache, KeyValue


def block(positions: int, fill: int) -> KeyValue:
    return KeyValue(torch.full((2, 1, positions, 3), float(fill)), torch.full((2, 1, positions, 2), float(fill)))


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 20)), min_size=1, max_size=25))
def test_every_branch_keeps_its_history(moves: list[tuple[int, int]]) -> None:
    """Append to arbitrary earlier caches; each must hold exactly its own appends."""
    caches: list[tuple[Cache, list[int]]] = [(Cache(), [])]
    for number, (which, positions) in enumerate(moves):
        cache, history = caches[which % len(caches)]
        caches.append((cache.append(block(positions, number)), history + [number] * positions))
    for cache, history in caches[1:]:
        assert cache.length == len(history)
        assert cache.content.key_BHSK[0, 0, :, 0].tolist() == history
        assert cache.content.value_BHSV[1, 0, :, 1].tolist() == history


def test_select_is_independent() -> None:
    first = Cache().append(KeyValue(torch.randn(3, 1, 4, 2), torch.randn(3, 1, 4, 2)))
    rows = torch.tensor([2, 2, 0])
    second = first.select(rows)
    assert torch.equal(second.content.key_BHSK, first.content.key_BHSK[rows])
    grown = second.append(KeyValue(torch.zeros(3, 1, 1, 2), torch.zeros(3, 1, 1, 2)))
    assert (first.length, second.length, grown.length) == (4, 4, 5)
    assert Cache().select(rows).length == 0


def test_step_by_step_does_not_copy() -> None:
    cache = Cache().append(block(1, 0))
    where = cache.content.key_BHSK.data_ptr()
    for number in range(1, 16):
        cache = cache.append(block(1, number))
        assert cache.content.key_BHSK.data_ptr() == where
