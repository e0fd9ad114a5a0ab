"""Prepared data on disk: token ids in memory-mapped shards, their subwords, and a report.

A folder holds `prepared.json` (the description below), `subwords.model` or a vocabulary for each side, `report.json`,
`manifest.json`, `valid.jsonl` (the raw validation set, to evaluate translations of it), `test.jsonl` (the test pairs,
if some were split off), and for each shard NAME of a split three arrays without headers, little-endian:

    NAME.source.bin, NAME.target.bin    ids of all texts, one after the other, without BOS and EOS
    NAME.offsets.bin                    int64, (pairs + 1) × 2: where each text begins, of the source and of the target
"""

import json
import re
from bisect import bisect_right
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import regard
from regard import files
from regard.config.checked import Frozen, check
from regard.config.data import PrepareConfig
from regard.data.prepare_report import PrepareReport
from regard.errors import UserError
from regard.text.subword_file import LARGEST_FILE
from regard.text.subwords import Subwords
from regard.text.symbols import Symbols
from regard.text.vocabularies import SHARED, SOURCE, SYMBOLS, TARGET, vocabulary, vocabulary_files, word_beginnings

FORMAT = 1
DESCRIPTION, REPORT, VALID_TEXTS, TEST_TEXTS = "prepared.json", "report.json", "valid.jsonl", "test.jsonl"
SHARD_PAIRS = 1 << 22  # each open shard takes three file descriptors, of which a process may have 1024

Integers = NDArray[np.int64]
Ids = NDArray[np.unsignedinteger[Any]]


class ShardDescription(Frozen):
    name: Annotated[str, Field(pattern=re.compile(r"^[a-z0-9-]+$"))]
    pairs: Annotated[int, Field(ge=1)]
    source_tokens: Annotated[int, Field(ge=1)]
    target_tokens: Annotated[int, Field(ge=1)]


class SplitDescription(Frozen):
    """One training corpus, or the validation set."""

    files: tuple[tuple[str, ...], ...]
    """The files that it was made from."""
    weight: Annotated[float, Field(gt=0)]
    tags: tuple[str | None, ...]
    """The reserved token before every source, of each of its corpora."""
    shards: tuple[ShardDescription, ...]


class PreparedDescription(Frozen):
    """The contents of prepared.json."""

    format: int
    regard: str
    """The version that wrote it."""
    prepare: PrepareConfig
    source_vocabulary: int
    target_vocabulary: int
    ids: Literal["uint16", "uint32"]
    train: Annotated[tuple[SplitDescription, ...], Field(min_length=1)]
    valid: SplitDescription | None


class Split:
    """The pairs of one corpus by index; the ids stay on disk until they are read."""

    def __init__(self, directory: Path, description: SplitDescription, ids: Literal["uint16", "uint32"]) -> None:
        self.weight = description.weight
        """The number of times that an epoch traverses it."""
        self._shards = [_MappedShard(directory, shard, ids) for shard in description.shards]
        self._starts = np.cumsum([0, *(shard.pairs for shard in description.shards)])
        self._first = self._starts.tolist()

    def __len__(self) -> int:
        return int(self._starts[-1])

    def lengths(self, indices: NDArray[np.integer]) -> tuple[Integers, Integers]:
        """Return the number of tokens of the sources and targets of these pairs, without BOS and EOS, with a tag."""
        indices = np.asarray(indices, dtype=np.int64)
        if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= len(self)):
            raise IndexError(f"pairs are numbered from 0 to {len(self) - 1}")
        lengths_N2 = np.empty((len(indices), 2), dtype=np.int64)
        which = np.searchsorted(self._starts, indices, side="right") - 1
        for number in np.unique(which):
            here = which == number
            rows = indices[here] - self._starts[number]
            offsets = self._shards[number].offsets
            lengths_N2[here] = offsets[rows + 1] - offsets[rows]
        return lengths_N2[:, 0].copy(), lengths_N2[:, 1].copy()

    def pair(self, index: int) -> tuple[Ids, Ids]:
        """Return the ids of a source, after its corpus's tag if it has one, and of its target; without BOS and EOS.

        They are views of the file in a small integer type: widen them before adding to them.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"pair {index}: pairs are numbered from 0 to {len(self) - 1}")
        number = bisect_right(self._first, index) - 1
        shard = self._shards[number]
        row = index - self._first[number]
        (source, target), (source_end, target_end) = shard.offsets[row : row + 2].tolist()
        return shard.source[source:source_end], shard.target[target:target_end]


class _MappedShard:
    def __init__(self, directory: Path, shard: ShardDescription, ids: Literal["uint16", "uint32"]) -> None:
        little = np.dtype(ids).newbyteorder("<")
        self.source = _mapped(directory / f"{shard.name}.source.bin", little, shard.source_tokens)
        self.target = _mapped(directory / f"{shard.name}.target.bin", little, shard.target_tokens)
        path = directory / f"{shard.name}.offsets.bin"
        self.offsets = _mapped(path, np.dtype("<i8"), 2 * (shard.pairs + 1)).reshape(-1, 2)
        if self.offsets[[0, -1]].tolist() != [[0, 0], [shard.source_tokens, shard.target_tokens]]:
            raise UserError(f"{path}: its offsets don't fit its texts; restore the folder from a copy or prepare again")


def _mapped(path: Path, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    try:
        size = path.stat().st_size
    except OSError:
        raise UserError(f"{path}: missing; restore the folder from a copy or prepare it again") from None
    if size != count * dtype.itemsize:
        raise UserError(f"{path}: {size} bytes where {count * dtype.itemsize} belong; restore it or prepare again")
    return np.memmap(path, dtype=dtype, mode="r", shape=(count,)).view(np.ndarray)  # whose slices are much cheaper


class RawPair(NamedTuple):
    """A pair as it was read: neither normalised nor filtered."""

    source: str
    target: str
    tag: str | None
    """Its corpus's tag, which names the target language."""


class Prepared:
    """A prepared folder, opened."""

    def __init__(self, directory: Path, description: PreparedDescription, report: PrepareReport) -> None:
        self.directory = directory
        self.config = description.prepare
        self.languages = description.prepare.source_language, description.prepare.target_language
        """Codes of the source's and the target's language, as far as known."""
        self.report = report
        self.source_subwords, self.target_subwords = _subwords(directory, description)
        """The same object if the languages share a vocabulary; symbols if the target is trees."""
        self.files = tuple(files for split in description.train for files in split.files)
        """The files of each training corpus."""
        self.train = tuple(Split(directory, split, description.ids) for split in description.train)
        """One for each corpus."""
        valid = description.valid
        self.valid = None if valid is None else Split(directory, valid, description.ids)

    @property
    def word_beginnings(self) -> tuple[list[float], list[float]]:
        """Return 1 for each token of the source, and of the target, that begins a word or stands for one."""
        return word_beginnings(self.source_subwords), word_beginnings(self.target_subwords)

    @property
    def vocabularies(self) -> dict[str, bytes]:
        """Return the vocabularies by the names of their files."""
        return vocabulary_files(self.source_subwords, self.target_subwords)

    @classmethod
    def open(cls, directory: Path | str, *, contents: bool = False) -> Self:
        """Open the output of `regard prepare`; a missing or truncated file or a changed description is a UserError.

        A changed byte in the shards is detected only with `contents`: computing their checksums means reading all of
        them.
        """
        directory = Path(directory)
        path = directory / DESCRIPTION
        if not path.is_file():
            raise UserError(f"{directory}: not prepared data (no {DESCRIPTION}); make it with `regard prepare`")
        values = files.read_json(path)
        number = values.get("format") if isinstance(values, dict) else None
        if number != FORMAT:
            raise UserError(f"{path}: format {number!r}, but this regard reads {FORMAT}; prepare the data again")
        _check_files(directory, contents=contents)
        report = check(PrepareReport, files.read_json(directory / REPORT), str(directory / REPORT))
        return cls(directory, check(PreparedDescription, values, str(path)), report)


def valid_texts(directory: Path) -> list[RawPair]:
    """Return the raw validation set of a prepared folder, in order, blank lines too."""
    path = directory / VALID_TEXTS
    if not path.is_file():
        raise UserError(f"{path}: missing, so validation can't translate; prepare the data again with --valid")
    return _raw_pairs(path)


def held_out_texts(directory: Path) -> list[RawPair]:
    """Return the test pairs that were split off when the folder was prepared; none if there were none."""
    return _raw_pairs(directory / TEST_TEXTS) if (directory / TEST_TEXTS).is_file() else []


def _raw_pairs(path: Path) -> list[RawPair]:
    try:
        with path.open(encoding="ascii") as file:
            found = [RawPair(**json.loads(line)) for line in file]
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: not what prepare wrote ({error}); prepare the data again") from None
    if not all(isinstance(pair.source, str) and isinstance(pair.target, str) for pair in found):
        raise UserError(f"{path}: holds pairs that are no texts; prepare the data again")
    return found


def own_files(directory: Path) -> set[str]:
    """Return the names of the files that `regard prepare` wrote into a folder; none if it is not prepared data."""
    if not (directory / DESCRIPTION).is_file():
        return set()
    return {files.MANIFEST, *files.read_manifest(directory)}


def _check_files(directory: Path, *, contents: bool) -> None:
    """Check all sizes, and the checksums of all files or of all but the shards."""
    files.check_manifest(directory, contents=contents)
    if contents:
        return
    for name, entry in files.read_manifest(directory).items():
        if not name.endswith(".bin") and files.sha256(directory / name) != entry.get("sha256"):
            raise UserError(f"{directory / name}: changed since it was made; restore it from a copy or prepare again")


def _subwords(directory: Path, description: PreparedDescription) -> tuple[Subwords, Subwords | Symbols]:
    source, target = load_vocabularies(directory)
    if (source.size, target.size) != (description.source_vocabulary, description.target_vocabulary):
        raise UserError(f"{directory}: its subwords are not those it was prepared with; restore it or prepare again")
    return source, target


def load_vocabularies(directory: Path) -> tuple[Subwords, Subwords | Symbols]:
    """Load the vocabularies of prepared data, or of a model."""
    if (directory / SHARED).is_file():
        both = _vocabulary(directory / SHARED)
        return both, both
    if not (directory / SOURCE).is_file():
        raise UserError(f"{directory}: holds no subwords (no {SHARED}); name the folder of a model or of prepared data")
    if (directory / SYMBOLS).is_file():
        return _vocabulary(directory / SOURCE), Symbols.load(directory / SYMBOLS)
    return _vocabulary(directory / SOURCE), _vocabulary(directory / TARGET)


def _vocabulary(path: Path) -> Subwords:
    """Load words, whose file begins as JSON does, or subwords."""
    with suppress(OSError), path.open("rb") as file:
        if file.read(1) == b"{":
            return vocabulary(b"{" + file.read(LARGEST_FILE), str(path))
    return Subwords.load(path)


class SplitWriter:
    """Writer of the shards of one split."""

    def __init__(self, directory: Path, name: str, ids: str, shard_pairs: int = SHARD_PAIRS) -> None:
        self._directory, self._name, self._shard_pairs = directory, name, shard_pairs
        self._ids = np.dtype(ids).newbyteorder("<")
        self._files: list[BinaryIO] = []
        self._pairs = 0  # in the open shard
        self._tokens = np.zeros(2, dtype=np.int64)
        self.shards: list[ShardDescription] = []

    def add(self, source: Ids, target: Ids, lengths_N2: Integers) -> None:
        """Append pairs; shard boundaries do not depend on how many are appended at a time."""
        while len(lengths_N2):
            if not self._files:
                self._begin()
            room = self._shard_pairs - self._pairs
            here_N2 = lengths_N2[:room]
            sources, targets = here_N2.sum(axis=0).tolist()
            self._append(source[:sources], target[:targets], here_N2)
            source, target, lengths_N2 = source[sources:], target[targets:], lengths_N2[room:]
            if self._pairs == self._shard_pairs:
                self.close()

    def _begin(self) -> None:
        name = self._directory / f"{self._name}-{len(self.shards):05d}"
        for part in ("source", "target", "offsets"):
            self._files.append(Path(f"{name}.{part}.bin").open("wb"))  # noqa: SIM115  # until the shard is full
        self._files[2].write(np.zeros(2, dtype="<i8").tobytes())

    def _append(self, source: Ids, target: Ids, lengths_N2: Integers) -> None:
        offsets_N2 = np.cumsum(lengths_N2, axis=0) + self._tokens
        self._files[0].write(source.astype(self._ids, copy=False).tobytes())
        self._files[1].write(target.astype(self._ids, copy=False).tobytes())
        self._files[2].write(offsets_N2.astype("<i8", copy=False).tobytes())
        self._pairs += len(lengths_N2)
        self._tokens = offsets_N2[-1]

    def close(self) -> None:
        """Finish the open shard, if there is one."""
        if not self._files:
            return
        for file in self._files:
            file.close()
        source, target = self._tokens.tolist()
        name = f"{self._name}-{len(self.shards):05d}"
        self.shards.append(ShardDescription(name=name, pairs=self._pairs, source_tokens=source, target_tokens=target))
        self._files, self._pairs, self._tokens = [], 0, np.zeros(2, dtype=np.int64)


def describe(
    config: PrepareConfig,
    subwords: tuple[Subwords, Subwords | Symbols],
    train: list[SplitDescription],
    valid: SplitDescription | None,
) -> PreparedDescription:
    """Return the contents of prepared.json."""
    sizes = subwords[0].size, subwords[1].size
    return PreparedDescription(
        format=FORMAT,
        regard=regard.__version__,
        prepare=config,
        source_vocabulary=sizes[0],
        target_vocabulary=sizes[1],
        ids=id_type(max(sizes)),
        train=tuple(train),
        valid=valid,
    )


def write(
    folder: Path, description: PreparedDescription, subwords: tuple[Subwords, Subwords | Symbols], report: PrepareReport
) -> None:
    """Write all files but the shards and the manifest."""
    for name, content in vocabulary_files(*subwords).items():
        files.write_bytes(folder / name, content)
    files.write_json(folder / REPORT, report.model_dump(mode="json"))
    files.write_json(folder / DESCRIPTION, description.model_dump(mode="json"))


def id_type(vocabulary: int) -> Literal["uint16", "uint32"]:
    """Return the smallest type that holds every id."""
    return "uint16" if vocabulary <= 1 << 16 else "uint32"
