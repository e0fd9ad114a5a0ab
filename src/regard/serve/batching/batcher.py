"""Dynamic batching: sentences of many clients are searched together.

Each request waits in a thread of its own. A few workers take sentences from all requests round-robin, so that a long
text does not delay a short one, and search those with the same engine and options as one batch; the engine sorts them
by length. An idle server starts a batch at once.

An engine that takes up sentences while it searches needs no batches: each request's thread enters it by itself, as soon
as there are slots (continuous batching).

Admission control: a request is rejected unless the measured rate allows to answer it, and all that were admitted before
it, within `answer_seconds`, less a margin and the delay of the event loop. Documents, and texts that take longer by
themselves, are background work: they fill the remaining space of a batch, and get at least one sentence in each. The
queue is bounded in tokens, too: a request's sources are enqueued in portions; the first is rejected if there is no
space, the others wait for it.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from threading import Condition, Thread

from regard.engines.engine import ContinuousEngine, Engine, Progress, Request, quiet
from regard.search.hypothesis import Hypothesis
from regard.serve.batching.cancellation import CancellationToken
from regard.serve.batching.job import Job, Taken, in_turn
from regard.serve.batching.slots import Slots
from regard.serve.batching.throughput import Throughput
from regard.serve.metrics import Metrics
from regard.serve.refused import Refused, busy, gone
from regard.serve.settings import Settings

POLL = 0.02  # seconds between checks for space in the queue
OVERDUE = 0.5  # share of answer_seconds after which a job is served before round-robin
PLANNED_SHARE = 0.75  # share of answer_seconds that admitted work may fill; batches side by side slow each other down
LOOP_TURNS = 2  # turns of the event loop that a request and its answer wait for
BATCH_SHARE = 0.25  # share of answer_seconds that a batch may take
SMALLEST_BATCH = 128  # tokens
MOST_BACKGROUND = 1  # texts at once that take longer than answer_seconds by themselves
LAST_SECONDS = 2.0  # to finish running batches on close


class Batcher:
    """The queue, and the worker threads that process it."""

    def __init__(self, workers: int, settings: Settings, metrics: Metrics) -> None:
        self.queue_tokens, self.join_seconds = settings.queue_tokens, settings.join_seconds
        self.batch_tokens, self.answer_seconds = settings.batch_tokens, settings.answer_seconds
        self.metrics = metrics
        self.throughput = Throughput()
        self.measured = 0.0
        """Time up to which the throughput was measured, while anything is searched."""
        self.pending = 0
        """Source tokens admitted to be answered in time and not yet searched."""
        self.entering = 0
        """Estimated tokens of requests that have arrived and are not yet admitted or rejected."""
        self.loop_delay = 0.0
        """Seconds that the event loop is late."""
        self.background = 0
        """Number of admitted texts that take longer than `answer_seconds`."""
        self.slots = Slots()
        self.jobs: deque[Job] = deque()
        """Jobs that wait for a batch."""
        self.tokens = 0
        """Tokens of all waiting sources."""
        self.begun: set[Job] = set()
        """Active jobs, in the queue or being searched."""
        self.searching = 0
        """Number of batches being searched."""
        self.closed = False
        self._changed = Condition()
        self.threads = [Thread(target=self._work, name=f"search-{n}", daemon=True) for n in range(workers)]
        for thread in self.threads:
            thread.start()

    def search(
        self, engine: Engine, sources: Sequence[Sequence[int]], request: Request, cancellation: CancellationToken
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of the engine; raise Refused if that would take too long."""
        cost, arrived = sum(len(source) + 1 for source in sources), time.monotonic()
        background = self._accept(cost, cancellation)
        found: list[list[Hypothesis]] = []
        try:
            while len(found) < len(sources):
                portion = self._portion(sources, len(found))
                job = Job(engine, request, portion, cancellation, background, arrived)
                slots = engine.slots(request) if isinstance(engine, ContinuousEngine) else 0
                self._enqueue(job, batched=not slots)
                if slots:
                    self._search_in_slots(job, slots)
                job.done.wait()
                with self._changed:
                    self.begun.discard(job)
                if job.error is not None:
                    raise job.error
                found += job.found
                searched = sum(len(source) + 1 for source in portion)
                self._release(searched, background, cancellation)
                cost -= searched
        finally:
            self._release(cost, background, cancellation, last=True)
        return found

    def full(self, cost: int, entering: int = 0) -> bool:
        """Return whether a text of so many tokens, behind so many that enter, can't be answered in time. Without other
        work it is accepted."""
        if self.throughput.seconds(cost) > self.answer_seconds:
            return self.background >= MOST_BACKGROUND
        before = self.pending + entering
        seconds = self.throughput.seconds(before + cost) + LOOP_TURNS * self.loop_delay
        return before > 0 and seconds > PLANNED_SHARE * self.answer_seconds

    def overload(self) -> Refused:
        """Return the error for work that can't be done in time, and count it."""
        self.metrics.refused.labels("overload").inc()
        return busy(self.throughput.seconds(self.pending))

    def reserve(self, cost: int, cancellation: CancellationToken) -> None:
        """Admit a text of an estimated number of tokens, or raise Refused."""
        with self._changed:
            if self.full(cost):
                raise self.overload()
            if self.throughput.seconds(cost) <= self.answer_seconds:
                cancellation.reserved = cost
                self.pending += cost

    def unreserve(self, cancellation: CancellationToken) -> None:
        """Give back what is still reserved."""
        with self._changed:
            self.pending -= cancellation.reserved
            cancellation.reserved = 0

    def _accept(self, cost: int, cancellation: CancellationToken) -> bool:
        """Admit sources of so many tokens, or raise Refused; return whether they are background work."""
        with self._changed:
            if cancellation.document:
                return True
            self.pending -= cancellation.reserved
            cancellation.reserved = 0
            if not cancellation.begun and self.full(cost):
                raise self.overload()
            background = self.throughput.seconds(cost) > self.answer_seconds
            if background:
                self.background += 1
            else:
                self.pending += cost
            return background

    def _release(self, tokens: int, background: bool, cancellation: CancellationToken, *, last: bool = False) -> None:
        with self._changed:
            if not background:
                self.pending -= tokens
            elif last and not cancellation.document:
                self.background -= 1

    def _portion(self, sources: Sequence[Sequence[int]], start: int) -> Sequence[Sequence[int]]:
        """Return the next portion of sources: enough for two batches."""
        tokens, stop = 0, start
        while stop < len(sources) and (stop == start or tokens + len(sources[stop]) < 2 * self.batch_tokens):
            tokens += len(sources[stop]) + 1
            stop += 1
        return sources[start:stop]

    def _enqueue(self, job: Job, *, batched: bool) -> None:
        """Append a job to the queue; without space, reject the first portion of a request, and wait with the others."""
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
            self.begun.add(job)
            self._count(cost)
            if batched:
                self.jobs.append(job)
                self._changed.notify_all()

    def wake(self) -> None:
        """Wake all threads after a cancellation, so that cancelled jobs are dropped now."""
        with self._changed:
            self._drop()

    def close(self) -> None:
        """Reject new work, end all waits and stop the workers."""
        with self._changed:
            self.closed = True
            for job in self.begun:
                job.end(busy())
            self.jobs.clear()
            self._count(-self.tokens)
            self._changed.notify_all()
        last = time.monotonic() + LAST_SECONDS
        for thread in self.threads:  # Python can't exit cleanly while they run in an engine
            thread.join(max(0.0, last - time.monotonic()))

    def _work(self) -> None:
        answered = 1
        while taken := self._take(answered):
            answered = len({id(job) for job, _ in taken})
            self._search(taken)

    def _search_in_slots(self, job: Job, slots: int) -> None:
        """Search a job's sources in the thread of its request, as many at a time as it gets slots for."""
        while job.waiting and job.error is None:
            count = self.slots.take(job.engine, slots, len(job.waiting), job.goes_on, background=job.background)
            with self._changed:
                if not count:
                    self._dismiss(job)
                    return
                taken = [(job, job.waiting.popleft()) for _ in range(count)]
                self._begin(taken)
            try:
                self._search(taken, job.check)
            finally:
                self.slots.give(job.engine, count)

    def _search(self, taken: Taken, progress: Progress = quiet) -> None:
        first = taken[0][0]
        try:
            found = first.engine.search([job.sources[number] for job, number in taken], first.request, progress)
            self._hand_out(taken, found)
        except BaseException as error:
            for job, _ in taken:
                job.end(error)
        with self._changed:
            self.searching -= 1
            now = time.monotonic()
            self.throughput.add(sum(job.tokens(number) for job, number in taken), now - self.measured)
            self.measured = now

    def _hand_out(self, taken: Taken, found: list[list[Hypothesis]]) -> None:
        with self._changed:
            for (job, number), hypotheses in zip(taken, found, strict=True):
                job.found[number] = hypotheses
                job.left -= 1
                if not job.left:
                    job.done.set()

    def _take(self, answered: int) -> Taken:
        """Return the next batch for a worker that has just answered so many jobs; nothing when the queue is closed."""
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
        """Return the seconds until a worker that is free since then starts a batch; None if nothing waits.

        The clients it answered last may ask again at once and join; when as many have arrived, it stops waiting.
        """
        if not self.jobs:
            return None
        if not self.searching or len(self.jobs) >= answered or self.tokens >= self.batch_tokens:
            return 0.0
        return max(self.jobs[0].arrived, free) + self.join_seconds - time.monotonic()

    def _batch(self) -> Taken:
        """Return sentences of all jobs compatible with the first, round-robin, up to a number of tokens."""
        first = self.jobs[0]
        company = [job for job in self.jobs if job.joins(first)]
        taken: Taken = []
        tokens = 0
        most = min(self.batch_tokens, max(SMALLEST_BATCH, self.throughput.tokens(BATCH_SHARE * self.answer_seconds)))
        for job in self._order(company):
            number = job.waiting[0]
            if taken and tokens + job.tokens(number) > most:
                break
            tokens += job.tokens(number)
            taken.append((job, job.waiting.popleft()))
        served = {id(job) for job, _ in taken}
        others = [job for job in self.jobs if id(job) not in served]
        self.jobs = deque([*others, *(job for job in company if id(job) in served and job.waiting)])
        self._begin(taken)
        return taken

    def _begin(self, taken: Taken) -> None:
        """Count sentences that are searched from now on."""
        tokens = sum(job.tokens(number) for job, number in taken)
        if not self.closed:  # which has counted them already
            self._count(-tokens)
        if not self.searching:
            self.measured = time.monotonic()
        self.searching += 1
        self.metrics.batch_sentences.observe(len(taken))
        self.metrics.batch_requests.observe(len({id(job) for job, _ in taken}))
        self.metrics.tokens.inc(tokens)

    def _order(self, jobs: Sequence[Job]) -> Iterator[Job]:
        """Yield the job of each next sentence: overdue jobs first, one of each background job, then round-robin."""
        overdue = time.monotonic() - OVERDUE * self.answer_seconds
        for job in jobs:
            while job.waiting and job.arrived < overdue and not job.background:
                yield job
        yield from (job for job in jobs if job.background)
        yield from in_turn(job for job in jobs if not job.background)
        yield from in_turn(job for job in jobs if job.background)

    def _drop(self) -> None:
        """Remove failed and cancelled jobs."""
        for job in [job for job in self.jobs if not job.goes_on()]:
            self.jobs.remove(job)
            self._dismiss(job)

    def _dismiss(self, job: Job) -> None:
        """Drop the waiting sources of a job; it ends now, or with its batches that are being searched."""
        if not self.closed:
            self._count(-sum(map(job.tokens, job.waiting)))
        self.metrics.dropped.inc(len(job.waiting))
        job.drop(gone())

    def _count(self, tokens: int) -> None:
        self.tokens += tokens
        self.metrics.queue_tokens.set(self.tokens)


class Queued:
    """The engine as one request sees it: `search` goes through the queue."""

    def __init__(self, batcher: Batcher, engine: Engine, cancellation: CancellationToken) -> None:
        self.batcher, self.engine, self.cancellation = batcher, engine, cancellation

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        found = self.batcher.search(self.engine, sources, request, self.cancellation)
        progress(len(sources))
        return found
