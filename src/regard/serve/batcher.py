"""Sentences of many clients, searched together.

Each request waits in a thread of its own for what it asked the engine. A few workers take sentences from all of them in
turn, so that a long text does not keep a short one waiting, and search those that want the same of the same engine as
one batch; the engine sorts them by length. While nothing is searched, nobody waits for company. What waits is bounded
in tokens: what a request asks for comes in portions, of which the first is refused if there is no room, and the others
wait for it.
"""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Condition, Event, Thread

from regard.decode.engines import Engine, Progress, Request, quiet
from regard.decode.hypothesis import Hypothesis
from regard.serve.cancellation import CancellationToken
from regard.serve.metrics import Metrics
from regard.serve.refused import busy, gone

POLL = 0.02  # seconds between two looks whether there is room
LAST_SECONDS = 2.0  # for all batches that are being searched when all is closed


@dataclass(eq=False)
class Job:
    """What one request asked of an engine."""

    engine: Engine
    request: Request
    sources: Sequence[Sequence[int]]
    cancellation: CancellationToken
    found: list[list[Hypothesis]] = field(init=False)
    waiting: deque[int] = field(init=False)
    """The numbers of the sources that nobody has begun with."""
    left: int = field(init=False)
    """Sources without hypotheses."""
    arrived: float = field(default_factory=time.monotonic)
    done: Event = field(default_factory=Event)
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self.found = [[] for _ in self.sources]
        self.waiting = deque(range(len(self.sources)))
        self.left = len(self.sources)

    def joins(self, other: "Job") -> bool:
        return self.engine is other.engine and self.request == other.request

    def tokens(self, number: int) -> int:
        return len(self.sources[number]) + 1  # EOS

    def end(self, error: BaseException) -> None:
        self.error = self.error or error
        self.done.set()


Taken = list[tuple[Job, int]]


class Batcher:
    """The queue, and the threads that empty it."""

    def __init__(
        self, workers: int, queue_tokens: int, batch_tokens: int, join_seconds: float, metrics: Metrics
    ) -> None:
        self.queue_tokens, self.batch_tokens, self.join_seconds = queue_tokens, batch_tokens, join_seconds
        self.metrics = metrics
        self.jobs: deque[Job] = deque()
        self.tokens = 0
        """Of all sources that wait."""
        self.begun: set[Job] = set()
        """Those that somebody waits for, in the queue or out of it."""
        self.searching = 0
        """Batches that are out of the queue."""
        self.closed = False
        self._changed = Condition()
        self.threads = [Thread(target=self._work, name=f"search-{n}", daemon=True) for n in range(workers)]
        for thread in self.threads:
            thread.start()

    def search(
        self, engine: Engine, sources: Sequence[Sequence[int]], request: Request, cancellation: CancellationToken
    ) -> list[list[Hypothesis]]:
        """What the engine finds, in others' company; Refused if too many wait, or it takes too long."""
        found: list[list[Hypothesis]] = []
        while len(found) < len(sources):
            job = Job(engine, request, self._portion(sources, len(found)), cancellation)
            self._admit(job)
            job.done.wait()
            with self._changed:
                self.begun.discard(job)
            if job.error is not None:
                raise job.error
            found += job.found
        return found

    def _portion(self, sources: Sequence[Sequence[int]], start: int) -> Sequence[Sequence[int]]:
        """As many sources as make two batches."""
        tokens, stop = 0, start
        while stop < len(sources) and (stop == start or tokens + len(sources[stop]) < 2 * self.batch_tokens):
            tokens += len(sources[stop]) + 1
            stop += 1
        return sources[start:stop]

    def _admit(self, job: Job) -> None:
        """Put a job in the queue."""
        cost = sum(map(job.tokens, job.waiting))
        with self._changed:
            while self.closed or (self.tokens and self.tokens + cost > self.queue_tokens):
                if self.closed or not job.cancellation.begun:
                    self.metrics.refused.labels("queue").inc()
                    raise busy()
                if job.cancellation.cancelled:
                    raise gone()
                self._changed.wait(POLL)
            job.cancellation.begun = True
            self.jobs.append(job)
            self.begun.add(job)
            self._count(cost)
            self._changed.notify_all()

    def wake(self) -> None:
        """Somebody has given up: let what belongs to it be dropped now."""
        with self._changed:
            self._drop()

    def close(self) -> None:
        """Take nothing more, and let nobody wait any longer."""
        with self._changed:
            self.closed = True
            for job in self.begun:
                job.end(busy())
            self.jobs.clear()
            self._count(-self.tokens)
            self._changed.notify_all()
        last = time.monotonic() + LAST_SECONDS
        for thread in self.threads:  # Python can't end well while they are in an engine
            thread.join(max(0.0, last - time.monotonic()))

    def _work(self) -> None:
        answered = 1
        while taken := self._take(answered):
            first, answered = taken[0][0], len({id(job) for job, _ in taken})
            try:
                found = first.engine.search([job.sources[number] for job, number in taken], first.request)
                self._hand_out(taken, found)
            except BaseException as error:
                for job, _ in taken:
                    job.end(error)
            with self._changed:
                self.searching -= 1

    def _hand_out(self, taken: Taken, found: list[list[Hypothesis]]) -> None:
        with self._changed:
            for (job, number), hypotheses in zip(taken, found, strict=True):
                job.found[number] = hypotheses
                job.left -= 1
                if not job.left:
                    job.done.set()

    def _take(self, answered: int) -> Taken:
        """The next batch for a worker that has answered so many; nothing when the queue is closed."""
        free = time.monotonic()
        with self._changed:
            while not self.closed:
                self._drop()
                patience = self._patience(free, answered)
                if patience is not None and patience <= 0:
                    return self._batch()
                self._changed.wait(patience)
        return []

    def _patience(self, free: float, answered: int) -> float | None:
        """Seconds until a worker begins with a batch, if it is free since then; None if nothing waits.

        Those whom it answered last may ask again at once, and join; when as many have come, nobody else is waited for.
        """
        if not self.jobs:
            return None
        if not self.searching or len(self.jobs) >= answered or self.tokens >= self.batch_tokens:
            return 0.0
        return max(self.jobs[0].arrived, free) + self.join_seconds - time.monotonic()

    def _batch(self) -> Taken:
        """Sentences of all that want the same as the first, one of each in turn, up to a number of tokens."""
        first = self.jobs[0]
        company = [job for job in self.jobs if job.joins(first)]
        taken: Taken = []
        tokens = 0
        turns = deque(company)
        while turns:
            job = turns.popleft()
            number = job.waiting[0]
            if taken and tokens + job.tokens(number) > self.batch_tokens:
                break
            tokens += job.tokens(number)
            taken.append((job, job.waiting.popleft()))
            if job.waiting:
                turns.append(job)
        self._count(-tokens)
        self.searching += 1
        served = {id(job) for job, _ in taken}
        others = [job for job in self.jobs if id(job) not in served]
        self.jobs = deque([*others, *(job for job in company if id(job) in served and job.waiting)])
        self.metrics.batch_sentences.observe(len(taken))
        self.metrics.batch_requests.observe(len(served))
        self.metrics.tokens.inc(tokens)
        return taken

    def _drop(self) -> None:
        """Take out what nobody waits for any longer."""
        for job in [job for job in self.jobs if job.error is not None or job.cancellation.cancelled]:
            self.jobs.remove(job)
            self._count(-sum(map(job.tokens, job.waiting)))
            self.metrics.dropped.inc(len(job.waiting))
            job.end(gone())

    def _count(self, tokens: int) -> None:
        self.tokens += tokens
        self.metrics.queue_tokens.set(self.tokens)


class Queued:
    """An engine that one request uses: it waits in the queue for the engine behind."""

    def __init__(self, batcher: Batcher, engine: Engine, cancellation: CancellationToken) -> None:
        self.batcher, self.engine, self.cancellation = batcher, engine, cancellation

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        found = self.batcher.search(self.engine, sources, request, self.cancellation)
        progress(len(sources))
        return found
