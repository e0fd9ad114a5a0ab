"""Jobs that translate documents. A job outlasts the request that uploaded its document; its status and result are asked
for by identifier and key."""

import asyncio
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MOST = 10_000  # jobs that have ended


class Status(StrEnum):
    """The state of a job, in DeepL's words."""

    QUEUED = "queued"
    TRANSLATING = "translating"
    DONE = "done"
    DOWNLOADED = "downloaded"
    ERROR = "error"


@dataclass(eq=False)
class DocumentJob:
    """The translation of one document, in progress or ended."""

    holder: str | None
    """The key of the client that uploaded it."""
    identifier: str = field(default_factory=lambda: secrets.token_hex(16).upper())
    key: str = field(default_factory=lambda: secrets.token_hex(32).upper())
    status: Status = Status.QUEUED
    progress: float = 0.0
    """Share of the texts that are translated."""
    began: float = field(default_factory=time.monotonic)
    characters: int = 0
    error: str | None = None
    report: dict[str, Any] | None = None
    """Figures of the translation, once it is done."""
    token: str | None = None
    """Name of the translation in the download store."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    until: float = float("inf")
    task: "asyncio.Task[None] | None" = None

    @property
    def seconds_remaining(self) -> int:
        """Estimate the seconds until the job ends, from the seconds that it has taken."""
        taken = time.monotonic() - self.began
        return max(1, round(taken * (1 - self.progress) / max(self.progress, 0.01)))


class DocumentJobs:
    """All jobs: those under way, which the limit on documents bounds, and those that ended, for a limited time."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self.clock = seconds, clock
        self._jobs: OrderedDict[str, DocumentJob] = OrderedDict()

    def add(self, job: DocumentJob) -> None:
        self._tidy()
        self._jobs[job.identifier] = job

    def find(self, identifier: str, key: str, holder: str | None) -> DocumentJob | None:
        """Return a job if the key is right and the holder the same."""
        self._tidy()
        job = self._jobs.get(identifier)
        right = job is not None and hmac.compare_digest(job.key.encode(), key.encode()) and job.holder == holder
        return job if right else None

    def end(self, job: DocumentJob, status: Status, error: str | None = None) -> None:
        job.status, job.error = status, error
        job.until = self.clock() + self.seconds
        job.ended.set()

    def remove(self, job: DocumentJob) -> None:
        """Cancel a job and forget it."""
        if job.task is not None:
            job.task.cancel()
        self._jobs.pop(job.identifier, None)

    def cancel(self) -> None:
        """Cancel all jobs under way."""
        for job in self._jobs.values():
            if job.task is not None and not job.ended.is_set():
                job.task.cancel()

    def _tidy(self) -> None:
        now = self.clock()
        ended = [job for job in self._jobs.values() if job.ended.is_set()]
        for number, job in enumerate(ended):
            if job.until <= now or len(ended) - number > MOST:
                del self._jobs[job.identifier]
