"""The manifest of translated shards, from which a run resumes: their settings, and which are complete."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from regard.bulk.storage import checksum, read_small, size, whole_file
from regard.bulk.task import Shard
from regard.errors import UserError
from regard.files import MANIFEST

FORMAT = 1
MOST_BYTES = 1 << 30  # some millions of shards


@dataclass(frozen=True)
class ShardRecord:
    """A shard that is translated: rows, and size and SHA-256 of the input and the output."""

    rows_in: int
    rows_out: int
    input_size: int
    input_sha256: str
    input_version: str
    """The input's state, as the file system told it (`InputFile.version`)."""
    output_size: int
    output_sha256: str
    cpu_seconds: float
    host: str
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows that were left out, by the reason."""


@dataclass
class Manifest:
    """The settings that made the shards of a folder, and the records of the shards by name."""

    made_by: Mapping[str, Any]
    """Version, model and options, as JSON has them: shards of different ones are never mixed."""
    shards: dict[str, ShardRecord] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """The reason why a shard failed the last time, by its name."""

    @classmethod
    def read(cls, out: str) -> Self | None:
        """Read the manifest of a folder, or return None if there is none."""
        address = f"{out}/{MANIFEST}"
        content = read_small(address, MOST_BYTES)
        if content is None:
            return None
        try:
            found = json.loads(content)
            if found["format"] != FORMAT:
                raise UserError(f"{address}: format {str(found['format'])[:20]} is not one that this version reads")
            shards = {str(name): ShardRecord(**record) for name, record in found["shards"].items()}
            return cls(dict(found["made_by"]), shards, dict(found["failed"]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            if isinstance(error, UserError):
                raise
            raise UserError(
                f"{address}: is no manifest of translated shards ({error}); restore it, or choose another --out"
            ) from None

    def write(self, out: str) -> None:
        """Write the manifest whole."""
        shards = {name: asdict(self.shards[name]) for name in sorted(self.shards)}
        content = {"format": FORMAT, "made_by": self.made_by, "failed": self.failed, "shards": shards}
        with whole_file(f"{out}/{MANIFEST}") as file:
            file.write(json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n")


def begin(out: str, made_by: Mapping[str, Any], *, force: bool) -> Manifest:
    """Return the manifest to resume; reject one that was made by another model or other options, unless `force`."""
    made_by = json.loads(json.dumps(made_by))
    found = None if force else Manifest.read(out)
    if found is None:
        return Manifest(made_by)
    if found.made_by != made_by:
        keys = {**made_by, **found.made_by}
        what = ", ".join(key for key in keys if found.made_by.get(key) != made_by.get(key))
        raise UserError(
            f"{out}: holds shards that were made otherwise ({what or 'by another version'}); choose another --out, or "
            "start over with --force"
        )
    return found


def missing(manifest: Manifest, shards: list[Shard]) -> list[Shard]:
    """Return the shards whose outputs are not there yet, or whose input has changed since."""
    return [shard for shard in shards if not _is_done(manifest.shards.get(shard.file.name), shard)]


def _is_done(record: ShardRecord | None, shard: Shard) -> bool:
    file = shard.file
    if record is None or record.input_size != file.size or size(shard.output) != record.output_size:
        return False
    return record.input_version == file.version or record.input_sha256 == checksum(file.address)
