"""The additions of a server's owner to its models: a memory, glossaries by direction, and those that clients store."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from regard.errors import UserError
from regard.memory.database import Database
from regard.memory.glossaries import GlossaryStore
from regard.memory.store import Memory
from regard.terms.glossary import Glossary

_NAMED = re.compile(r"([A-Za-z]{2,8}(?:_[A-Za-z0-9]{2,8})*)-([A-Za-z]{2,8}(?:_[A-Za-z0-9]{2,8})*)=(.+)", re.DOTALL)
Direction = tuple[str, str]


@dataclass(frozen=True)
class ServerKnowledge:
    """A memory, glossaries by direction, and the store of the clients' glossaries."""

    memory: Memory | None
    files: Mapping[Direction, Path]
    glossaries: dict[Direction, Glossary]
    store: GlossaryStore

    @classmethod
    def open(
        cls, directions: Iterable[Direction], *, memory: Path | None, glossaries: Iterable[str], most_stored: int
    ) -> Self:
        """Open a memory, which is made if it is not there, and read glossaries, given as FILE or FROM-TO=FILE."""
        opened = None if memory is None else Memory(memory, create=True)
        database = Database(None) if opened is None else opened.database
        files = dict(_directed(given, list(directions)) for given in glossaries)
        return cls(opened, files, read_glossaries(files), GlossaryStore(database, most_stored))

    def close(self) -> None:
        self.store.database.close()


def read_glossaries(files: Mapping[Direction, Path]) -> dict[Direction, Glossary]:
    return {direction: Glossary.read(path, direction) for direction, path in files.items()}


def _directed(given: str, directions: list[Direction]) -> tuple[Direction, Path]:
    """Return the direction of a glossary: the one that is named, else the first that is served."""
    named = _NAMED.fullmatch(given)
    if named is None:
        return directions[0], Path(given)
    direction = named[1].replace("_", "-"), named[2].replace("_", "-")
    if direction not in directions:
        served = ", ".join(map("-".join, directions))
        raise UserError(f"--glossary {given[:80]}: no model translates so; these directions are served: {served}")
    return direction, Path(named[3])
