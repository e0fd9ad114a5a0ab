"""A job of the queue: sources of one request that wait for their hypotheses."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event

from regard.engines.engine import Engine, Request
from regard.search.hypothesis import Hypothesis
from regard.serve.batching.cancellation import CancellationToken


@dataclass(eq=False)
class Job:
    """The sources of one request that are searched with one engine and the same options."""

    engine: Engine
    request: Request
    sources: Sequence[Sequence[int]]
    cancellation: CancellationToken
    background: bool = False
    arrived: float = field(default_factory=time.monotonic)
    """The time at which the request enqueued its first source."""
    found: list[list[Hypothesis]] = field(init=False)
    waiting: deque[int] = field(init=False)
    """Indices of the sources that are not started."""
    left: int = field(init=False)
    """Number of sources without hypotheses."""
    done: Event = field(default_factory=Event)
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self.found = [[] for _ in self.sources]
        self.waiting = deque(range(len(self.sources)))
        self.left = len(self.sources)

    def joins(self, other: "Job") -> bool:
        return self.engine is other.engine and self.request == other.request

    def goes_on(self) -> bool:
        return self.error is None and not self.cancellation.cancelled

    def check(self, _: int) -> None:
        """Raise an exception if the job has failed or was cancelled; an engine calls it now and then."""
        self.cancellation.check()
        if self.error is not None:
            raise self.error

    def tokens(self, number: int) -> int:
        return len(self.sources[number]) + 1  # EOS

    def drop(self, error: BaseException) -> None:
        """Give up the sources that are not started; sources inside an engine keep the job until they are done."""
        self.error = self.error or error
        self.left -= len(self.waiting)
        self.waiting.clear()
        if not self.left:
            self.done.set()

    def end(self, error: BaseException) -> None:
        self.error = self.error or error
        self.done.set()


Taken = list[tuple[Job, int]]


def in_turn(jobs: Iterable[Job]) -> Iterator[Job]:
    """Yield jobs round-robin as long as they have sources."""
    turns = deque(jobs)
    while turns:
        job = turns.popleft()
        if job.waiting:
            yield job
            turns.append(job)
