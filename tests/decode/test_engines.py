from regard.decode.engines import LEAST_TOKENS, batches


def test_batches_for_several_workers_grow_smaller_and_lose_nothing() -> None:
    lengths = [number % 23 for number in range(2000)]
    found = list(batches(lengths, 1024, workers=2))
    assert sorted(number for batch in found for number in batch) == list(range(2000))
    sizes = [len(batch) * (lengths[batch[0]] + 1) for batch in found]
    assert max(sizes) <= 1024
    assert sizes[0] > 900 and sizes[-1] <= LEAST_TOKENS
    assert len(list(batches([9] * 30, 1024, workers=2))) > 1, "30 sentences are shared"
    assert len(list(batches([9] * 30, 1024))) == 1
