"""Cancellation of a request's work."""

from dataclasses import dataclass

from regard.serve.refused import gone


@dataclass
class CancellationToken:
    """Shared by a request and the threads that work on it, which check it before each step."""

    cancelled: bool = False
    """The deadline has passed, or the client has gone."""
    begun: bool = False
    """Part of the request was admitted to the queue, so the rest is no longer rejected."""

    document: bool = False
    """True for a document, which is not subject to `answer_seconds`."""
    reserved: int = 0
    """Tokens admitted to the queue by estimate, until their number is known."""

    def check(self) -> None:
        """Raise an exception if the request was cancelled."""
        if self.cancelled:
            raise gone()
