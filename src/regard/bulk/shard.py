"""One shard on a worker: read it in windows, translate them, write the output whole."""

import resource
import socket
from collections.abc import Iterator
from time import process_time

from regard.bulk.formats import Rows
from regard.bulk.manifest import ShardRecord
from regard.bulk.storage import checksum, whole_file
from regard.bulk.task import CopyShard, Shard


def copy_shard(copy: CopyShard, shard: Shard) -> Iterator[Rows | ShardRecord]:
    """Write a shard's output; yield the progress after each window, and the record once the output is written."""
    address, started = shard.file.address, process_time()
    before = checksum(address)
    last = Rows(0, 0, 0)
    with whole_file(shard.output) as file:
        for last in copy(address, file):
            yield last
    yield ShardRecord(
        rows_in=last.read,
        rows_out=last.written,
        dropped=last.dropped,
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
