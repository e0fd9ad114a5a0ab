"""Raw lines -> raw pairs, or a UserError for the first line that is not a pair."""

import json
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from regard.data.lines import LONGEST_LINE, shown
from regard.errors import UserError

CorpusFormat = Literal["parallel", "tsv", "json"]


@dataclass(frozen=True)
class LineSettings:
    """The settings for reading a line of a corpus."""

    files: tuple[str, ...]
    source_language: str | None = None
    target_language: str | None = None
    skip_invalid: bool = False


@dataclass(frozen=True)
class RawChunk:
    """A run of raw lines, joined by newlines, of each of the corpus's files."""

    kind: CorpusFormat
    first: int
    """The number of its first line, from 1."""
    count: int
    blocks: tuple[bytes, ...]


class ParsedChunk(NamedTuple):
    """A chunk's pairs, and the number of skipped lines by reason."""

    sources: list[str]
    targets: list[str]
    dropped: Counter[str]


class _Bad(NamedTuple):
    """The reason why a line is invalid: the name it is counted under, and the text of its message."""

    reason: str
    sentence: str


def parse_chunk(chunk: RawChunk, reading: LineSettings) -> ParsedChunk:
    """Parse a chunk's lines into pairs. An invalid line is a UserError, or skipped and counted with `skip_invalid`.

    In two parallel files, an invalid line in one also drops its partner.
    """
    columns: list[list[str]] = []
    bad: dict[int, tuple[str, _Bad]] = {}
    for name, block in zip(reading.files, chunk.blocks, strict=True):
        lines, wrong = _decode(block)
        columns.append(lines)
        bad |= {index: (name, why) for index, why in wrong.items() if index not in bad}
    if chunk.kind == "parallel":
        sources, targets = columns
    else:
        split = _split_tsv if chunk.kind == "tsv" else _split_json
        sources, targets, wrong = split(columns[0], reading, bad)
        bad |= {index: (reading.files[0], why) for index, why in wrong.items()}
    if not bad:
        return ParsedChunk(sources, targets, Counter())
    if not reading.skip_invalid:
        index = min(bad)
        name, why = bad[index]
        raise UserError(
            f"{shown(name)}, line {chunk.first + index}: {why.sentence}, or pass --skip-invalid to leave out such lines"
        )
    kept = [index for index in range(chunk.count) if index not in bad]
    dropped = Counter(why.reason for _, why in bad.values())
    return ParsedChunk([sources[index] for index in kept], [targets[index] for index in kept], dropped)


def _decode(block: bytes) -> tuple[list[str], dict[int, _Bad]]:
    """Return a block's lines, and those that are not valid text, which are empty in the list."""
    if len(block) <= LONGEST_LINE:  # then no line is too long
        try:
            return block.decode().split("\n"), {}
        except UnicodeDecodeError:
            pass
    lines, bad = [], {}
    for index, raw in enumerate(block.split(b"\n")):
        line = ""
        if len(raw) > LONGEST_LINE:
            bad[index] = _Bad("line too long", "too long")  # only reached if such lines are skipped
        else:
            try:
                line = raw.decode()
            except UnicodeDecodeError as error:
                what = f"not valid UTF-8 (0x{raw[error.start]:02x} at byte {error.start + 1})"
                bad[index] = _Bad("not valid UTF-8", f"{what}; convert the file to UTF-8, for example with iconv")
        lines.append(line)
    return lines, bad


def _split_tsv(
    lines: list[str], reading: LineSettings, skip: Container[int]
) -> tuple[list[str], list[str], dict[int, _Bad]]:
    """Split lines into their first two columns. A blank line is a pair of empty texts, which is valid."""
    sources, targets, bad = [], [], {}
    for index, line in enumerate(lines):
        source, tab, rest = line.partition("\t")
        sources.append(source)
        targets.append(rest.partition("\t")[0])
        if not tab and index not in skip and source.strip():
            bad[index] = _Bad(
                "no tab", "no tab between source and target; put one in, or give two files aligned by line"
            )
    return sources, targets, bad


def _split_json(
    lines: list[str], reading: LineSettings, skip: Container[int]
) -> tuple[list[str], list[str], dict[int, _Bad]]:
    sources, targets, bad = [], [], {}
    for index, line in enumerate(lines):
        pair: tuple[str, str] | _Bad = "", ""
        if index not in skip and not line.isspace() and line:
            pair = _from_json(line, reading)
        if isinstance(pair, _Bad):
            bad[index] = pair
        sources.append(pair[0])
        targets.append(pair[1])
    return sources, targets, bad


def _from_json(line: str, reading: LineSettings) -> tuple[str, str] | _Bad:
    """Parse {"source": …, "target": …}, or the same with language codes, also inside of "translation"."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        return _Bad("not JSON", f"not valid JSON ({error}); write one object on each line")
    if not isinstance(value, dict):
        return _Bad("not JSON", "not a JSON object; write one object on each line")
    inner = value.get("translation")
    texts = {key: text for key, text in (inner if isinstance(inner, dict) else value).items() if isinstance(text, str)}
    source, target = reading.source_language, reading.target_language
    if "source" in texts and "target" in texts:
        source, target = "source", "target"
    elif len(texts) == 2 and (source is None or target is None):  # one known code implies the other
        source = source or next((key for key in texts if target in texts and key != target), None)
        target = target or next((key for key in texts if source in texts and key != source), None)
    if source not in texts or target not in texts:
        found = ", ".join(repr(key) for key in texts) or "none"
        return _Bad(
            "no keys", f"no texts under 'source' and 'target' (but under {found}); name the keys with --from and --to"
        )
    return texts[source], texts[target]
