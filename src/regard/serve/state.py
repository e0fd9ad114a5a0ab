"""The application state that all requests share, and how a request waits for work in threads."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from starlette.requests import Request

from regard.cores import available_cores
from regard.errors import Failed, UserError
from regard.serve.batching.batcher import Batcher
from regard.serve.batching.cancellation import CancellationToken
from regard.serve.cache import HypothesisCache
from regard.serve.downloads import DownloadStore
from regard.serve.jobs import DocumentJobs
from regard.serve.knowledge.server_knowledge import ServerKnowledge, read_glossaries
from regard.serve.limits.admission import Admission, Lease
from regard.serve.limits.keys import Keys
from regard.serve.limits.rates import Rates
from regard.serve.metrics import Metrics
from regard.serve.models import Models
from regard.serve.refused import Refused, busy, gone, late
from regard.serve.service import TranslationService
from regard.serve.settings import Settings
from regard.text.protected.detect import Detector

Result = TypeVar("Result")
CHARACTERS_A_TOKEN = 5  # at most, in natural text
log = logging.getLogger("regard.serve")


class AppState:
    """The models, queues, limits and counters of one server."""

    def __init__(
        self,
        models: Sequence[str],
        settings: Settings,
        keys: Keys | None = None,
        *,
        memory: Path | None = None,
        glossaries: Sequence[str] = (),
    ) -> None:
        """Load the models. Without `keys`, no key is needed."""
        self.settings, self.keys = settings, keys
        self.metrics = Metrics()
        self.models = Models(models, settings.memory_bytes, self.metrics)
        workers = available_cores() + 1  # one more prepares a batch while each core searches one
        self.batcher = Batcher(workers, settings, self.metrics)
        self.admission = Admission(settings)
        self.knowledge = ServerKnowledge.open(
            self.models.steps, memory=memory, glossaries=glossaries, most_stored=settings.glossaries
        )
        cache = HypothesisCache(settings.cache_bytes)
        self.detector = Detector(self.models.languages)
        self.service = TranslationService(self.models, self.batcher, cache, self.metrics, self.knowledge, self.detector)
        self.downloads = DownloadStore(settings.kept_bytes, settings.kept_seconds)
        self.jobs = DocumentJobs(settings.kept_seconds)
        self.rates = Rates(settings.key_rate)
        self.threads = ThreadPoolExecutor(settings.requests, thread_name_prefix="request")
        self.looking = Lock()
        """Serialises Looks, which do not go through the queue."""
        self.used: Counter[str | None] = Counter()
        """Characters translated since the server started, by holder of a key; None for all others."""
        self.at_work = 0
        self.leaving = False
        """True after a stop signal, which /ready reports; requests are accepted until the server is `draining`."""
        self.draining = False

    def holder(self, key: str | None, refusal: Refused) -> str | None:
        """Return the holder of a key, or None if no key is needed; raise `refusal` if the key is invalid."""
        if self.keys is None:
            return None
        name = self.keys.holder(key) if key else None
        if name is None:
            self.metrics.refused.labels("key").inc()
            raise refusal
        try:
            self.rates.spend(name)
        except Refused:
            self.metrics.refused.labels("rate").inc()
            raise
        return name

    @contextmanager
    def charged(self, holder: str | None, characters: int, refusal: Refused) -> Iterator[None]:
        """Charge characters to a holder, refunded if the block fails; raise `refusal` if they exceed the quota."""
        quota = self.settings.quota if holder is not None else 0
        if quota and self.used[holder] + characters > quota:
            self.metrics.refused.labels("quota").inc()
            raise refusal
        self.used[holder] += characters
        try:
            yield
        except BaseException:
            self.used[holder] -= characters
            raise

    @property
    def overloaded(self) -> bool:
        """Return whether even a text of one word is rejected."""
        return self.at_work >= self.settings.requests or self.batcher.full(1, self.batcher.entering)

    async def run(
        self,
        request: Request,
        work: Callable[[CancellationToken], Result],
        seconds: float,
        *,
        characters: int = 0,
        document: bool = False,
    ) -> Result:
        """Run work in a thread until it is done, the deadline passes or the client disconnects.

        Work on `characters` is rejected here, before a thread starts it, if it can't be done in time; the queue checks
        again when it knows the number of tokens.
        """
        cancellation = CancellationToken(document=document)
        waiting = self._start(request.scope["regard.lease"], work, cancellation, characters)
        left = asyncio.ensure_future(_gone(request))
        either: list[asyncio.Future[Any]] = [waiting, left]
        try:
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                return waiting.result()
            self.metrics.refused.labels("gone" if left.done() else "deadline").inc()
            raise gone() if left.done() else late()
        except asyncio.CancelledError:  # the server stops
            raise busy() from None
        finally:
            left.cancel()
            self._end(waiting, cancellation)

    async def run_document(self, lease: Lease, work: Callable[[CancellationToken], Result]) -> Result:
        """Run work on a document in a thread until it is done, the deadline passes or the task is cancelled. No request
        waits for it."""
        cancellation = CancellationToken(document=True)
        waiting = self._start(lease, work, cancellation)
        try:
            async with asyncio.timeout(self.settings.file_deadline):
                return await asyncio.shield(waiting)
        except TimeoutError:
            self.metrics.refused.labels("deadline").inc()
            raise late() from None
        finally:
            self._end(waiting, cancellation)

    def _start(
        self,
        lease: Lease,
        work: Callable[[CancellationToken], Result],
        cancellation: CancellationToken,
        characters: int = 0,
    ) -> "asyncio.Future[Result]":
        """Start work in a thread, or raise Refused. It holds the lease until it has ended, whoever waits for it."""
        if self.draining or self.at_work >= self.settings.requests:
            self.metrics.refused.labels("drain" if self.draining else "requests").inc()
            raise busy()
        if characters:
            self.batcher.reserve(characters // CHARACTERS_A_TOKEN, cancellation)
        waiting: asyncio.Future[Result] = asyncio.wrap_future(self.threads.submit(work, cancellation))
        self._count(1)
        waiting.add_done_callback(lambda _: self.batcher.unreserve(cancellation))
        waiting.add_done_callback(self._done)
        lease.hold()
        waiting.add_done_callback(lambda _: lease.release())
        return waiting

    def _end(self, waiting: "asyncio.Future[Any]", cancellation: CancellationToken) -> None:
        """Cancel work that nobody waits for any longer."""
        if not waiting.done():
            cancellation.cancelled = True
            self.batcher.wake()

    def close(self) -> None:
        """Cancel all running work."""
        self.batcher.close()
        self.threads.shutdown(wait=False, cancel_futures=True)
        self.knowledge.close()

    def reload(self) -> None:
        """Load the models and glossaries anew; running requests finish with the old. After an error, the old stay."""
        try:
            glossaries = read_glossaries(self.knowledge.files)
            self.models.reload()
        except (UserError, Failed, OSError) as error:
            log.error("not reloaded: %s", error)
            return
        self.knowledge.glossaries.clear()
        self.knowledge.glossaries.update(glossaries)
        log.warning("reloaded the models and glossaries")

    def _done(self, waiting: "asyncio.Future[Any]") -> None:
        """Clean up after work, whether or not anybody still waits for it."""
        self._count(-1)
        if not waiting.cancelled():
            waiting.exception()  # retrieve it, or asyncio logs an exception that was never retrieved

    def _count(self, change: int) -> None:
        self.at_work += change
        self.metrics.at_work.set(self.at_work)


async def _gone(request: Request) -> None:
    """Return when the client has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
