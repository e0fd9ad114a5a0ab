"""Errors for the client, in the shape of the API that it uses."""

import math
from typing import Any


class Refused(Exception):
    """An HTTP error: a status and one sentence for the client."""

    def __init__(self, status: int, sentence: str, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.retry_after = retry_after
        """Seconds for the Retry-After header."""

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def busy(seconds: float = 1.0) -> Refused:
    """Return a 503 for a full queue, with an estimate of when to retry."""
    return Refused(503, "The server is busy; try again later", retry_after=min(60, max(1, math.ceil(seconds))))


def late() -> Refused:
    """Return the error for a passed deadline."""
    return Refused(503, "The translation took too long; try again later or with less text", retry_after=1)


def gone() -> Refused:
    """Return the error for a client that has disconnected, which nobody reads."""
    return Refused(499, "The client has gone")


def shape(path: str, sentence: str) -> dict[str, Any]:
    """Return the error body that DeepL's clients or, at all other paths, LibreTranslate's expect."""
    return {"message": sentence} if path.startswith(("/v2/", "/v3/")) else {"error": sentence}
