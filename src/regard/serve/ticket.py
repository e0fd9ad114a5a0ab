"""A request's claim to be worked on."""

from dataclasses import dataclass


@dataclass
class Ticket:
    """Shared by the request, which may give up, and those who work on it, who look before each piece of work."""

    given_up: bool = False
    """The deadline has passed, or the client has gone."""
    begun: bool = False
    """Something of it was taken into the queue, so that the rest is no longer refused."""
