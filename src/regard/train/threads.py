"""Run two micro-batches in parallel, so that torch's single-threaded work overlaps; each has half of the cores."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Barrier
from typing import TypeVar

import torch

from regard.model.kernels.dropout import seeded_dropout

T = TypeVar("T")


class TwoThreads:
    """A pool of two threads, each with half of this thread's cores."""

    def __init__(self) -> None:
        cores, both = torch.get_num_threads(), Barrier(2)
        share = max(1, cores // 2)
        self.pool = ThreadPoolExecutor(2, "regard", initializer=torch.set_num_threads, initargs=(share,))
        wait([self.pool.submit(both.wait) for _ in range(2)])
        torch.set_num_threads(cores)  # for threads that start later, which would inherit the number set last

    def run(self, work: Sequence[tuple[int, Callable[[], T]]]) -> list[T]:
        """Run (seed, call) pairs in parallel, each after seeding its dropout; return their results in order."""
        calls = [self.pool.submit(_seeded, seed, call) for seed, call in work]
        wait(calls)  # so that none still runs when another's error is raised
        return [call.result() for call in calls]


def seeded(seed: int, call: Callable[[], T]) -> T:
    """Seed torch's generator, then return the result of the call."""
    torch.manual_seed(seed)
    return call()


def _seeded(seed: int, call: Callable[[], T]) -> T:
    """Return the result of the call, whose dropout depends on the seed alone: threads share torch's generator."""
    with seeded_dropout(seed):
        return call()
