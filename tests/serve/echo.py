"""An engine that returns its sources."""

from regard.config.decode import DecodeConfig
from regard.engines.engine import Progress, Request, quiet
from regard.search.hypothesis import Hypothesis

REQUEST = Request(DecodeConfig())


class Echo:
    """An engine that says what it read."""

    def __init__(self) -> None:
        self.read: list[list[int]] = []

    def search(self, sources, request: Request, progress: Progress = quiet) -> list[list[Hypothesis]]:  # type: ignore[no-untyped-def]
        self.read += [list(source) for source in sources]
        return [[Hypothesis(tuple(source), 0.0, 0.0, ())] for source in sources]
