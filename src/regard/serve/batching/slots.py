"""Slots of engines that take up sentences while they search: each request's thread enters by itself, in turn."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock

POLL = 0.05  # seconds between checks whether a waiting request is still wanted
FOREGROUND, BACKGROUND = 2, 4  # one request has at most this part of the slots at a time: a half, or a quarter


@dataclass(eq=False)
class _Waiter:
    """A request that waits in line, and the slots that it is given."""

    room: int
    wanted: int
    background: bool
    taken: int = 0
    served: Event = field(default_factory=Event)


class Slots:
    """Counts the sentences inside each engine, and lets requests enter first come, first served.

    A request that wants more slots than its share gets its share, and then stands at the end of the line. Slots that
    become free wake up the requests that get them, and no others.
    """

    def __init__(self) -> None:
        self._used: Counter[int] = Counter()
        """Slots in use, by engine."""
        self._lines: dict[int, deque[_Waiter]] = {}
        """The requests that wait for each engine."""
        self._lock = Lock()

    def take(self, engine: object, room: int, wanted: int, goes_on: Callable[[], bool], *, background: bool) -> int:
        """Wait for slots of an engine that has so many, and return how many were taken; 0 once `goes_on` is false."""
        waiter = _Waiter(room, wanted, background)
        with self._lock:
            self._lines.setdefault(id(engine), deque()).append(waiter)
            self._serve(id(engine))
        while not waiter.taken and not waiter.served.wait(POLL):
            if not goes_on():
                with self._lock:
                    if not waiter.taken:
                        self._lines[id(engine)].remove(waiter)
                        self._serve(id(engine))
                    return waiter.taken
        return waiter.taken

    def give(self, engine: object, taken: int) -> None:
        """Return slots."""
        with self._lock:
            self._used[id(engine)] -= taken
            self._serve(id(engine))

    def _serve(self, engine: int) -> None:
        """Give free slots to the first in line."""
        line = self._lines.get(engine, deque())
        while line and self._used[engine] < line[0].room:
            share = (line[0].room - self._used[engine]) // len(line)
            waiter = line.popleft()
            most = waiter.room // (BACKGROUND if waiter.background else FOREGROUND)
            waiter.taken = max(1, min(waiter.wanted, share, most))
            self._used[engine] += waiter.taken
            waiter.served.set()
        if not self._used[engine] and not line:
            self._used.pop(engine, None)
            self._lines.pop(engine, None)
