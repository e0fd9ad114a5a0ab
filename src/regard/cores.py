"""The number of CPU cores available to this process."""

import os

_limit: int | None = None


def available_cores() -> int:
    """Return the number of CPU cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if _limit is None else min(cores, _limit)


def limit_cores(most: int) -> None:
    """Let this process use no more than so many cores, as one of several on a machine."""
    global _limit  # noqa: PLW0603  # a fact of the process
    _limit = most
