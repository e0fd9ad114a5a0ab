"""Glossaries that clients store on a server: named sets of dictionaries, each with a language pair and its entries."""

import secrets
import sqlite3
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from regard.errors import UserError
from regard.memory.database import Database
from regard.terms.glossary import Glossary
from regard.terms.read import csv_terms, tsv

FORMATS = ("tsv", "csv")


@dataclass(frozen=True)
class Dictionary:
    """The entries of a glossary for one language pair, as lines of TSV."""

    source_language: str
    target_language: str
    entries: str

    @property
    def count(self) -> int:
        return self.entries.count("\n")

    @property
    def glossary(self) -> Glossary:
        return _parsed(self.entries)


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary of one owner."""

    id: str
    name: str
    time: str
    multilingual: bool
    """True if it was made with version 3 of the API, which allows several dictionaries."""
    dictionaries: tuple[Dictionary, ...]

    def dictionary(self, source: str, target: str) -> Dictionary | None:
        return next((d for d in self.dictionaries if (d.source_language, d.target_language) == (source, target)), None)


def entries_of(text: str, kind: str) -> str:
    """Return entries in TSV or CSV as lines of TSV; raise UserError if they are not valid, or a source comes twice."""
    text = text.removeprefix("\ufeff")  # a client sends a file as it is
    terms = list(tsv(text, "the entries") if kind == "tsv" else csv_terms(text, "the entries"))
    Glossary(terms)  # which rejects what no term has
    pairs = [(term.source + "*" * term.prefix, term.targets[0]) for term in terms]
    if not pairs:
        raise UserError("the entries are empty; give at least one")
    if len({source for source, _ in pairs}) < len(pairs):
        raise UserError("a source term comes twice in the entries; give it once")
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


@lru_cache(maxsize=64)
def _parsed(entries: str) -> Glossary:
    return Glossary(tsv(entries, "the glossary"))


class GlossaryStore:
    """The glossaries in a database, by owner."""

    def __init__(self, database: Database, most: int) -> None:
        self.database, self.most = database, most

    def create(
        self, owner: str, name: str, dictionaries: Sequence[Dictionary], *, multilingual: bool = False
    ) -> StoredGlossary:
        """Store a glossary; raise UserError if there are too many."""
        moment = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1000):03}Z"
        number = str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))
        with self.database.change() as connection:
            (count,) = connection.execute("SELECT count(*) FROM glossaries").fetchone()
            if count >= self.most:
                raise UserError(f"there are {count:,} glossaries, and no more are kept; delete some")
            connection.execute(
                "INSERT INTO glossaries VALUES (?, ?, ?, ?, ?)", (number, owner, name, stamp, multilingual)
            )
            _put(connection, number, dictionaries)
        return StoredGlossary(number, name, stamp, multilingual, tuple(dictionaries))

    def find(self, owner: str, number: str) -> StoredGlossary | None:
        return next(iter(self._select("owner = ? AND id = ?", owner, number)), None)

    def all(self, owner: str) -> list[StoredGlossary]:
        return self._select("owner = ?", owner)

    def _select(self, where: str, *values: str) -> list[StoredGlossary]:
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT id, name, time, multilingual FROM glossaries WHERE {where} ORDER BY time",  # noqa: S608
                values,
            ).fetchall()
            return [
                StoredGlossary(number, name, moment, bool(multilingual), _dictionaries(connection, number))
                for number, name, moment, multilingual in rows
            ]

    def rename(self, number: str, name: str) -> None:
        with self.database.change() as connection:
            connection.execute("UPDATE glossaries SET name = ? WHERE id = ?", (name, number))

    def put(self, number: str, dictionary: Dictionary) -> None:
        """Store a dictionary in place of the one with the same languages."""
        with self.database.change() as connection:
            _put(connection, number, [dictionary])

    def remove_dictionary(self, number: str, source: str, target: str) -> None:
        with self.database.change() as connection:
            connection.execute(
                "DELETE FROM dictionaries WHERE glossary = ? AND source_language = ? AND target_language = ?",
                (number, source, target),
            )

    def remove(self, number: str) -> None:
        with self.database.change() as connection:
            connection.execute("DELETE FROM glossaries WHERE id = ?", (number,))


def _put(connection: sqlite3.Connection, number: str, dictionaries: Sequence[Dictionary]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO dictionaries VALUES (?, ?, ?, ?)",
        [(number, one.source_language, one.target_language, one.entries) for one in dictionaries],
    )


def _dictionaries(connection: sqlite3.Connection, number: str) -> tuple[Dictionary, ...]:
    rows = connection.execute(
        "SELECT source_language, target_language, entries FROM dictionaries WHERE glossary = ? ORDER BY 1, 2", (number,)
    )
    return tuple(Dictionary(*row) for row in rows.fetchall())
