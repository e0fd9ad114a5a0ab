"""The file of a subword model: a sentencepiece ModelProto of one strict shape, checked byte for byte.

A protobuf may hold its fields in any order, twice, or with thousands of bytes of somebody else's normalisation rules.
We write one shape only, so we read one shape only: the pieces, then exactly the settings that regard trains with.
What sentencepiece's C++ is given is then known to the last byte, and two trainings that learn the same pieces are the
same file.

    file     = piece* settings
    piece    = 0A length  0A length name  15 float  [18 type]       every length is under 128, so one byte
    settings = the bytes of settings()
"""

import re
import struct
from dataclasses import dataclass
from typing import Literal

from regard.config import BOS, EOS, PAD, UNK
from regard.errors import UserError

Kind = Literal["bpe", "unigram"]

LARGEST_FILE = 64 << 20  # bytes; a million pieces of 16 Korean letters would fit
LONGEST_PIECE = 16  # characters: what sentencepiece learns at most, and so 64 bytes
LONGEST_TAG = 64  # bytes
MOST_PIECES = 1 << 20
LARGEST_SCORE = 2.0**24  # BPE's scores are minus the rank, exact in a float up to here; unigram's are small
UNKNOWN_SURFACE = "⁇"

MARK = "\u2581"  # what sentencepiece writes for a space
STAND_IN = "\ufdd0"  # what we hand it for a real U+2581: a noncharacter, so never in normalised text, nor in a piece

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # ModelProto.SentencePiece.Type
RESERVED = {PAD: ("<pad>", CONTROL), UNK: ("<unk>", UNKNOWN), BOS: ("<s>", CONTROL), EOS: ("</s>", CONTROL)}
TAG = re.compile(r"<[^\s<>,\"▁\x00-\x1f\ud800-\udfff]+>")  # in brackets: the trainer cuts its text at every tag's name
BYTES = [f"<0x{value:02X}>" for value in range(256)]


@dataclass(frozen=True)
class Pieces:
    """What a file says once it is known to be sound."""

    names: list[str]
    tags: tuple[str, ...]
    kind: Kind


def is_tag(name: str) -> bool:
    return TAG.fullmatch(name) is not None and len(name.encode()) <= LONGEST_TAG


def settings(kind: Kind) -> bytes:
    """The end of every file: what trainer_spec (field 2) and normalizer_spec (field 3) say besides their defaults."""
    trainer = bytes([3 << 3, {"unigram": 1, "bpe": 2}[kind]])
    for field, value in ((35, 1), (40, UNK), (41, BOS), (42, EOS), (43, PAD)):  # 35: byte_fallback; the others are ids
        trainer += bytes([(field << 3) & 0x7F | 0x80, field >> 4, value])
    surface = UNKNOWN_SURFACE.encode()
    trainer += bytes([(44 << 3 | 2) & 0x7F | 0x80, 44 >> 4, len(surface)]) + surface
    normaliser = b"\x0a\x08identity" + b"\x20\x00"  # name; remove_extra_whitespaces
    return bytes([2 << 3 | 2, len(trainer)]) + trainer + bytes([3 << 3 | 2, len(normaliser)]) + normaliser


def rebuild(trained: bytes, kind: Kind) -> bytes:
    """What sentencepiece's trainer wrote, in our shape: its pieces, our settings."""
    _, end = _walk(trained)
    return trained[:end] + settings(kind)


def read(content: bytes, origin: str) -> Pieces:
    """Check a file's bytes; anything but a file that regard wrote is a UserError that begins with `origin`."""
    if len(content) > LARGEST_FILE:
        raise UserError(f"{origin}: {len(content):,} bytes is too large for a subword model; restore it from a copy")
    try:
        records, end = _walk(content)
        names = [name.decode() for name, _, _ in records]
        kind = _kind(content[end:])
        tags = _check([kind for _, _, kind in records], names)
        _check_learned(names[len(RESERVED) + len(tags) + len(BYTES) :])
        if not all(abs(score) <= LARGEST_SCORE for _, score, _ in records):  # false for NaN too
            raise _UnsoundError("a score is out of range")
    except (_UnsoundError, UnicodeDecodeError, IndexError, struct.error) as error:
        reason = str(error) if isinstance(error, _UnsoundError) else "it is damaged"
        message = f"{origin}: not a subword model that regard wrote ({reason}); restore it from a copy or prepare again"
        raise UserError(message) from None
    return Pieces(names, tags, kind)


class _UnsoundError(Exception):
    """Why a file can't be one of ours."""


def _walk(content: bytes) -> tuple[list[tuple[bytes, float, int]], int]:
    """The (name, score, type) of each piece at the beginning, and where they end."""
    records: list[tuple[bytes, float, int]] = []
    at, score_at = 0, struct.Struct("<f").unpack_from
    while at < len(content) and content[at] == 0x0A:
        length, size = content[at + 1], content[at + 3]
        name_end, end = at + 4 + size, at + 2 + length
        kind = NORMAL
        if length == size + 9:
            if content[name_end + 5] != 0x18:
                raise _UnsoundError("a piece has an unknown part")
            kind = content[name_end + 6]
        elif length != size + 7:
            raise _UnsoundError("a piece has a wrong length")
        if content[at + 2] != 0x0A or content[name_end] != 0x15 or length > 127:
            raise _UnsoundError("a piece has an unknown part")
        records.append((content[at + 4 : name_end], score_at(content, name_end + 1)[0], kind))
        at = end
        if len(records) > MOST_PIECES:
            raise _UnsoundError("it has too many pieces")
    return records, at


def _kind(end: bytes) -> Kind:
    kinds: tuple[Kind, ...] = ("bpe", "unigram")
    for kind in kinds:
        if end == settings(kind):
            return kind
    raise _UnsoundError("its settings are not ours")


def _check(kinds: list[int], names: list[str]) -> tuple[str, ...]:
    """Require the reserved tokens, then tags, then the 256 bytes, then only what was learned; give back the tags."""
    first = len(RESERVED)
    count = next((index for index, kind in enumerate(kinds[first:]) if kind != CONTROL), 0)
    layout = [RESERVED[index] for index in range(first)]
    layout += [(name, CONTROL) for name in names[first : first + count]] + [(name, BYTE) for name in BYTES]
    if list(zip(names, kinds, strict=True))[: len(layout)] != layout:
        raise _UnsoundError("the reserved tokens or the bytes are not where they belong")
    if not all(map(is_tag, names[first : first + count])):
        raise _UnsoundError("a tag is not of the form <name>")
    if any(kind != NORMAL for kind in kinds[len(layout) :]):
        raise _UnsoundError("a learned piece has a special type")
    if len(set(names)) != len(names):
        raise _UnsoundError("a piece is there twice")
    return tuple(names[first : first + count])


def _check_learned(names: list[str]) -> None:
    if any(not 0 < len(name) <= LONGEST_PIECE for name in names):
        raise _UnsoundError("a piece is empty or too long")
    if MARK not in names:
        raise _UnsoundError("it can't spell a space")
    if any(STAND_IN in name or "\0" in name for name in names):
        raise _UnsoundError("a piece has a character that text never has")
