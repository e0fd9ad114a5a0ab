"""The file of a subword model: a sentencepiece ModelProto in one strict format, validated byte for byte.

A protobuf may hold its fields in any order, twice, or with thousands of bytes of third-party normalisation rules. We
write one format only, so we read one format only: the pieces, then exactly the settings that regard trains with. Every
byte passed to sentencepiece's C++ is thus known, and two trainings that learn the same pieces give the same file.

    file     = piece* settings
    piece    = 0A length  0A length name  15 float  [18 type]       every length is under 128, so one byte
    settings = the bytes of settings()

An imported model (imported.py) has a second format: its ids are those of a vocabulary that two languages share, so a
piece that only the other language has is included as unused; the byte pieces are optional; and it has rules of its
own, of which the settings keep three.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from regard.config.special_tokens import BOS, EOS, PAD, UNK
from regard.errors import UserError
from regard.text import charsmap
from regard.text.protobuf import fields, message, number

SubwordKind = Literal["bpe", "unigram"]

LARGEST_FILE = 64 << 20  # bytes; a million pieces of 16 Korean letters would fit
LONGEST_PIECE = 16  # characters: the most that sentencepiece learns, and so 64 bytes
LONGEST_TAG = 64  # bytes
MOST_PIECES = 1 << 20
LARGEST_SCORE = 2.0**24  # BPE's scores are minus the rank, exact in a float up to here; unigram's are small
UNKNOWN_SURFACE = "⁇"

MARK = "\u2581"  # sentencepiece's symbol for a space
STAND_IN = "\ufdd0"  # passed to it for a real U+2581: a noncharacter, so never in normalised text, nor in a piece

NORMAL, UNKNOWN, CONTROL, UNUSED, BYTE = 1, 2, 3, 5, 6  # ModelProto.SentencePiece.Type
RESERVED = {PAD: ("<pad>", CONTROL), UNK: ("<unk>", UNKNOWN), BOS: ("<s>", CONTROL), EOS: ("</s>", CONTROL)}
TAG = re.compile(r"<[^\s<>,\"▁\x00-\x1f\ud800-\udfff]+>")  # in brackets: the trainer splits text at tag names
BYTES = [f"<0x{value:02X}>" for value in range(256)]


@dataclass(frozen=True)
class Rules:
    """The preprocessing of a third-party model before segmentation."""

    charsmap: bytes
    """The compiled character replacements; may be empty."""
    prefix: bool
    """True if a space is added at the beginning of a text."""
    squeeze: bool
    """True if spaces at the ends are stripped, and runs of them collapsed."""
    fallback: bool
    """True if characters without a piece are spelt in bytes."""


@dataclass(frozen=True)
class Pieces:
    """The contents of a file that has passed validation."""

    names: list[str]
    tags: tuple[str, ...]
    kind: SubwordKind
    rules: Rules | None = None
    """Set for an imported model only."""
    scores: tuple[float, ...] = ()
    """Score of each piece: its log probability, or minus the number of its merge."""
    normal: tuple[bool, ...] = ()
    """True for each piece that text is made of: neither reserved, nor a byte, nor unused."""


def is_tag(name: str) -> bool:
    return TAG.fullmatch(name) is not None and len(name.encode()) <= LONGEST_TAG


def split_tags(tags: str) -> list[str]:
    """Split tags that are written together: <2ko><bt> -> <2ko>, <bt>."""
    return re.findall("<[^>]*>", tags)


def settings(kind: SubwordKind, *, squeeze: bool = False) -> bytes:
    """Return the end of every file: the fields of trainer_spec (2) and normalizer_spec (3) that are not defaults."""
    return _trainer(kind, fallback=True) + message(3, message(1, b"identity") + number(4, squeeze))


def imported_settings(rules: Rules) -> bytes:
    """Return the settings of an imported model."""
    compiled = message(2, rules.charsmap) if rules.charsmap else b""
    normaliser = message(1, b"imported") + compiled + number(3, rules.prefix) + number(4, rules.squeeze)
    return _trainer("unigram", fallback=rules.fallback) + message(3, normaliser)


def _trainer(kind: SubwordKind, *, fallback: bool) -> bytes:
    trainer = number(3, {"unigram": 1, "bpe": 2}[kind])
    for field, value in ((35, fallback), (40, UNK), (41, BOS), (42, EOS), (43, PAD)):  # byte_fallback, then the ids
        trainer += number(field, value)
    return message(2, trainer + message(44, UNKNOWN_SURFACE.encode()))


def piece(name: str, score: float, kind: int) -> bytes:
    """Encode one piece as it is stored in a file."""
    content = message(1, name.encode()) + b"\x15" + struct.pack("<f", score)
    return message(1, content if kind == NORMAL else content + number(3, kind))


def rebuild(trained: bytes, kind: SubwordKind) -> bytes:
    """Rewrite the output of sentencepiece's trainer in our format: its pieces, our settings."""
    _, end = _walk(trained)
    return trained[:end] + settings(kind)


def extended(content: bytes, tags: Sequence[str], pieces: Sequence[tuple[str, float]]) -> bytes:
    """Return a file of ours with more tags, after those it has, and more pieces, with their scores, at the end."""
    records, end = _walk(content)
    first = len(RESERVED) + len(read(content, "the subwords").tags)
    parts = [piece(name.decode(), score, kind) for name, score, kind in records]
    parts[first:first] = [piece(tag, 0.0, CONTROL) for tag in tags]
    return b"".join(parts + [piece(name, score, NORMAL) for name, score in pieces]) + content[end:]


def for_other_programs(content: bytes) -> bytes:
    """Return a file of ours for programs that don't normalise text: it collapses runs of spaces and strips the ends."""
    _, end = _walk(content)
    kind, rules = _settings(content[end:])
    return content[:end] + settings(kind, squeeze=True) if rules is None else content


def from_other_programs(content: bytes) -> bytes:
    """Undo `for_other_programs`: return such a file as it was before, and any other unchanged."""
    kinds: tuple[SubwordKind, ...] = ("bpe", "unigram")
    for kind in kinds:
        end = settings(kind, squeeze=True)
        if content.endswith(end):
            return content.removesuffix(end) + settings(kind)
    return content


def read(content: bytes, origin: str) -> Pieces:
    """Validate a file's bytes; raise a UserError that begins with `origin` unless regard wrote such a file."""
    if len(content) > LARGEST_FILE:
        raise UserError(f"{origin}: {len(content):,} bytes is too large for a subword model; restore it from a copy")
    try:
        records, end = _walk(content)
        names = [name.decode() for name, _, _ in records]
        kind, rules = _settings(content[end:])
        tags = _check([kind for _, _, kind in records], names, rules)
        if not all(abs(score) <= LARGEST_SCORE for _, score, _ in records):  # false for NaN, too
            raise _UnsoundError("a score is out of range")
    except (_UnsoundError, UnicodeDecodeError, IndexError, struct.error) as error:
        reason = str(error) if isinstance(error, _UnsoundError) else "it is damaged"
        message = f"{origin}: not a subword model that regard wrote ({reason}); restore it from a copy or prepare again"
        raise UserError(message) from None
    normal = tuple(kind == NORMAL for _, _, kind in records)
    return Pieces(names, tags, kind, rules, tuple(score for _, score, _ in records), normal)


class _UnsoundError(Exception):
    """Raised with the reason why a file is not one of ours."""


def _walk(content: bytes) -> tuple[list[tuple[bytes, float, int]], int]:
    """Return the (name, score, type) of each piece at the beginning, and the offset at which they end."""
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


def _settings(end: bytes) -> tuple[SubwordKind, Rules | None]:
    kinds: tuple[SubwordKind, ...] = ("bpe", "unigram")
    for kind in kinds:
        if end == settings(kind):
            return kind, None
    rules = _rules(end)
    if rules is None or end != imported_settings(rules):
        raise _UnsoundError("its settings are not ours")
    if rules.charsmap and not charsmap.sound(rules.charsmap):
        raise _UnsoundError("its normalisation rules lead nowhere")
    return "unigram", rules


def _rules(end: bytes) -> Rules | None:
    """Return the rules at the end of an imported model, if it is one, to be encoded again and compared."""
    try:
        parts = {field: dict(fields(content)) for field, content in fields(end) if isinstance(content, bytes)}
    except ValueError:
        return None
    trainer, normaliser = parts.get(2, {}), parts.get(3, {})
    compiled = normaliser.get(2, b"")
    if not isinstance(compiled, bytes):
        return None
    return Rules(compiled, normaliser.get(3) == 1, normaliser.get(4) == 1, trainer.get(35) == 1)


def _check(kinds: list[int], names: list[str], rules: Rules | None) -> tuple[str, ...]:
    """Require the reserved tokens, then tags, then (unless imported) the 256 bytes, then pieces; return the tags."""
    first = len(RESERVED)
    count = next((index for index, kind in enumerate(kinds[first:]) if kind != CONTROL), 0)
    layout = [RESERVED[index] for index in range(first)] + [(name, CONTROL) for name in names[first : first + count]]
    if rules is None:
        layout += [(name, BYTE) for name in BYTES]
    if list(zip(names, kinds, strict=True))[: len(layout)] != layout:
        raise _UnsoundError("the reserved tokens or the bytes are not where they belong")
    if not all(map(is_tag, names[first : first + count])):
        raise _UnsoundError("a tag is not of the form <name>")
    if len(set(names)) != len(names):
        raise _UnsoundError("a piece is there twice")
    if rules is None:
        _check_learned(kinds[len(layout) :], names[len(layout) :])
    else:
        _check_imported(kinds[len(layout) :], names[len(layout) :], rules)
    return tuple(names[first : first + count])


def _check_learned(kinds: list[int], names: list[str]) -> None:
    if any(kind != NORMAL for kind in kinds):
        raise _UnsoundError("a learned piece has a special type")
    if any(not 0 < len(name) <= LONGEST_PIECE for name in names):
        raise _UnsoundError("a piece is empty or too long")
    if MARK not in names:
        raise _UnsoundError("it can't spell a space")
    if any(STAND_IN in name or "\0" in name for name in names):
        raise _UnsoundError("a piece has a character that text never has")


def _check_imported(kinds: list[int], names: list[str], rules: Rules) -> None:
    if not set(kinds) <= {NORMAL, UNUSED, BYTE}:
        raise _UnsoundError("a learned piece has a special type")
    spelling = {name for name, kind in zip(names, kinds, strict=True) if kind == BYTE}
    if spelling != (set(BYTES) if rules.fallback else set()):
        raise _UnsoundError("the bytes are not complete")
    if any(not name or "\0" in name for name in names):
        raise _UnsoundError("a piece is empty or has a character that text never has")
