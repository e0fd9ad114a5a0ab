"""Parallel text in files -> raw pairs: two files aligned by line, a TSV, or JSON lines; plain or compressed.

Reading has two stages, so that the second can be shared among processes: `Corpus.chunks` cuts the files into runs of
raw lines, `parse` turns a run into pairs. `pairs` does both.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from regard.config.data import CorpusConfig
from regard.data.lines import STANDARD_INPUT, Lines, check_readable, shown, uncompressed_name
from regard.data.raw_pairs import CorpusFormat, LineSettings, RawChunk, parse_chunk
from regard.errors import UserError

CHUNK_LINES = 8192
CHUNK_BYTES = 1 << 19  # of both sides; plus one block it stays below LONGEST_LINE, which makes decoding fast

_ENDINGS: dict[str, CorpusFormat] = {".tsv": "tsv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
_CODE = re.compile("[a-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
# Endings of file names that look like a language code but are not.
_NO_LANGUAGES = {"bpe", "csv", "lc", "out", "raw", "ref", "spm", "src", "tgt", "tok", "trg", "tsv", "txt", "xml"}


class Corpus:
    """One corpus while it is read.

    With `skip_invalid`, lines that one file has more than the other are counted as "unpaired", and of a broken archive
    the complete lines before the break are used. When `chunks` has ended, `dropped` and `warnings` report it.
    """

    def __init__(self, config: CorpusConfig, reading: LineSettings) -> None:
        self.config = config
        self.reading = reading
        self.size = sum(path.stat().st_size for name in config.files if (path := Path(name)).is_file())
        """Bytes to read, compressed, as far as known."""
        self.position = 0
        """Bytes read."""
        self.dropped: Counter[str] = Counter()
        self.warnings: list[str] = []

    def chunks(self) -> Iterator[RawChunk]:
        with ExitStack() as stack:
            skip = self.reading.skip_invalid
            names = self.reading.files
            files = [stack.enter_context(Lines(name, skip_invalid=skip, skippable=True)) for name in names]
            for chunk in self._parallel(*files) if len(files) == 2 else self._single(*files):
                self.position = sum(file.position() for file in files)
                yield chunk
            self.warnings += [f"{shown(file.name)}: {file.broken}" for file in files if file.broken is not None]

    def _single(self, file: Lines) -> Iterator[RawChunk]:
        waiting: list[bytes] = []
        kind, first, size = _kind(file.name), 1, 0
        for lines in file:
            kind = kind or _sniffed(lines)
            waiting += lines
            size += sum(map(len, lines))
            if size >= CHUNK_BYTES or len(waiting) >= CHUNK_LINES:
                yield RawChunk(kind or "tsv", first, len(waiting), (b"\n".join(waiting),))
                first, waiting, size = first + len(waiting), [], 0
        if waiting:
            yield RawChunk(kind or "tsv", first, len(waiting), (b"\n".join(waiting),))

    def _parallel(self, source: Lines, target: Lines) -> Iterator[RawChunk]:
        blocks = iter(source), iter(target)
        waiting: tuple[list[bytes], list[bytes]] = [], []  # lines whose partners have not been read yet
        taken: tuple[list[bytes], list[bytes]] = [], []
        first, size = 1, 0
        while _refill(waiting, blocks):
            count = min(map(len, waiting))
            for lines, chosen in zip(waiting, taken, strict=True):
                chosen.extend(lines[:count])
                size += sum(map(len, lines[:count]))
                del lines[:count]
            if size >= CHUNK_BYTES or len(taken[0]) >= CHUNK_LINES:
                yield RawChunk("parallel", first, len(taken[0]), (b"\n".join(taken[0]), b"\n".join(taken[1])))
                first, taken, size = first + len(taken[0]), ([], []), 0
        if taken[0]:
            yield RawChunk("parallel", first, len(taken[0]), (b"\n".join(taken[0]), b"\n".join(taken[1])))
        for block in blocks:
            for _ in block:  # surplus lines of one file are counted
                pass
        self._compare(source, target)

    def _compare(self, source: Lines, target: Lines) -> None:
        if source.count == target.count:
            return
        if not self.reading.skip_invalid:
            raise UserError(
                f"{shown(source.name)} has {source.count} lines and {shown(target.name)} has {target.count}, but "
                "each line must translate the same line of the other; mend them, or pass --skip-invalid to leave out "
                "the surplus"
            )
        self.dropped["unpaired"] += abs(source.count - target.count)


def _refill(
    waiting: tuple[list[bytes], list[bytes]], blocks: tuple[Iterator[list[bytes]], Iterator[list[bytes]]]
) -> bool:
    """Read the next block of each side without buffered lines; return False when a file has ended."""
    for lines, block in zip(waiting, blocks, strict=True):
        if not lines:
            lines.extend(next(block, []))
    return all(waiting)


def _kind(name: str) -> CorpusFormat | None:
    return next((kind for ending, kind in _ENDINGS.items() if uncompressed_name(name).endswith(ending)), None)


def _sniffed(lines: list[bytes]) -> CorpusFormat | None:
    """Return the kind of a file from its first line that is not blank. JSON strings can't contain a tab."""
    line = next((line for line in lines if line.strip()), None)
    if line is None:
        return None
    return "json" if line.lstrip().startswith(b"{") and b"\t" not in line.strip() else "tsv"


def check_corpora(corpora: Sequence[CorpusConfig]) -> None:
    """Raise UserError for what is known to fail before a line is read: missing files, standard input named twice."""
    names = [name for corpus in corpora for name in corpus.files]
    for name in names:
        check_readable(name)
    if names.count(STANDARD_INPUT) > 1:
        raise UserError("standard input (-) is named twice, but can be read only once; put one of the two into a file")


def pairs(
    config: CorpusConfig, reading: LineSettings | None = None, dropped: Counter[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the raw pairs of a corpus, one by one; skipped lines are added to `dropped` by reason."""
    corpus = Corpus(config, reading or LineSettings(config.files))
    for chunk in corpus.chunks():
        parsed = parse_chunk(chunk, corpus.reading)
        yield from zip(parsed.sources, parsed.targets, strict=True)
        if dropped is not None:
            dropped += parsed.dropped
    if dropped is not None:
        dropped += corpus.dropped


def languages(files: Sequence[str]) -> tuple[str, str] | None:
    """Return the language codes that two parallel files end with (train.en.gz, train.de.gz), if they do."""
    codes = [Path(uncompressed_name(name)).suffix[1:] for name in files]
    if len(set(codes)) != 2 or not all(_CODE.fullmatch(code) and code not in _NO_LANGUAGES for code in codes):
        return None
    return codes[0], codes[1]
