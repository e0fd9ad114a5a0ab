"""A translation memory: one SQLite file of pairs, which several processes may read and write at the same time.

Each change is one transaction, so a killed process or a full disk leaves the memory as it was before the change. Of
several pairs with the same source, the newest is the answer.
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from regard.documents.language import base
from regard.memory.database import Database
from regard.memory.pair import CORRECTIONS, Match, Pair, key, plain, tokens

AT_ONCE = 20_000  # pairs of an import in one transaction
ROWS = 6_000  # most rows of the index that a fuzzy search reads: those of the rarest words
RAREST = 5  # rarest words, which are also looked up in pairs
PAIR_ROWS = 500  # most rows for each pair of words
CANDIDATES = 200  # pairs that are compared letter by letter
LEAST_PERCENT = 60  # similarity below which a match is useless
MOST_NUMBER = 2**63 - 1  # SQLite's largest integer
COLUMNS = "source_language, target_language, source, target, origin, author, time, id"


class Memory:
    """Pairs of texts in a file."""

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        """Open a memory and check it; `create` makes one if there is none."""
        self.path = Path(path)
        self.database = Database(self.path, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.database.close()

    def __len__(self) -> int:
        with self.database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM pairs").fetchone()[0])

    def add(self, pair: Pair) -> Pair:
        """Store a pair as the newest of its source, and return it with its number and time."""
        pair.check()
        with self.database.change() as connection:
            same = [known for known in self._same(connection, pair) if known.target == pair.target]
            _delete(connection, same)
            _insert(connection, [pair])
            (number,) = connection.execute("SELECT max(id) FROM pairs").fetchone()
        return self.get([number])[0]

    def update(self, pairs: Iterable[Pair]) -> Iterator[int]:
        """Store pairs that are not there yet, some thousands in each transaction; yield how many were new of each."""
        given = iter(pairs)
        while portion := list(islice(given, AT_ONCE)):
            for pair in portion:
                pair.check()
            with self.database.change() as connection:
                yield self._update(connection, portion)

    def _update(self, connection: sqlite3.Connection, portion: Sequence[Pair]) -> int:
        """Insert the pairs of a portion that are new, as one change."""
        new: dict[tuple[int, str], Pair] = {}
        for pair in portion:
            number = key(pair.source_language, pair.target_language, pair.source)
            known = connection.execute("SELECT 1 FROM pairs WHERE key = ? AND target = ?", (number, pair.target))
            if known.fetchone() is None:
                new[number, pair.target] = pair
        _insert(connection, list(new.values()))
        return len(new)

    def get(self, numbers: Iterable[int]) -> list[Pair]:
        """Return the pairs of these numbers; unknown numbers are left out."""
        with self.database.read() as connection:
            return _pairs(connection, list(numbers))

    def entries(
        self, *, after: int = 0, origins: Sequence[str] | None = None, languages: tuple[str, str] | None = None
    ) -> Iterator[Pair]:
        """Yield all pairs in the order in which they were stored; only a thousand are in memory."""
        chosen = "" if origins is None else f" AND origin IN ({', '.join('?' * len(origins))})"
        while True:
            with self.database.read() as connection:
                rows = connection.execute(
                    f"SELECT {COLUMNS} FROM pairs WHERE id > ?{chosen} ORDER BY id LIMIT 1000",  # noqa: S608
                    (min(after, MOST_NUMBER), *(origins or ())),
                ).fetchall()
            if not rows:
                return
            for row in rows:
                pair = Pair(*row)
                if languages is None or _speaks(pair, *languages):
                    yield pair
            after = rows[-1][-1]

    def remove(self, numbers: Iterable[int]) -> int:
        """Remove pairs, and return how many there were."""
        given = list(dict.fromkeys(numbers))
        with self.database.change() as connection:
            portions = (given[start : start + AT_ONCE] for start in range(0, len(given), AT_ONCE))
            return sum(_delete(connection, _pairs(connection, portion)) for portion in portions)

    def exact(self, source: str, target: str, texts: Iterable[str]) -> dict[str, Pair]:
        """Return the newest pair for each text that the memory has, between two languages."""
        found: dict[str, Pair] = {}
        with self.database.read() as connection:
            for text in dict.fromkeys(texts):
                known = self._same(connection, Pair(source, target, text, ""))
                if known:
                    found[text] = known[0]
        return found

    def _same(self, connection: sqlite3.Connection, pair: Pair) -> list[Pair]:
        """Return the pairs with the same source between the same languages, newest first."""
        number = key(pair.source_language, pair.target_language, pair.source)
        rows = connection.execute(f"SELECT {COLUMNS} FROM pairs WHERE key = ? ORDER BY id DESC", (number,))  # noqa: S608
        every = (Pair(*row) for row in rows.fetchall())
        languages = pair.source_language, pair.target_language
        return [one for one in every if _speaks(one, *languages) and plain(one.source) == plain(pair.source)]

    def matches(self, source: str, target: str, text: str, *, least: int = LEAST_PERCENT, most: int = 5) -> list[Match]:
        """Return the pairs whose source is most like a text, best first; of the same source, the newest alone.

        The likeness is Levenshtein's: the share of characters that need not change.
        """
        from rapidfuzz.distance import Levenshtein  # noqa: PLC0415  # only this needs it

        wanted = plain(text)
        if not wanted:
            return []
        with self.database.read() as connection:
            pairs = [
                one for one in _pairs(connection, self._candidates(connection, text)) if _speaks(one, source, target)
            ]
        found: dict[str, Match] = {}
        for pair in pairs:  # the newest is last
            likeness = Levenshtein.normalized_similarity(wanted, plain(pair.source), score_cutoff=least / 100)
            percent = int(likeness * 100)
            if percent >= least:
                found[plain(pair.source)] = Match(pair, percent)
        return sorted(found.values(), key=lambda match: (-match.percent, -match.pair.id))[:most]

    def _candidates(self, connection: sqlite3.Connection, text: str) -> list[int]:
        """Return the numbers of the pairs that share the most of a text's rarest words."""
        counts = Counter[int]()
        asked = tokens(text)
        marks = ", ".join("?" * len(asked))
        known = connection.execute(
            f"SELECT count, token FROM frequency WHERE token IN ({marks}) AND count > 0 ORDER BY count",  # noqa: S608
            asked,
        )
        found, read, single = known.fetchall(), 0, 0
        for count, token in found:
            if read and read + count > ROWS:
                break
            counts.update(_rows(connection, token, ROWS))
            read, single = read + count, single + 1
        rare = [token for _, token in found[: max(single, RAREST)]]
        for at, token in enumerate(rare[:RAREST]):  # frequent words by twos: a text may share none of the rarest
            for other in rare[max(at + 1, single) : RAREST]:
                counts.update(2 * _rows(connection, f"{token} AND {other}", PAIR_ROWS))
        return [number for number, _ in counts.most_common(CANDIDATES)]

    def corrections(self, languages: tuple[str, str]) -> list[Pair]:
        """Return what was corrected since the last tuning between two languages, the newest of each source alone."""
        code = "-".join(map(base, languages))
        with self.database.read() as connection:
            row = connection.execute("SELECT last FROM tuned WHERE languages = ?", (code,)).fetchone()
        found = self.entries(after=row[0] if row else 0, origins=CORRECTIONS, languages=languages)
        return list({plain(pair.source): pair for pair in found}.values())

    def set_tuned(self, languages: tuple[str, str], last: int) -> None:
        """Record that all corrections up to a number have been learned."""
        code = "-".join(map(base, languages))
        with self.database.change() as connection:
            connection.execute("INSERT OR REPLACE INTO tuned VALUES (?, ?, ?)", (code, last, now()))


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _speaks(pair: Pair, source: str, target: str) -> bool:
    return (base(pair.source_language), base(pair.target_language)) == (base(source), base(target))


def _pairs(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[Pair]:
    numbers = [number for number in numbers if number <= MOST_NUMBER]
    marks = ", ".join("?" * len(numbers))
    rows = connection.execute(f"SELECT {COLUMNS} FROM pairs WHERE id IN ({marks}) ORDER BY id", numbers)  # noqa: S608
    return [Pair(*row) for row in rows.fetchall()]


def _rows(connection: sqlite3.Connection, asked: str, most: int) -> list[int]:
    """Return the numbers of the newest pairs that match a query of the index."""
    found = connection.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?", (asked, most))
    return [number for (number,) in found.fetchall()]


def _insert(connection: sqlite3.Connection, pairs: Sequence[Pair]) -> None:
    """Insert pairs with their index entries."""
    moment = now()
    (last,) = connection.execute(
        "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'pairs'), 0)"
    ).fetchone()
    numbered = list(enumerate(pairs, last + 1))
    connection.executemany(
        f"INSERT INTO pairs (id, key, {COLUMNS.removesuffix(', id')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (
            (
                number,
                key(pair.source_language, pair.target_language, pair.source),
                *(pair.source_language, pair.target_language, pair.source, pair.target),
                *(pair.origin, pair.author, pair.time or moment),
            )
            for number, pair in numbered
        ),
    )
    indexed = [(number, tokens(pair.source)) for number, pair in numbered]
    connection.executemany(
        "INSERT INTO words (rowid, tokens) VALUES (?, ?)", ((number, " ".join(found)) for number, found in indexed)
    )
    _count(connection, Counter(token for _, found in indexed for token in found))


def _delete(connection: sqlite3.Connection, pairs: Sequence[Pair]) -> int:
    """Delete pairs with their index entries."""
    indexed = [(pair.id, tokens(pair.source)) for pair in pairs]
    connection.executemany("DELETE FROM pairs WHERE id = ?", [(pair.id,) for pair in pairs])
    connection.executemany(
        "INSERT INTO words (words, rowid, tokens) VALUES ('delete', ?, ?)",
        [(number, " ".join(found)) for number, found in indexed],
    )
    _count(connection, Counter(token for _, found in indexed for token in found), sign=-1)
    return len(pairs)


def _count(connection: sqlite3.Connection, counts: Counter[str], sign: int = 1) -> None:
    connection.executemany(
        "INSERT INTO frequency VALUES (?, ?) ON CONFLICT (token) DO UPDATE SET count = count + excluded.count",
        [(token, sign * count) for token, count in counts.items()],
    )
