"""Filters that drop pairs of a corpus, counted by name, and detection of duplicates in bounded memory."""

import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from regard.config.data import FilterConfig

NOT_UTF8 = "not valid UTF-8"  # this and the next are detected while the files are read
NOT_A_PAIR = "not a pair"  # a line without its tab, or that is not valid JSON
TOO_LONG = "too long"
EMPTY = "empty"
RATIO = "length ratio"
IDENTICAL = "identical"
PROTECTED = "protected text differs"  # addresses or placeholders
DUPLICATE = "duplicate"
SPLIT_OFF = "split off"  # for validation and testing; no filter
REASONS = (
    NOT_UTF8,
    NOT_A_PAIR,
    TOO_LONG,
    EMPTY,
    RATIO,
    IDENTICAL,
    PROTECTED,
    DUPLICATE,
)  # in the order in which they are checked

RATIO_PADDING = 10  # characters added to both sides, so that "No." may be "Das kommt nicht in Frage."


def reason_before(source: str, target: str, config: FilterConfig) -> str | None:
    """Return the reason to drop a raw pair, before any work is done on it, or None to keep it."""
    return TOO_LONG if max(len(source), len(target)) > config.max_characters else None


def reason_after(source: str, target: str, config: FilterConfig) -> str | None:
    """Return the reason to drop a normalised pair, or None to keep it."""
    if not source or not target:
        return EMPTY
    if config.max_ratio is not None:
        shorter, longer = sorted((len(source) + RATIO_PADDING, len(target) + RATIO_PADDING))
        if longer > config.max_ratio * shorter:
            return RATIO
    if source == target and not config.identical:
        return IDENTICAL
    return None


DIGEST_SIZE = 16  # bytes; of a billion pairs, two different ones share one with a chance of about 1 in 10^21
_RECORD = struct.Struct(f"<{DIGEST_SIZE}sQ")  # a digest and the pair's number
_READ = _RECORD.size << 14  # bytes read at a time
_PENDING = 8 << 20  # bytes of records buffered before they are written


def digest(source: str, target: str) -> bytes:
    """Return the digest of a normalised pair: 16 bytes."""
    # Normalised text contains no line break, so no two pairs are joined to the same string.
    return blake2b(f"{source}\n{target}".encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()


@dataclass(frozen=True)
class Repeated:
    """A bit set of the numbers of repeated pairs: one bit a pair, the lowest bit of a byte first."""

    bits: bytearray
    count: int

    def __contains__(self, number: int) -> bool:
        return bool(self.bits[number >> 3] >> (number & 7) & 1)

    def __len__(self) -> int:
        return self.count


class Duplicates:
    """Finder of repeated pairs among more than fit into memory.

    Digests go to 256 files by their first byte; then each file is read alone, with a set of the digests seen in it.
    A file with too many different digests is split again by the next byte. Memory: `limit` digests of about 120
    bytes, 8 MiB of records, and at the end one bit a pair. Disk: 24 bytes a pair, below `directory`, until
    `repeated` has read them.
    """

    def __init__(self, directory: Path, *, limit: int = 1 << 19) -> None:
        self.count = 0
        self._limit = limit
        self._root = _Buckets(directory / "duplicates", depth=0)

    def extend(self, digests: bytes) -> None:
        """Add pairs by their concatenated digests; they are numbered 0, 1, 2, … in the order of addition."""
        assert len(digests) % DIGEST_SIZE == 0, "half a digest"
        number, pack, buffers = self.count, _RECORD.pack, self._root.buffers
        for at in range(0, len(digests), DIGEST_SIZE):
            buffers[digests[at]] += pack(digests[at : at + DIGEST_SIZE], number)
            number += 1
        self._root.added(_RECORD.size * (number - self.count))
        self.count = number

    def repeated(self) -> Repeated:
        """Return which pairs have an equal digest before them. Deletes the files; nothing can be added afterwards."""
        bits = bytearray((self.count + 7) // 8)
        self._search(self._root, bits)
        return Repeated(bits, int.from_bytes(bits, "little").bit_count())

    def _search(self, buckets: "_Buckets", bits: bytearray) -> None:
        for path in buckets.close():
            if not self._mark(path, bits) and buckets.depth + 1 < DIGEST_SIZE:
                self._search(_split(path, buckets.depth + 1), bits)
            path.unlink()
        buckets.directory.rmdir()

    def _mark(self, path: Path, bits: bytearray) -> bool:
        """Mark the repeated pairs of one file; return False if it has too many different digests for one set."""
        seen: set[bytes] = set()
        for block in _blocks(path):
            for found, number in _RECORD.iter_unpack(block):
                if found in seen:
                    bits[number >> 3] |= 1 << (number & 7)
                else:
                    seen.add(found)
            if len(seen) > self._limit:
                return False  # the bits set so far are correct, and will be set again
        return True


class _Buckets:
    """Up to 256 files of records, by one byte of the digest. Files are opened only to append: none stays open."""

    def __init__(self, directory: Path, depth: int) -> None:
        shutil.rmtree(directory, ignore_errors=True)  # records left by a killed attempt would count as seen
        directory.mkdir(parents=True)
        self.directory = directory
        self.depth = depth
        self.buffers = [bytearray() for _ in range(256)]
        self._pending = 0

    def added(self, size: int) -> None:
        self._pending += size
        if self._pending > _PENDING:
            self.flush()

    def flush(self) -> None:
        for byte, buffer in enumerate(self.buffers):
            if buffer:
                with self._path(byte).open("ab") as file:
                    file.write(buffer)
                buffer.clear()
        self._pending = 0

    def close(self) -> Iterator[Path]:
        """Write the buffered records and yield the files that exist, one after the other."""
        self.flush()
        return (path for path in map(self._path, range(256)) if path.exists())

    def _path(self, byte: int) -> Path:
        return self.directory / f"{byte:02x}"


def _split(path: Path, depth: int) -> _Buckets:
    buckets = _Buckets(path.with_name(f"{path.name}-split"), depth)
    for block in _blocks(path):
        for at in range(0, len(block), _RECORD.size):
            buckets.buffers[block[at + depth]] += block[at : at + _RECORD.size]
        buckets.added(len(block))
    return buckets


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_READ):
            yield block
