"""Language identification: py3langid's character n-grams over 139 languages, and the script for Korean.

py3langid was chosen since it is maintained, needs no network and no pickle, and takes 5 MB. It is unsure about short
texts; so an expected language has a much larger prior than another.
"""

import lzma
import os
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import UserError
from regard.text.normalise import normalise

EXPECTED_ODDS = 50.0  # prior odds of an expected language against another
SAMPLE = 2000  # characters that suffice to identify a language
HANGUL_SHARE = 0.3  # of the letters: only Korean uses Hangul, often mixed with Latin letters
FEWEST_LETTERS = 6  # fewer, such as in `OK` or `USB 3`, are no evidence
BYTES = 256
LOCAL_HEADER = 26  # bytes of a zip member's header before the lengths of its name and of its extra field
Array = NDArray[np.float64]
_LOADING = Lock()


class LanguageIdentifier:
    """Identify the language of a text, with expected ones preferred; load the tables on first use."""

    def __init__(self, expected: Iterable[str]) -> None:
        """Expect these languages, by their base codes, such as `pt` and not `pt-BR`."""
        self.expected = list(expected)
        self._odds = cache(self._prior)

    def ranked(self, text: str) -> list[tuple[str, float]]:
        """Return all languages with their probabilities, most probable first."""
        codes, shares_L = self._weighed(text)
        found = zip(codes, shares_L.tolist(), strict=True)
        return sorted(found, key=lambda one: (-one[1], self._order(one[0])))

    def best(self, text: str) -> tuple[str, float]:
        """Return the first of `ranked`."""
        codes, shares_L = self._weighed(text)
        most = shares_L.max()
        code = min((codes[number] for number in np.flatnonzero(shares_L == most)), key=self._order)
        return code, float(most)

    def _weighed(self, text: str) -> tuple[list[str], Array]:
        """Return all languages and their probabilities."""
        text = normalise(text[:SAMPLE])
        hangul = 0
        if not text.isascii():
            letters = [character for character in text if character.isalpha()]
            hangul = sum(map(is_hangul, letters))
            if letters and hangul / len(letters) >= HANGUL_SHARE:
                return ["ko"], np.ones(1)
        with _LOADING:  # concurrent first uses load the tables once
            tables = _tables()
        codes, columns, odds_L = self._odds(bool(hangul))
        weights_L = tables._decide(text)[columns] * odds_L
        return codes, weights_L / weights_L.sum()

    def _prior(self, hangul: bool) -> tuple[list[str], list[int], Array]:
        """Return the languages, their columns in the tables, and their prior odds; Korean has none without Hangul."""
        classes = _tables().nb_classes
        codes = [code for code in dict.fromkeys(classes) if code != "ko" or hangul]
        odds = [EXPECTED_ODDS if code in self.expected else 1.0 for code in codes]
        return codes, list(map(classes.index, codes)), np.array(odds)

    def _order(self, code: str) -> int:
        """Return the place of a language among the expected ones, which decides between equal probabilities."""
        return self.expected.index(code) if code in self.expected else len(self.expected)

    def other_than(self, text: str, language: str) -> bool:
        """Return whether a text is in another language than this one; too few letters are not."""
        if sum(map(str.isalpha, text[:SAMPLE])) < FEWEST_LETTERS:
            return False
        return self.best(text)[0] != language


def is_hangul(letter: str) -> bool:
    return "가" <= letter <= "힣" or "ㄱ" <= letter <= "ㆎ" or "\u1100" <= letter <= "\u11ff" or "ﾡ" <= letter <= "ￜ"


@cache
def _tables() -> Any:
    """Return py3langid's tables: once for all identifiers of the process."""
    try:
        from py3langid.langid import MODEL_DIR, MODEL_FILE  # noqa: PLC0415
        from py3langid.langid import LanguageIdentifier as Tables  # noqa: PLC0415
    except ImportError:
        raise UserError("languages are identified by py3langid; install it: pip install py3langid") from None
    try:
        found = _unpacked(Path(MODEL_DIR, MODEL_FILE))
        return Tables(
            found["ptc"],
            found["pc"].whole(),
            found["classes"].whole().tolist(),
            _Transitions(found["nextmove"]),
            memoryview(found["out_feat"].whole()),
            norm_probs=True,
            tk_row=memoryview(found["nextmove_row"].whole()),
        )
    except (OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile, lzma.LZMAError):
        # No room for a temporary file, or the layout of another version.
        return Tables.from_model_file(MODEL_FILE, norm_probs=True)


@dataclass(frozen=True)
class _Table:
    """A table on disk, of which only those rows come into memory that are asked for."""

    file: int
    offset: int
    shape: tuple[int, ...]
    kind: np.dtype[Any]
    known: dict[int, bytes] = field(default_factory=dict)
    """The rows that were read."""

    def __getitem__(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        content = b"".join(map(self.row, rows.tolist()))
        return np.frombuffer(content, self.kind).reshape(len(rows), self.shape[1])

    def row(self, number: int) -> bytes:
        found = self.known.get(number)
        if found is None:
            size = self.shape[1] * self.kind.itemsize
            found = self.known[number] = os.pread(self.file, size, self.offset + number * size)
        return found

    def whole(self) -> Any:
        size = int(np.prod(self.shape)) * self.kind.itemsize
        return np.frombuffer(os.pread(self.file, size, self.offset), self.kind).reshape(self.shape)


class _Transitions:
    """The next states of an automaton by state and byte; a state's are read when it is first reached."""

    def __init__(self, table: _Table) -> None:
        self._table = replace(table, shape=(table.shape[0] // BYTES, BYTES))
        self._states: dict[int, Any] = {}

    def __getitem__(self, place: int) -> int:
        state = self._states.get(place // BYTES)
        if state is None:
            row: Any = np.frombuffer(self._table.row(place // BYTES), self._table.kind)
            state = self._states[place // BYTES] = memoryview(row)  # whose elements are Python's integers
        found: int = state[place % BYTES]
        return found


def _unpacked(packed: Path) -> dict[str, _Table]:
    """Return the tables of a compressed .npz, in a temporary file that lives as long as they do.

    py3langid's own reader has all of them in memory: 103 MB at its peak. A text needs a few hundred rows of them.
    """
    tables = {}
    with tempfile.TemporaryFile() as file, lzma.open(packed) as stream:
        shutil.copyfileobj(stream, file, 1 << 20)
        file.flush()
        kept = os.dup(file.fileno())
        for member in zipfile.ZipFile(file).infolist():
            file.seek(member.header_offset + LOCAL_HEADER)
            file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError(f"{member.filename}: not the layout of py3langid 0.4")
            shape, _, kind = np.lib.format.read_array_header_1_0(file)
            tables[Path(member.filename).stem] = _Table(kept, file.tell(), shape, kind)
    return tables
