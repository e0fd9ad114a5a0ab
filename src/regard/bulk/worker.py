"""A worker process on a cluster: it loads the model once, then translates shards one after the other."""

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from regard import __version__
from regard.bulk.formats import Rows
from regard.bulk.manifest import ShardRecord
from regard.bulk.shard import Shard, peak_bytes, translate_shard
from regard.cores import limit_cores
from regard.errors import UserError
from regard.translate.load import load
from regard.translate.translator import Options, Translator


@dataclass(frozen=True)
class Job:
    """What all workers of a run do alike."""

    options: Options
    engine: str = "auto"
    device: str = "cpu"
    compile: bool = False
    cores: int = 1
    """Threads that a worker computes with."""
    version: str = __version__


class ShardWorker:
    """A translator in a process of its own, made of the files of a model that came over the network."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._translator: Translator | None = None
        self._folder: TemporaryDirectory[str] | None = None

    def load(self, models: list[Mapping[str, bytes]]) -> None:
        """Load the model, or several that translate together."""
        if self._job.version != __version__:
            raise UserError(
                f"{socket.gethostname()} has regard {__version__}, but the run was started by {self._job.version}; "
                "install the same version on all hosts"
            )
        limit_cores(self._job.cores)
        self._folder = TemporaryDirectory(prefix="regard-model-")
        folders = [unpack(files, Path(self._folder.name) / str(number)) for number, files in enumerate(models)]
        first, *others = folders
        job = self._job
        self._translator = load(first, *others, engine=job.engine, device=job.device, compile=job.compile)

    def translate(self, shard: Shard) -> Iterator[Rows | ShardRecord]:
        """Translate a shard; see translate_shard."""
        assert self._translator is not None, "loaded before"
        yield from translate_shard(self._translator, shard, self._job.options)

    def peak_bytes(self) -> int:
        """Return the most memory that the worker had at once."""
        return peak_bytes()


def pack(folder: Path) -> dict[str, bytes]:
    """Return the files of a model by name, to be sent to workers, which may not see the folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def unpack(files: Mapping[str, bytes], folder: Path) -> Path:
    """Write the files of a model into a new folder; their checksums are verified when they are loaded."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
