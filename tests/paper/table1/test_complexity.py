import torch

from regard.paper.table1.complexity import _by_size, exponent
from regard.paper.table1.layer_types import D_K, TABLE


def test_exponent_of_a_power_is_its_power() -> None:
    assert exponent({size: 3 * size**2 for size in (4, 8, 32)}) == 2
    assert exponent({size: 0.5 * size for size in (4, 8, 32)}) == 1
    assert exponent({10: 10, 100: 200, 1000: 1000}) == 1  # what lies beside the line on both sides of it


def test_every_kind_is_timed_at_every_size_and_threads_come_back() -> None:
    threads = torch.get_num_threads()
    times = _by_size((16, 128), 2, lambda n: (n, D_K))
    assert times.keys() == TABLE.keys()
    for by_size in times.values():
        assert list(by_size) == [16, 128]
        assert all(0 < seconds < 10 for seconds in by_size.values())
    assert torch.get_num_threads() == threads
