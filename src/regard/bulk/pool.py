"""Workers on a Ray cluster. A shard whose worker fails is given to another one, on another host if there is one.

Ray's actors are used, not Ray Data: its blocks do not keep one output file for each input file, and an error in one
block ends the whole job or drops the block. A shard is the unit of work, of retrying and of resuming.
"""

import logging
import os
import secrets
import socket
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from regard.bulk.events import Advanced, Event, Finished, ShardFailed
from regard.bulk.formats import Rows
from regard.bulk.task import Shard
from regard.bulk.worker import BulkJob, PackedModel, ShardWorker
from regard.cores import available_cores
from regard.errors import Failed, UserError

LOCAL = "local"
CRASHES = 3  # workers that a shard may end before it is given up
ERRORS = 2  # errors that a shard may raise before it is given up
FAILED_STARTS = 3  # workers in a row that end before they have loaded the model
PATIENCE = 300.0  # seconds without any worker
TICK = 1.0  # seconds that the driver waits for results
GROW_EVERY = 5.0  # seconds between looks for hosts that have joined
ANSWER = 10.0  # seconds for a connection to the cluster
OBJECT_STORE = 512 << 20  # bytes of a local cluster for the model's files


@contextmanager
def connected(address: str, cores: int | None = None) -> Iterator[None]:
    """Connect to a cluster, or start one for this process on this machine, which listens on loopback alone."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is sent anywhere
    logging.getLogger("ray").setLevel(logging.ERROR)
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    if address == LOCAL:
        # So that no other user can run code in it; Ray keeps the token as long as this process lives.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        ray.init(
            LOCAL,
            num_cpus=cores or available_cores(),
            include_dashboard=False,
            object_store_memory=OBJECT_STORE,
            _node_ip_address="127.0.0.1",
            **quiet,
        )
    else:
        _check_address(address)
        try:
            ray.init(address, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = str(error).strip().split("\n")[0]
            raise UserError(f"--cluster {address}: can't be joined: {reason}") from None
    try:
        yield
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    """Reject an address where nothing answers, which Ray would try for minutes."""
    if address == "auto":
        return
    host, colon, port = address.rpartition(":")
    if "://" in address or not colon or not port.isdigit():
        raise UserError(f"--cluster {address}: give HOST:PORT of the head node, such as 10.0.0.1:6379, auto, or local")
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER).close()
    except (OSError, OverflowError):
        raise UserError(
            f"--cluster {address}: no cluster answers there; start one with `ray start --head`, or say local"
        ) from None


@dataclass(frozen=True)
class Place:
    """The place of a worker: the node of the cluster, its host's name and the process."""

    node: str
    host: str
    pid: int


class RayWorker(ShardWorker):
    """A worker as an actor of Ray."""

    def load_here(self, models: Sequence[PackedModel]) -> Place:
        """Load the model, and return where that was."""
        self.load(models)
        return Place(ray.get_runtime_context().get_node_id(), socket.gethostname(), os.getpid())

    def fetch(self, files: Any) -> Mapping[str, bytes]:
        """Return the files of a model from Ray's object store."""
        found: Mapping[str, bytes] = ray.get(files)
        return found


@dataclass
class _Slot:
    """A worker, and what it does: it loads the model, translates a shard, or waits for one."""

    actor: Any
    doing: Any
    """The result of loading, or the generator of a shard's progress; None if it waits."""
    place: Place | None = None
    shard: Shard | None = None
    last: Rows | None = None


class Pool:
    """Workers that translate shards."""

    def __init__(self, job: BulkJob, models: Sequence[PackedModel], workers: int | None = None) -> None:
        """Start the workers: so many, or as many as the cluster has cores or GPUs for."""
        self._job, self._workers = job, workers
        self._models = [replace(model, files=ray.put(model.files)) for model in models]
        self._gpu = job.device.startswith("cuda")
        self._slots: list[_Slot] = []
        self._queue: deque[Shard] = deque()
        self._crashes: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._avoided: dict[str, set[str]] = {}
        self._failed_starts = 0
        self._alive = self._grown = monotonic()
        self.peak_bytes = 0
        """The most memory that one of the workers had at once."""
        if not self.wanted():
            needed = "a GPU" if self._gpu else f"{job.cores} cores"
            raise UserError(f"no host of the cluster has {needed}; add one, or say with --workers how many to wait for")
        self._grow()

    def wanted(self) -> int:
        """Return how many workers there should be, by what the cluster has now."""
        if self._workers is not None:
            return self._workers
        each, name = (1, "GPU") if self._gpu else (self._job.cores, "CPU")
        every: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
        nodes = [node["Resources"] for node in every if node["Alive"]]
        return sum(int(resources.get(name, 0) // each) for resources in nodes)

    def _grow(self) -> None:
        """Start workers on hosts that have joined the cluster."""
        self._grown = monotonic()
        for _ in range(self.wanted() - len(self._slots)):
            self._slots.append(self._started())

    def _started(self) -> _Slot:
        remote: Any = ray.remote(RayWorker)
        needs = {"num_cpus": self._job.cores, **({"num_gpus": 1} if self._gpu else {})}
        actor = remote.options(**needs, max_restarts=0, max_task_retries=0).remote(self._job)
        return _Slot(actor, actor.load_here.remote(self._models))

    def run(self, shards: Sequence[Shard]) -> Iterator[Event]:
        """Translate shards, the largest first, and yield what happens."""
        self._queue = deque(sorted(shards, key=lambda shard: -shard.file.size))
        self._alive = monotonic()
        while self._queue or any(slot.shard for slot in self._slots):
            self._assign()
            busy = {slot.doing: slot for slot in self._slots if slot.doing is not None}
            ready = ray.wait(list(busy), num_returns=1, timeout=TICK)[0] if busy else []
            for one in ready:
                yield from self._advance(busy[one])
            if monotonic() - self._grown > GROW_EVERY:
                self._grow()
            if not busy:
                sleep(TICK)
            if not ready:
                self._check_alive()
                yield None

    def close(self) -> None:
        """Let the workers remove their files, record their memory and end them."""
        for slot in self._slots:
            if slot.place is not None and slot.shard is None:
                try:
                    self.peak_bytes = max(self.peak_bytes, ray.get(slot.actor.close.remote(), timeout=5))
                except RayError:
                    continue
        for slot in self._slots:
            ray.kill(slot.actor)
        self._slots.clear()

    def _assign(self) -> None:
        """Give each waiting worker the first shard that has not failed on its host, if another host may take those."""
        nodes = {slot.place.node for slot in self._slots if slot.place is not None}
        for slot in self._slots:
            if slot.place is None or slot.doing is not None:
                continue
            for shard in self._queue:
                avoided = self._avoided.get(shard.file.name, set())
                if slot.place.node not in avoided or nodes <= avoided:
                    self._queue.remove(shard)
                    slot.shard, slot.last, slot.doing = shard, None, slot.actor.translate.remote(shard)
                    break

    def _advance(self, slot: _Slot) -> Iterator[Event]:
        """Handle the next result or error of a worker."""
        try:
            if slot.shard is None:
                slot.place, slot.doing = ray.get(slot.doing), None
                self._failed_starts, self._alive = 0, monotonic()
                return
            news = ray.get(next(slot.doing))
        except RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            if slot.shard is None:
                raise cause from None
            shard, slot.shard, slot.doing = slot.shard, None, None
            self._errors[shard.file.name] += 1
            yield self._failure(shard, slot, _sentence(cause), final=self._errors[shard.file.name] >= ERRORS)
        except RayError as error:
            yield from self._lost(slot, error)
        else:
            self._alive = monotonic()
            if isinstance(news, Rows):
                slot.last = news
                yield Advanced(slot.shard, news)
            else:
                yield Finished(slot.shard, news)
                slot.shard = slot.doing = None

    def _lost(self, slot: _Slot, error: RayError) -> Iterator[Event]:
        """Replace a worker that ended, or that can't be reached; its shard failed."""
        self._slots.remove(slot)
        ray.kill(slot.actor)
        if slot.shard is None:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                raise Failed(f"the workers end before they have loaded the model: {_sentence(error)}")
        else:
            name = slot.shard.file.name
            self._crashes[name] += 1
            after = 0 if slot.last is None else slot.last.written
            host = "" if slot.place is None else f" on {slot.place.host}"
            reason = f"its worker{host} was lost after {after} rows"
            yield self._failure(slot.shard, slot, reason, final=self._crashes[name] >= CRASHES)
        self._slots.append(self._started())

    def _failure(self, shard: Shard, slot: _Slot, reason: str, *, final: bool) -> ShardFailed:
        if not final:
            assert slot.place is not None
            self._avoided.setdefault(shard.file.name, set()).add(slot.place.node)
            self._queue.append(shard)
        return ShardFailed(shard, reason, final)

    def _check_alive(self) -> None:
        if any(slot.place is not None for slot in self._slots):
            return
        if monotonic() - self._alive > PATIENCE:
            raise Failed(
                f"no worker could start within {PATIENCE:.0f} seconds; the cluster has no "
                f"{'free GPU' if self._gpu else f'{self._job.cores} free cores on one host'}"
            )


def _sentence(error: BaseException) -> str:
    """Return an error in one line."""
    if isinstance(error, RayActorError):
        return "a worker process died unexpectedly"
    text = " ".join(str(error).split())
    return text if isinstance(error, UserError) else f"{type(error).__name__}: {text[:500]}"
