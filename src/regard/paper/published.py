"""The figures that the paper reports in Tables 2 and 4."""

from pydantic import Field

from regard.config.checked import Frozen
from regard.paper.experiment import read_experiment


class PublishedTranslation(Frozen):
    """A row of Table 2, by language pair."""

    model: str
    bleu: dict[str, float]
    flops: dict[str, float] = Field(default_factory=dict)


class PublishedParser(Frozen):
    """A row of Table 4."""

    parser: str
    training: str
    f1: float


class Published(Frozen):
    table2: tuple[PublishedTranslation, ...]
    table4: tuple[PublishedParser, ...]


def published() -> Published:
    return read_experiment(Published, "published", None)
