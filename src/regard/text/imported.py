"""Conversion of third-party sentencepiece models into our subword files: validated, renumbered, rewritten.

The segmentation of a text must not change, so the pieces keep their scores and the model its rules. The ids become
ours: the reserved tokens first, then the tags, then the others in the order of the vocabulary that both languages
share.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from regard.errors import UserError
from regard.text import charsmap
from regard.text.protobuf import fields
from regard.text.subword_file import (
    BYTE,
    BYTES,
    CONTROL,
    LARGEST_FILE,
    MOST_PIECES,
    NORMAL,
    RESERVED,
    UNKNOWN,
    UNUSED,
    Rules,
    imported_settings,
    piece,
)

LONGEST_NAME = 100  # bytes, so that a piece's length fits into one byte
UNIGRAM = 1


@dataclass(frozen=True)
class Foreign:
    """The parts of a third-party sentencepiece model that determine how it segments a text."""

    pieces: dict[str, tuple[float, int]]
    """The score and type of each piece that can occur in a segmentation."""
    rules: Rules


def read(content: bytes, origin: str) -> Foreign:
    """Parse a unigram model; raise a UserError that begins with `origin` for one that cannot be converted exactly."""
    if len(content) > LARGEST_FILE:
        raise UserError(f"{origin}: {len(content):,} bytes is too large for a subword model; get it again")
    try:
        every = list(fields(content))
        trainer, normaliser, back = (_merged(every, field) for field in (2, 3, 5))
        pieces = dict(_piece(part) for field, part in every if field == 1)
    except (ValueError, TypeError, struct.error):
        raise UserError(f"{origin}: not a sentencepiece model; get the file again") from None
    compiled = normaliser.get(2, b"")
    rules = Rules(
        compiled if isinstance(compiled, bytes) else b"",
        normaliser.get(3, 1) == 1,
        normaliser.get(4, 1) == 1,
        trainer.get(35, 0) == 1,
    )
    reason = _unlike(trainer, normaliser, back, pieces, rules)
    if reason is not None:
        raise UserError(f"{origin}: regard can't cut text as this model does ({reason}); take one with other subwords")
    wanted = {NORMAL, UNUSED} | ({BYTE} if rules.fallback else set())
    return Foreign({name: one for name, one in pieces.items() if one[1] in wanted}, rules)


def write(names: Sequence[str], tags: int, foreign: Foreign) -> bytes:
    """Return one language's file: `names` in the order of their ids, of which `tags` follow the reserved tokens."""
    first = len(RESERVED) + tags
    records = [(RESERVED[index][0], 0.0, RESERVED[index][1]) for index in range(len(RESERVED))]
    records += [(name, 0.0, CONTROL) for name in names[len(RESERVED) : first]]
    records += [(name, *foreign.pieces.get(name, (0.0, UNUSED))) for name in names[first:]]
    return b"".join(piece(*record) for record in records) + imported_settings(foreign.rules)


def _merged(every: Iterable[tuple[int, int | bytes]], wanted: int) -> dict[int, int | bytes]:
    """Return the fields of a sub-message; where it occurs twice, later fields override earlier ones, as in protobuf."""
    parts = [part for field, part in every if field == wanted and isinstance(part, bytes)]
    return {field: value for part in parts for field, value in fields(part)}


def _piece(part: int | bytes) -> tuple[str, tuple[float, int]]:
    if not isinstance(part, bytes):
        raise TypeError("a piece is a message")
    found = dict(fields(part))
    name, score, kind = found.get(1, b""), found.get(2, b"\0" * 4), found.get(3, NORMAL)
    if not isinstance(name, bytes) or not isinstance(score, bytes) or not isinstance(kind, int):
        raise TypeError("a piece has a name, a score and a type")
    return name.decode(), (struct.unpack("<f", score)[0], kind)


def _unlike(
    trainer: Mapping[int, int | bytes],
    normaliser: Mapping[int, int | bytes],
    back: Mapping[int, int | bytes],
    pieces: Mapping[str, tuple[float, int]],
    rules: Rules,
) -> str | None:
    """Return why our format cannot represent a model, or None if it can."""
    kinds = {kind for _, kind in pieces.values()}
    checks = {
        "it is not a unigram model": trainer.get(3, UNIGRAM) != UNIGRAM,
        "it puts spaces after words": trainer.get(24, 0) != 0,
        "it does not mark spaces": normaliser.get(5, 1) != 1,
        "it changes its output by rules": bool(back.get(2)),
        "it has symbols that somebody defined": not kinds <= {NORMAL, UNKNOWN, CONTROL, UNUSED, BYTE},
        "it has no pieces": NORMAL not in kinds,
        "it has too many pieces": len(pieces) > MOST_PIECES,
        "a piece is empty or too long": any(not 0 < len(name.encode()) <= LONGEST_NAME for name in pieces),
        "a piece has a NUL": any("\0" in name for name in pieces),
        "its bytes are not complete": rules.fallback
        and not all(pieces.get(name, (0.0, NORMAL))[1] == BYTE for name in BYTES),
        "its normalisation rules are damaged": bool(rules.charsmap) and not charsmap.sound(rules.charsmap),
    }
    return next((reason for reason, holds in checks.items() if holds), None)
