"""Handle signals that ask a run to stop: it finishes the current step, saves and exits."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from regard.errors import Interrupted

REQUEUE = 75  # the exit code by which schedulers restart a job (sysexits' EX_TEMPFAIL)


class StopRequest:
    """The signal received, if any."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __bool__(self) -> bool:
        return self.signal is not None

    @property
    def code(self) -> int:
        """Return the exit code: 130 after Ctrl-C; 75 when the system asked for the stop and may start the run again."""
        return 130 if self.signal == signal.SIGINT else REQUEUE


_LISTENING: list[StopRequest] = []


@contextmanager
def listening() -> Iterator[StopRequest]:
    """Record SIGTERM, SIGUSR1 and the first Ctrl-C; a second Ctrl-C interrupts at once.

    Nested listeners all receive the signal.
    """
    asked = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def note(number: int, _: FrameType | None) -> None:
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        for one in _LISTENING:
            one.signal = number

    _LISTENING.append(asked)
    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _LISTENING.pop()


@contextmanager
def stoppable(place: object) -> Iterator[None]:
    """Exit at once on SIGTERM or SIGUSR1, with a message and the exit code for a restart, while no step is running.

    That is before a run's first step and after its last: there is nothing to save.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: FrameType | None) -> None:
        raise Interrupted(
            f"{place}: stopped by {signal.Signals(number).name} while no step was under way; "
            "run the same command again to go on",
            REQUEUE,
        )

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGUSR1)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
