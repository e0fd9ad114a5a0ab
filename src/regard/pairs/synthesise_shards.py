"""Pairs from many files of text in one language, on a Ray cluster: every file becomes a file of pairs.

regard.synthesise_shards("mono/*.txt.zst", "bt", model="runs/back/model")
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.bulk.formats import Rows, compressed, kind
from regard.bulk.run import BulkObserver, BulkReport, run_shards
from regard.bulk.storage import HashedFile, open_file
from regard.bulk.task import CopyShard
from regard.bulk.worker import BulkJob
from regard.data.lines import Lines, uncompressed_name
from regard.errors import UserError
from regard.pairs.synthesise import PairMaker, Synthesis, SynthesisReport
from regard.translate.translator import Options, Translator


def synthesise_shards(
    pattern: str,
    out: str | Path,
    config: Synthesis | None = None,
    *,
    model: str | Path,
    cluster: str = "local",
    options: Options | None = None,
    engine: str = "auto",
    workers: int | None = None,
    cores: int = 1,
    force: bool = False,
    observer: BulkObserver | None = None,
) -> BulkReport:
    """Make pairs of every file that matches a pattern, on a cluster; return what was done.

    A file's pairs are what `synthesise` makes of it, byte for byte: mono/1.txt.zst becomes out/1.tsv.zst. For the other
    arguments see translate_shards.
    """
    job = BulkJob(PairSynthesis(options or Options(), config or Synthesis()), engine, cores=cores)
    return run_shards(pattern, out, job, [model], cluster=cluster, workers=workers, force=force, observer=observer)


@dataclass(frozen=True)
class PairSynthesis:
    """The task of making pairs: of every line its translation, if it passes the filters."""

    options: Options
    config: Synthesis

    def output_name(self, name: str) -> str:
        """Return the name with the ending .tsv instead of .txt, or after any other; compressed as the input."""
        found, plain = kind(name), uncompressed_name(name)
        if found != "text":
            raise UserError(f"{name}: pairs are made of text, a sentence a line, not {found}; extract the text first")
        return f"{plain.removesuffix('.txt')}.tsv{name[len(plain) :]}"

    def settings(self) -> dict[str, Any]:
        """Return what is written, and what is dropped."""
        return {"synthesis": asdict(self.config)}

    def begin(self, translator: Translator) -> CopyShard:
        """Return a function that writes the pairs of a shard."""
        maker = PairMaker(translator, self.config, self.options)

        def copy(address: str, out: HashedFile) -> Iterator[Rows]:
            report = SynthesisReport()
            with (
                closing(compressed(address, out)) as file,
                Lines(address, skip_invalid=True, file=open_file(address)) as lines,
            ):
                for window in maker.windows(lines, report):
                    file.write(window)
                    yield Rows(report.lines, report.written, lines.position(), dict(sorted(report.dropped.items())))

        return copy
