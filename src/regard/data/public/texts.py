"""Files of a public corpus -> text aligned by line: train.en and train.de, valid.en and valid.de, ..."""

import hashlib
import html
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from regard.config.checked import Frozen
from regard.data.lines import Lines
from regard.errors import UserError

SplitName = Literal["train", "valid", "test"]
SPLITS: tuple[SplitName, ...] = ("train", "valid", "test")
SHARE = 50  # one in 50 of the first language's sentences is for validation, and one for the test

_SEGMENT = re.compile("<seg[^>]*>(.*)</seg>")
_TALK = re.compile(r"\s*</?(doc|url|keywords|speaker|talkid|title|description|reviewer|translator|transcript)\b")


class CorpusPart(Frozen):
    """Some of a corpus's pairs: their files among the unpacked ones, and the format."""

    split: Literal["train", "valid", "test", "all"]
    name: Annotated[str, Field(pattern="^[a-z-]+$")] | None = None
    """The name that distinguishes it from the others of its split."""
    kind: Literal["lines", "segments", "talks", "tsv"] = "lines"
    """lines: a sentence a line. segments: <seg> elements of WMT's SGML and IWSLT's XML. talks: IWSLT's training
    text, with lines of tags between. tsv: first language TAB second language TAB other columns."""
    sides: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)]

    def texts(self, split: SplitName, languages: tuple[str, str]) -> tuple[str, ...]:
        """Return the names of its two texts in a split, or () if it has none there."""
        if self.split not in (split, "all"):
            return ()
        stem = split if self.name is None else f"{split}-{self.name}"
        packed = self.kind == "lines" and self.sides[0].endswith(".gz")  # stays packed: reading a corpus unpacks it
        return tuple(f"{stem}.{language}{'.gz' if packed else ''}" for language in languages)


def write(part: CorpusPart, languages: tuple[str, str], raw: Path, folder: Path) -> None:
    """Write a part's texts into the folder; its unpacked files in `raw` may be moved."""
    sides = [raw / side for side in part.sides]
    if part.kind == "tsv":
        _divide(sides[0], languages, folder)
        return
    outs = [folder / name for split in SPLITS for name in part.texts(split, languages)]
    if part.kind == "lines":
        for side, out in zip(sides, outs, strict=True):
            side.rename(out)
    else:
        _align(_segments if part.kind == "segments" else _talks, sides, outs)


def _align(read: Callable[[Path], Iterator[str]], sides: list[Path], outs: list[Path]) -> None:
    with ExitStack() as stack:
        files = [stack.enter_context(out.open("w", encoding="utf-8", newline="\n")) for out in outs]
        for texts in zip_longest(*map(read, sides)):
            if None in texts:
                raise UserError(f"{sides[0].name} and {sides[1].name} do not have the same number of sentences")
            for file, text in zip(files, texts, strict=True):
                file.write(f"{text}\n")


def _lines(path: Path) -> Iterator[str]:
    with Lines(str(path)) as blocks:
        for number, line in enumerate((line for block in blocks for line in block), start=1):
            try:
                yield line.decode()
            except UnicodeDecodeError:
                raise UserError(f"{path.name}, line {number}: not valid UTF-8; get the corpus again") from None


def _segments(path: Path) -> Iterator[str]:
    for line in _lines(path):
        if found := _SEGMENT.search(line):
            yield " ".join(html.unescape(found[1]).split())


def _talks(path: Path) -> Iterator[str]:
    return (" ".join(line.split()) for line in _lines(path) if not _TALK.match(line))


def _divide(path: Path, languages: tuple[str, str], folder: Path) -> None:
    """Split pairs by a hash of the source, so that all translations of a sentence are in one split on every machine."""
    with ExitStack() as stack:
        files = {
            (split, language): stack.enter_context((folder / f"{split}.{language}").open("w", encoding="utf-8"))
            for split in SPLITS
            for language in languages
        }
        for number, line in enumerate(_lines(path), start=1):
            texts = line.split("\t")[:2]
            if len(texts) < 2:
                raise UserError(f"{path.name}, line {number}: no tab; it is another release than regard knows")
            bucket = int.from_bytes(hashlib.sha256(texts[0].encode()).digest()[:8]) % SHARE
            split: SplitName = "valid" if bucket == 0 else "test" if bucket == 1 else "train"
            for language, text in zip(languages, texts, strict=True):
                files[split, language].write(f"{text}\n")
