"""Bulk translation: every file of a pattern becomes a file of the same name elsewhere, on a Ray cluster.

regard.translate_shards("corpus/*.txt.zst", "out", model="en-de")
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bulk.formats import Rows, check_column, copy_translated
from regard.bulk.run import BulkObserver, BulkReport, run_shards
from regard.bulk.storage import HashedFile
from regard.bulk.task import CopyShard
from regard.bulk.worker import BulkJob
from regard.saved.bundled import DEFAULT
from regard.translate.translator import DEFAULTS, Options, Translator


def translate_shards(
    pattern: str,
    out: str | Path,
    *,
    model: str | Path | Sequence[str | Path] = DEFAULT,
    cluster: str = "local",
    options: Options = DEFAULTS,
    engine: str = "auto",
    device: str = "cpu",
    compile: bool = False,
    column: str | None = None,
    workers: int | None = None,
    cores: int = 1,
    force: bool = False,
    observer: BulkObserver | None = None,
) -> BulkReport:
    """Translate every file that matches a pattern, on a cluster; return what was done.

    pattern, out: local, or addresses that fsspec knows, such as s3://bucket/corpus/*.txt.gz. All hosts must see them.
    cluster: HOST:PORT of a Ray cluster, or local to start one on this machine.
    column: the column of TSV (a number), or of JSON lines and Parquet (a name); text otherwise.
    workers, cores: processes, and threads of each; by default one worker for each core, or for each GPU.
    force: start over. Otherwise only shards are translated that are missing or whose input has changed.
    """
    models = [model] if isinstance(model, str | Path) else model
    job = BulkJob(RowTranslation(options, column), engine, device, compile, cores)
    return run_shards(pattern, out, job, models, cluster=cluster, workers=workers, force=force, observer=observer)


@dataclass(frozen=True)
class RowTranslation:
    """The task of bulk translation: every row, with its translation."""

    options: Options = DEFAULTS
    column: str | None = None

    def output_name(self, name: str) -> str:
        """Return the name, which stays."""
        check_column(name, self.column)
        return name

    def settings(self) -> dict[str, Any]:
        """Return the column that is translated."""
        return {"column": self.column}

    def begin(self, translator: Translator) -> CopyShard:
        """Return a function that copies a shard with its translations."""
        translator.request(self.options)

        def translate(texts: Sequence[str]) -> list[str]:
            if not any(texts):  # a shard may have millions of blank lines
                return list(texts)
            return [translation.text for translation in translator.window(texts, self.options)]

        def copy(address: str, out: HashedFile) -> Iterator[Rows]:
            last = Rows(0, 0, 0)
            for last in copy_translated(address, out, self.column, translate):
                yield last
            assert last.read == last.written, "a row in is a row out"

        return copy
