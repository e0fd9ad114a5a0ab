"""Events of the shards of a run."""

from dataclasses import dataclass

from regard.bulk.formats import Rows
from regard.bulk.manifest import ShardRecord
from regard.bulk.task import Shard


@dataclass(frozen=True)
class Advanced:
    """A shard was translated so far."""

    shard: Shard
    rows: Rows


@dataclass(frozen=True)
class Finished:
    """A shard is translated."""

    shard: Shard
    record: ShardRecord


@dataclass(frozen=True)
class ShardFailed:
    """A shard failed, and is tried again; or, if `final`, no more."""

    shard: Shard
    reason: str
    final: bool = False


Event = Advanced | Finished | ShardFailed | None
"""The next event, or None after a second without one."""
