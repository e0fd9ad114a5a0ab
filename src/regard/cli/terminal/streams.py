"""Tolerate a closed or full standard error: a message that can't be written must not end the work."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast


class Tolerant:
    """A text stream whose writes never raise: after the first failure, output is discarded."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):  # disk full, reader exited, or closed
            self._give_up()
        return len(text)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except (OSError, ValueError):
            self._give_up()

    def _give_up(self) -> None:
        """Redirect the file descriptor to /dev/null, so that buffered output is not flushed again at exit."""
        with suppress(OSError, ValueError):
            _point_nowhere(self.stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def tolerant_stderr() -> Iterator[None]:
    """Make all writes to standard error safe, also those of libraries."""
    for descriptor in (0, 1, 2):  # otherwise the next opened file would get this descriptor, and our messages
        try:
            os.fstat(descriptor)
        except OSError:
            _point_nowhere(descriptor)
    before = sys.stderr
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123  # a name, not a path
        sys.stderr = cast("TextIO", Tolerant(nowhere if before is None else before))
        try:
            yield
        finally:
            sys.stderr = before


def _point_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
