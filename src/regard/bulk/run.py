"""A run over all files of a pattern on a Ray cluster: each becomes a file elsewhere."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from regard import __version__
from regard.bulk.events import Advanced, Event, Finished, ShardFailed
from regard.bulk.formats import Rows
from regard.bulk.manifest import Manifest, begin, missing
from regard.bulk.storage import InputFile, file_system, find_files, is_local, remove_partial, size
from regard.bulk.task import Shard
from regard.bulk.worker import BulkJob, PackedModel, packed_model
from regard.errors import Failed, UserError
from regard.files import MANIFEST, one_writer
from regard.saved.saved_model import model_folder
from regard.translate.load import load
from regard.translate.translator import DEFAULTS

SAVE_EVERY = 2.0  # seconds between writes of the manifest; what is not in it is translated again


@dataclass
class BulkProgress:
    """The progress of a run."""

    shards: int
    shards_done: int
    bytes: int
    bytes_done: int = 0
    rows: int = 0
    """Rows written in this run."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Processor time of the shards that were finished in this run."""

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """The time left by the bytes read so far; None at the start."""
        return self.seconds * (self.bytes - self.bytes_done) / self.bytes_done if self.bytes_done else None


class BulkObserver:
    """Receives the progress and the remarks of a run; this one does nothing with them."""

    def progress(self, progress: BulkProgress) -> None:
        """Receive how far the run is, about once a second."""

    def warn(self, sentence: str) -> None:
        """Receive a remark."""


@dataclass(frozen=True)
class BulkReport:
    """The result of a run."""

    lines_in: int
    lines_out: int
    shards: int
    """Shards that are complete, with those of earlier runs."""
    translated: int
    """Shards that this run translated."""
    failed: int
    failures: Mapping[str, str]
    """The reason why a shard failed, by its name."""
    seconds: float
    cpu_seconds: float
    worker_bytes: int
    """The most memory that a worker had at once."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows that were left out, by the reason."""


def run_shards(
    pattern: str,
    out: str | Path,
    job: BulkJob,
    models: Sequence[str | Path],
    *,
    cluster: str,
    workers: int | None,
    force: bool,
    observer: BulkObserver | None,
) -> BulkReport:
    """Do a job with every file that matches a pattern, on a cluster; return what was done."""
    out, observer = _out_address(str(out)), observer or BulkObserver()
    shards = _shards(find_files(pattern), out, job)
    engine = job.engine if job.device == "cpu" else "auto"
    job.task.begin(load(*models, engine=engine))  # reports a mistake before any work
    packed = [packed_model(model_folder(one)) for one in models]
    with ExitStack() as stack:
        if is_local(out):
            stack.enter_context(one_writer(Path(file_system(out)[1])))
            remove_partial(out)
            stack.callback(remove_partial, out)  # those of workers that were killed, once all have ended
        run = _Run(begin(out, _made_by(packed, job), force=force), shards, out, observer)
        if run.missing:
            pool_class, connected = _ray()
            stack.enter_context(connected(cluster, workers * job.cores if workers else None))
            pool = stack.enter_context(closing(pool_class(job, packed, workers)))
            run.go(pool.run(run.missing))
            pool.close()
            return run.report(pool.peak_bytes)
        return run.report(0)


def _ray() -> Any:
    try:
        from regard.bulk.pool import Pool, connected  # noqa: PLC0415  # an extra, and slow to import
    except ImportError as error:
        raise UserError(f"bulk translation needs Ray ({error}); install it: pip install 'regard[ray]'") from None
    return Pool, connected


def _out_address(out: str) -> str:
    system, path = file_system(out.rstrip("/") or "/")
    return str(system.unstrip_protocol(path))


def _shards(files: list[InputFile], out: str, job: BulkJob) -> list[Shard]:
    """Return the shards of a run; reject what could not work, before any work is done."""
    options = job.task.options
    if options.memory is not None:
        raise UserError("a memory is a file of one machine, and workers are on several; leave out --memory")
    if options.n_best != 1 or options.alignment:
        raise UserError("bulk translation writes one translation of each row; leave out --n-best and --alignment")
    if job.device not in ("cpu", "cuda"):
        raise UserError(f"{job.device!r}: on a cluster each worker gets a GPU of its own; say --device cuda")
    inputs = {file.address for file in files}
    found: dict[str, InputFile] = {}
    for file in files:
        output = f"{out}/{job.task.output_name(file.name)}"
        if output in inputs:
            raise UserError(f"{out}: the output would replace its input; choose another --out")
        if output == f"{out}/{MANIFEST}":
            raise UserError(f"{file.name}: its output would have the name of the list of what is done; rename it")
        if output in found:
            raise UserError(f"{file.name} and {found[output].name} would have one output, {output}; rename one of them")
        found[output] = file
    return [Shard(file, output) for output, file in found.items()]


def _made_by(models: list[PackedModel], job: BulkJob) -> dict[str, Any]:
    """Return the settings that determine the output: shards of different models or options are not mixed."""
    options = job.task.options
    chosen = {key: value for key, value in vars(options).items() if value != getattr(DEFAULTS, key)}
    if options.glossary is not None:
        chosen["glossary"] = hashlib.sha256(repr(options.glossary.terms).encode()).hexdigest()
    if options.sampling is not None:
        chosen["sampling"] = asdict(options.sampling)
    return {
        "regard": __version__,
        "model": [one.checksum for one in models],
        "engine": job.engine,
        "device": job.device,
        "options": chosen,
        **job.task.settings(),
    }


class _Run:
    """A run in progress: takes events, and keeps the manifest and the figures."""

    def __init__(self, manifest: Manifest, shards: list[Shard], out: str, observer: BulkObserver) -> None:
        self.manifest, self.out, self.observer = manifest, out, observer
        names = {shard.file.name for shard in shards}
        manifest.shards = {name: record for name, record in manifest.shards.items() if name in names}
        self.missing = missing(manifest, shards)
        changed = [shard.file.name for shard in self.missing if manifest.shards.pop(shard.file.name, None) is not None]
        if changed:
            observer.warn(f"{len(changed)} shards are translated again, since they changed: {', '.join(changed[:5])}")
        manifest.failed = {}
        self.before = len(manifest.shards)
        self.progress = BulkProgress(len(shards), self.before, sum(shard.file.size for shard in self.missing))
        self._parts: dict[str, Rows] = {}
        self._started = self._saved = monotonic()

    def go(self, events: Iterable[Event]) -> None:
        """Take the events until there are no more; the manifest is written now and then, and at the end."""
        try:
            for event in events:
                if event is not None:
                    self._take(event)
                self._tell()
                if monotonic() - self._saved >= SAVE_EVERY:
                    self._save()
        finally:
            self._save()

    def _take(self, event: Advanced | Finished | ShardFailed) -> None:
        name, length = event.shard.file.name, event.shard.file.size
        if isinstance(event, Advanced):
            self._parts[name] = event.rows
            return
        self._parts.pop(name, None)
        if isinstance(event, Finished):
            self._check_seen(event)
            self.manifest.shards[name] = event.record
            self.progress.shards_done += 1
            self.progress.cpu_seconds += event.record.cpu_seconds
            self.progress.rows += event.record.rows_out
            self.progress.bytes_done += length
            return
        if event.final:
            self.manifest.failed[name] = event.reason
            self.progress.bytes_done += length
        self.observer.warn(f"{name}: {event.reason}; {'given up' if event.final else 'tried again'}")

    def _check_seen(self, event: Finished) -> None:
        if size(event.shard.output) != event.record.output_size:
            raise Failed(
                f"{event.shard.output}: was written on {event.record.host}, but is not seen here; give an --out that "
                "all hosts share"
            )

    def _tell(self) -> None:
        parts = self._parts.values()
        self.observer.progress(
            replace(
                self.progress,
                rows=self.progress.rows + sum(part.written for part in parts),
                bytes_done=self.progress.bytes_done + sum(part.position for part in parts),
                seconds=monotonic() - self._started,
            )
        )

    def _save(self) -> None:
        self.manifest.write(self.out)
        self._saved = monotonic()

    def report(self, worker_bytes: int) -> BulkReport:
        """Return the figures of the run."""
        records = self.manifest.shards.values()
        dropped: Counter[str] = Counter()
        for record in records:
            dropped.update(record.dropped)
        return BulkReport(
            lines_in=sum(record.rows_in for record in records),
            lines_out=sum(record.rows_out for record in records),
            shards=len(records),
            translated=len(records) - self.before,
            failed=len(self.manifest.failed),
            failures=dict(self.manifest.failed),
            seconds=round(monotonic() - self._started, 3),
            cpu_seconds=round(self.progress.cpu_seconds, 3),
            worker_bytes=worker_bytes,
            dropped=dict(sorted(dropped.items())),
        )
