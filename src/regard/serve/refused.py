"""A request that is not answered with a translation: why, in the shape that the client's API has for it."""

import math
from typing import Any


class Refused(Exception):
    """A status and one sentence for the client."""

    def __init__(self, status: int, sentence: str, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.retry_after = retry_after
        """Seconds after which to try again."""

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def busy(seconds: float = 1.0) -> Refused:
    """The queue is full, and has room again after about so long."""
    return Refused(503, "The server is busy; try again later", retry_after=min(60, max(1, math.ceil(seconds))))


def late() -> Refused:
    """The deadline has passed."""
    return Refused(503, "The translation took too long; try again later or with less text", retry_after=1)


def gone() -> Refused:
    """Nobody waits for the answer; nobody reads this one."""
    return Refused(499, "The client has gone")


def shape(path: str, sentence: str) -> dict[str, Any]:
    """An error as DeepL's clients or, everywhere else, LibreTranslate's expect it."""
    return {"message": sentence} if path.startswith("/v2/") else {"error": sentence}
