"""Two calls at once, each with half of the cores: what torch does on one core between products, both then do."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import torch

from regard.model.dropout import drop_by

T = TypeVar("T")


class TwoThreads:
    """Two threads that share the cores of this one."""

    def __init__(self, cores: int) -> None:
        self.pool = ThreadPoolExecutor(2, "regard", initializer=torch.set_num_threads, initargs=(cores // 2,))

    def run(self, work: Sequence[tuple[int, Callable[[], T]]]) -> list[T]:
        """What each call returns, in order. Before each is the seed of what it drops."""
        calls = [self.pool.submit(_seeded, seed, call) for seed, call in work]
        wait(calls)  # so that none still runs when another's error is raised
        return [call.result() for call in calls]


def _seeded(seed: int, call: Callable[[], T]) -> T:
    drop_by(seed)
    return call()
