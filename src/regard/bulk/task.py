"""The unit of work of a run, and the task that is done with it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from regard.bulk.formats import Rows
from regard.bulk.storage import HashedFile, InputFile
from regard.translate.translator import Options, Translator


@dataclass(frozen=True)
class Shard:
    """A unit of work: an input file, and the address of its output."""

    file: InputFile
    output: str


CopyShard = Callable[[str, HashedFile], Iterator[Rows]]
"""copy(address, out): write the output of a file; yield the progress after each window."""


class Task(Protocol):
    """The processing of every shard of a run, such as its translation: settings only, since workers get a copy."""

    @property
    def options(self) -> Options:
        """The options of translation."""

    def output_name(self, name: str) -> str:
        """Return the name of a shard's output; reject a shard whose format is not read."""

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the output, besides the model and the options, as JSON values."""

    def begin(self, translator: Translator) -> CopyShard:
        """Return a function that copies shards; reject options that the translator does not have."""
