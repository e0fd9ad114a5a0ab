"""The SQLite file of a memory: opening and checking it, transactions, and errors as sentences."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from regard.errors import Failed, UserError

APPLICATION = 0x52474D31  # "RGM1"
VERSION = 1
WAIT_SECONDS = 30.0  # time to wait for another process that writes
CHECKED_BYTES = 64 << 20  # of a larger file only the structure is checked on opening; `regard memory check` reads all
SCHEMA = """
CREATE TABLE pairs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key INTEGER NOT NULL,
    source_language TEXT NOT NULL, target_language TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
    origin TEXT NOT NULL, author TEXT NOT NULL, time TEXT NOT NULL
);
CREATE INDEX pairs_by_key ON pairs (key);
CREATE INDEX pairs_by_origin ON pairs (origin, id);
CREATE VIRTUAL TABLE words USING fts5 (tokens, content='', detail=none, columnsize=0, tokenize='ascii');
CREATE TABLE frequency (token TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE tuned (languages TEXT PRIMARY KEY, last INTEGER NOT NULL, time TEXT NOT NULL);
CREATE TABLE glossaries (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, time TEXT NOT NULL, multilingual INTEGER NOT NULL
);
CREATE TABLE dictionaries (
    glossary TEXT NOT NULL REFERENCES glossaries (id) ON DELETE CASCADE,
    source_language TEXT NOT NULL, target_language TEXT NOT NULL, entries TEXT NOT NULL,
    PRIMARY KEY (glossary, source_language, target_language)
);
"""
TABLES = {"pairs", "words", "frequency", "tuned", "glossaries", "dictionaries"}


class Database:
    """A connection that the threads of a process share."""

    def __init__(self, path: Path | None, *, create: bool = False) -> None:
        """Open a file and check it; None for a database in memory, which is gone when it is closed."""
        self.path = path
        self._lock = RLock()
        if path is not None and not create and not path.exists():
            raise UserError(f"{path}: no such memory; make one with `regard memory import` or `regard memory add`")
        if path is not None and path.exists() and not path.is_file():
            raise UserError(f"{path}: is not a file, so it can't be a memory; name another")
        with self.mistakes():
            self.connection = sqlite3.connect(
                ":memory:" if path is None else path,
                timeout=WAIT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._open()
            except BaseException:
                self.connection.close()
                raise

    def _open(self) -> None:
        execute = self.connection.execute
        execute("PRAGMA trusted_schema = OFF")
        (application,) = execute("PRAGMA application_id").fetchone()
        (tables,) = execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and application != APPLICATION:
            raise UserError(f"{self.path}: is a SQLite file, but not a memory of regard; name another")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA foreign_keys = ON")
        if not tables:
            self._make()
        (version,) = execute("PRAGMA user_version").fetchone()
        names = {name for (name,) in execute("SELECT name FROM sqlite_master")}
        if version != VERSION or not names >= TABLES:
            raise UserError(f"{self.path}: is a memory of another version ({version}); use the regard that made it")
        if self.path is not None and self.path.stat().st_size <= CHECKED_BYTES:
            self.check()

    def _make(self) -> None:
        """Create the tables, unless another process did so meanwhile."""
        with self.change() as connection:
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in SCHEMA.strip().removesuffix(";").split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")

    def check(self) -> None:
        """Read the whole file, and raise UserError if it is damaged."""
        with self.read() as connection:
            (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            raise UserError(f"{self.path}: is damaged ({str(said)[:100]}); restore it from a copy")

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give the connection to one thread at a time."""
        with self._lock, self.mistakes():
            yield self.connection

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Make all changes of the block one transaction: all of them are stored, or none."""
        with self._lock, self.mistakes():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def mistakes(self) -> Iterator[None]:
        """Report SQLite's errors that a user can mend in a sentence."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            name, said = getattr(error, "sqlite_errorname", ""), str(error)
            if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
                raise UserError(f"{self.path}: is damaged or not a memory ({said}); restore it from a copy") from None
            if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")):
                raise UserError(
                    f"{self.path}: can't be opened or written ({said}); check its folder's rights"
                ) from None
            if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
                raise Failed(f"{self.path}: {said}; nothing of it was stored; make room there") from None
            if name.startswith("SQLITE_BUSY"):
                raise Failed(f"{self.path}: another process has been writing it for long; try again") from None
            raise

    def close(self) -> None:
        with self._lock:
            self.connection.close()
