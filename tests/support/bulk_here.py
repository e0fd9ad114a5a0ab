"""Workers of a bulk run in this process, instead of a cluster's."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import pytest

from regard import cores
from regard.bulk.events import Event, Finished, ShardFailed
from regard.bulk.task import Shard
from regard.bulk.worker import BulkJob, PackedModel, ShardWorker
from regard.errors import UserError


class HerePool:
    """Workers in this process: a shard whose name is in `dies` ends the run, as a killed driver does."""

    peak_bytes = 0
    dies: set[str] = set()
    translated: list[str] = []

    def __init__(self, job: BulkJob, models: Sequence[PackedModel], workers: int | None) -> None:
        self.worker = ShardWorker(job)
        self.worker.load(models)

    def run(self, shards: Sequence[Shard]) -> Iterator[Event]:
        for shard in shards:
            if shard.file.name in self.dies:
                raise KeyboardInterrupt
            try:
                *_, record = self.worker.translate(shard)
            except UserError as error:
                yield ShardFailed(shard, str(error), final=True)
                continue
            self.translated.append(shard.file.name)
            yield Finished(shard, record)  # type: ignore[arg-type]

    def close(self) -> None:
        pass


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> type[HerePool]:
    """Let bulk runs have their workers in this process."""
    monkeypatch.setattr("regard.bulk.run._ray", lambda: (HerePool, lambda *_: nullcontext()))
    monkeypatch.setattr(cores, "_limit", None)  # which a worker sets, for a process of its own
    HerePool.dies, HerePool.translated = set(), []
    return HerePool
