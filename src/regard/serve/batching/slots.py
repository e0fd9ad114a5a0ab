"""Slots of engines that take up sentences while they search: each request's thread enters by itself, in turn."""

from collections import Counter, deque
from collections.abc import Callable
from threading import Condition

POLL = 0.02  # seconds between checks whether a waiting request goes on
FOREGROUND, BACKGROUND = 2, 4  # one request has at most this part of the slots at a time: a half, or a quarter


class Slots:
    """Counts the sentences inside each engine, and lets requests enter first come, first served.

    A request that wants more slots than its share gets its share, and then stands at the end of the line.
    """

    def __init__(self) -> None:
        self._used: Counter[int] = Counter()
        """Slots in use, by engine."""
        self._lines: dict[int, deque[object]] = {}
        """The requests that wait for each engine."""
        self._changed = Condition()

    def take(self, engine: object, room: int, wanted: int, goes_on: Callable[[], bool], *, background: bool) -> int:
        """Wait for slots of an engine that has so many, and return how many were taken; 0 once `goes_on` is false."""
        place = object()
        with self._changed:
            line = self._lines.setdefault(id(engine), deque())
            line.append(place)
            try:
                while line[0] is not place or self._used[id(engine)] >= room:
                    if not goes_on():
                        return 0
                    self._changed.wait(POLL)
                share = (room - self._used[id(engine)]) // len(line)
                taken = max(1, min(wanted, share, room // (BACKGROUND if background else FOREGROUND)))
                self._used[id(engine)] += taken
                return taken
            finally:
                line.remove(place)
                self._forget(engine)
                self._changed.notify_all()

    def give(self, engine: object, taken: int) -> None:
        """Return slots."""
        with self._changed:
            self._used[id(engine)] -= taken
            self._forget(engine)
            self._changed.notify_all()

    def _forget(self, engine: object) -> None:
        if not self._used[id(engine)] and not self._lines.get(id(engine)):
            self._used.pop(id(engine), None)
            self._lines.pop(id(engine), None)
