"""Standard error that may be closed or full: what is said there is for people, and never ends the work."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast


class Tolerant:
    """A text stream whose writes never fail: after the first that does, what is written goes nowhere."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):  # full, gone, or closed
            self._give_up()
        return len(text)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except (OSError, ValueError):
            self._give_up()

    def _give_up(self) -> None:
        """Put /dev/null in the place of the file, so that what the stream still holds is not tried again at exit."""
        with suppress(OSError, ValueError):
            _point_nowhere(self.stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def tolerant_stderr() -> Iterator[None]:
    """Let nothing that is written to standard error raise, whoever writes it."""
    for descriptor in (0, 1, 2):  # else the next file that is opened would get its number, and what is said there
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
