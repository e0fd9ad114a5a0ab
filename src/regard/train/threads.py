"""Two calls at once, each with half of the cores: what torch does on one core between products, both then do."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Barrier
from typing import TypeVar

import torch

from regard.model.kernels.dropout import drop_by

T = TypeVar("T")


class TwoThreads:
    """Two threads that share the cores of this one."""

    def __init__(self) -> None:
        cores, both = torch.get_num_threads(), Barrier(2)
        share = max(1, cores // 2)
        self.pool = ThreadPoolExecutor(2, "regard", initializer=torch.set_num_threads, initargs=(share,))
        wait([self.pool.submit(both.wait) for _ in range(2)])
        torch.set_num_threads(cores)  # for threads that begin later, who would take the number that was set last

    def run(self, work: Sequence[tuple[int, Callable[[], T]]]) -> list[T]:
        """What each call returns, in order. Before each is the seed of what it drops."""
        calls = [self.pool.submit(seeded, drop_by, seed, call) for seed, call in work]
        wait(calls)  # so that none still runs when another's error is raised
        return [call.result() for call in calls]


def seeded(sow: Callable[[int], object], seed: int, call: Callable[[], T]) -> T:
    """What a call returns after the seed of what is random in it was set."""
    sow(seed)
    return call()
