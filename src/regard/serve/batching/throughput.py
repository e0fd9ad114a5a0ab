"""Measured throughput of the engines, on which admission control is based."""

HALF_LIFE = 2.0  # seconds of work after which a measurement has half its weight


class Throughput:
    """Moving average of source tokens a second while anything is searched."""

    def __init__(self) -> None:
        self._tokens, self._seconds = 0.0, 0.0

    def add(self, tokens: int, seconds: float) -> None:
        """Add a measurement: tokens searched in so many seconds."""
        kept = 0.5 ** (seconds / HALF_LIFE)
        self._tokens = self._tokens * kept + tokens
        self._seconds = self._seconds * kept + seconds

    def seconds(self, tokens: int) -> float:
        """Estimate the seconds for so many tokens; 0 before the first measurement."""
        return tokens * self._seconds / self._tokens if self._tokens else 0.0

    def tokens(self, seconds: float) -> float:
        """Estimate the tokens searched in so many seconds; infinite before the first measurement."""
        return seconds * self._tokens / self._seconds if self._seconds else float("inf")
