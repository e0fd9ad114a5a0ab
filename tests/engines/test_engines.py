import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.engines.engine import batches


@given(st.lists(st.integers(0, 300), max_size=200), st.integers(1, 2048), st.integers(1, 4))
def test_batches_lose_nothing_and_stay_within_their_size(lengths: list[int], most: int, workers: int) -> None:
    found = batches(lengths, most, workers)
    assert sorted(number for batch in found for number in batch) == list(range(len(lengths)))
    assert [lengths[number] for batch in found for number in batch] == sorted(lengths, reverse=True)
    assert all(len(batch) == 1 or len(batch) * (lengths[batch[0]] + 1) <= most for batch in found)


@pytest.mark.parametrize("sentences", [30, 400, 2000])
def test_workers_get_as_many_batches_of_about_one_size(sentences: int) -> None:
    lengths = [number % 23 for number in range(sentences)]
    found = batches(lengths, 1024, workers=2)
    sizes = [len(batch) * (lengths[batch[0]] + 1) for batch in found]
    assert len(found) % 2 == 0
    assert min(sizes[:-1]) > 0.8 * max(sizes) and max(sizes) <= 1024
    assert len(found) - len(batches(lengths, 1024)) <= 1


def test_one_worker_gets_as_much_as_it_may_have() -> None:
    assert len(batches([9] * 30, 1024)) == 1
    assert len(batches([9] * 30, 1024, workers=2)) == 2
    assert len(batches([9] * 12, 1024, workers=2)) == 1, "a few sentences are searched together"
    assert batches([], 1024, workers=2) == []
