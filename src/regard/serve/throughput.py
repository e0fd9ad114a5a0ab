"""How fast the engines search: the measured rate that admission is decided by."""

HALF_LIFE = 2.0  # seconds of work after which a measurement counts half


class Throughput:
    """Source tokens a second while anything is searched, as a moving average."""

    def __init__(self) -> None:
        self._tokens, self._seconds = 0.0, 0.0

    def add(self, tokens: int, seconds: float) -> None:
        """Count tokens that took so long."""
        kept = 0.5 ** (seconds / HALF_LIFE)
        self._tokens = self._tokens * kept + tokens
        self._seconds = self._seconds * kept + seconds

    def seconds(self, tokens: int) -> float:
        """Estimate how long tokens take; 0 before anything was measured."""
        return tokens * self._seconds / self._tokens if self._tokens else 0.0

    def tokens(self, seconds: float) -> float:
        """Estimate how many tokens are searched in a time; any number before anything was measured."""
        return seconds * self._tokens / self._seconds if self._seconds else float("inf")
