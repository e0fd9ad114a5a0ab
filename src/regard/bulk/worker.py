"""A worker process on a cluster: it loads the model once, then translates shards one after the other."""

import hashlib
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from regard import __version__
from regard.bulk.formats import Rows
from regard.bulk.manifest import ShardRecord
from regard.bulk.shard import copy_shard, peak_bytes
from regard.bulk.task import CopyShard, Shard, Task
from regard.cores import limit_cores
from regard.errors import UserError
from regard.translate.load import load

UNCOUNTED = ("README.md", "manifest.json")  # files of a model that do not change its translations


@dataclass(frozen=True)
class BulkJob:
    """The settings that all workers of a run share."""

    task: Task
    engine: str = "auto"
    device: str = "cpu"
    compile: bool = False
    cores: int = 1
    """Threads that a worker computes with."""
    version: str = __version__


@dataclass(frozen=True)
class PackedModel:
    """A model for the workers: its folder, which other hosts may not see, its checksum and its files."""

    folder: Path
    checksum: str
    files: Any
    """Contents of the files by name, or the references that `ShardWorker.fetch` resolves."""


class ShardWorker:
    """A translator in a process of its own."""

    def __init__(self, job: BulkJob) -> None:
        self._job = job
        self._copy: CopyShard | None = None
        self._made: list[Path] = []

    def load(self, models: Sequence[PackedModel]) -> None:
        """Load the model, or several that translate together."""
        if self._job.version != __version__:
            raise UserError(
                f"{socket.gethostname()} has regard {__version__}, but the run was started by {self._job.version}; "
                "install the same version on all hosts"
            )
        limit_cores(self._job.cores)
        first, *others = map(self._folder_of, models)
        job = self._job
        translator = load(first, *others, engine=job.engine, device=job.device, compile=job.compile)
        self._copy = job.task.begin(translator)

    def _folder_of(self, model: PackedModel) -> Path:
        """Return the model's folder if this host sees it, or write its files into a temporary one."""
        if model.folder.is_dir() and model_checksum(pack(model.folder)) == model.checksum:
            return model.folder
        folder = Path(mkdtemp(prefix="regard-model-"))
        self._made.append(folder)
        return unpack(self.fetch(model.files), folder)

    def fetch(self, files: Any) -> Mapping[str, bytes]:
        """Return the files of a model."""
        found: Mapping[str, bytes] = files
        return found

    def close(self) -> int:
        """Remove temporary files, and return the most memory that the worker had at once, in bytes."""
        for folder in self._made:
            rmtree(folder, ignore_errors=True)
        return peak_bytes()

    def translate(self, shard: Shard) -> Iterator[Rows | ShardRecord]:
        """Translate a shard; see copy_shard."""
        assert self._copy is not None, "loaded before"
        yield from copy_shard(self._copy, shard)


def pack(folder: Path) -> dict[str, bytes]:
    """Return the files of a model by name, to be sent to workers, which may not see the folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def packed_model(folder: Path) -> PackedModel:
    """Return a model to be sent to workers."""
    files = pack(folder)
    return PackedModel(folder.absolute(), model_checksum(files), files)


def unpack(files: Mapping[str, bytes], folder: Path) -> Path:
    """Write the files of a model into a new folder; their checksums are verified when they are loaded."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def model_checksum(files: Mapping[str, bytes]) -> str:
    """Return a checksum of the files of a model that determine its translations."""
    digest = hashlib.sha256()
    for name in sorted(files.keys() - set(UNCOUNTED)):
        digest.update(f"{name}\n{hashlib.sha256(files[name]).hexdigest()}\n".encode())
    return digest.hexdigest()
