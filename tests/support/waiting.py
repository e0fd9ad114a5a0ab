"""Wait for what other threads and processes do."""

import time
from collections.abc import Callable

PATIENCE = 60.0  # seconds; only a test that fails waits so long, however busy the machine is


def until(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Return as soon as something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)
