"""Translation of one shard on a worker: read it in windows, translate them, write the output whole."""

import resource
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import process_time

from regard.bulk.formats import Rows, copy_translated
from regard.bulk.manifest import ShardRecord
from regard.bulk.storage import InputFile, checksum, whole_file
from regard.translate.translator import Options, Translator


@dataclass(frozen=True)
class Shard:
    """A unit of work: an input file, where its output goes, and which column is translated."""

    file: InputFile
    out: str
    column: str | None = None

    @property
    def output(self) -> str:
        """The address of the output."""
        return f"{self.out}/{self.file.name}"


def translate_shard(translator: Translator, shard: Shard, options: Options) -> Iterator[Rows | ShardRecord]:
    """Translate a shard; yield how far it is after each window, and its record once the output is written."""
    address, started = shard.file.address, process_time()

    def translate(texts: Sequence[str]) -> list[str]:
        if not any(texts):  # a shard may have millions of blank lines
            return list(texts)
        return [translation.text for translation in translator.window(texts, options)]

    before = checksum(address)
    last = Rows(0, 0, 0)
    with whole_file(shard.output) as file:
        for last in copy_translated(address, file, shard.column, translate):
            yield last
    assert last.read == last.written, "a row in is a row out"
    yield ShardRecord(
        rows_in=last.read,
        rows_out=last.written,
        input_size=shard.file.size,
        input_sha256=before,
        input_version=shard.file.version,
        output_size=file.count,
        output_sha256=file.sha256(),
        cpu_seconds=round(process_time() - started, 3),
        host=socket.gethostname(),
    )


def peak_bytes() -> int:
    """Return the most memory that this process had at once."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
