"""A small public corpus of every kind, served on loopback, and the catalogue that names them."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.server import Server, running

from regard.config.checked import check
from regard.data.public import corpora
from regard.data.public.corpora import Catalogue

GERMAN = [f"Satz {number} ist schön ü🎉.\n" for number in range(50)]
ENGLISH = [f"Sentence {number} is nice.\n" for number in range(50)]
KOREAN = [f"문장 {number}은 좋아요.\n" for number in range(400)]


def tgz(**members: str) -> bytes:
    with io.BytesIO() as buffer:
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for name, text in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(text.encode())
                archive.addfile(info, io.BytesIO(text.encode()))
        return buffer.getvalue()


def zipped(**members: str) -> bytes:
    with io.BytesIO() as buffer:
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        return buffer.getvalue()


def segments(lines: list[str]) -> str:
    inside = "".join(f'<seg id="{number}"> {line.strip()} </seg>\n' for number, line in enumerate(lines, start=1))
    return f'<?xml version="1.0"?>\n<srcset setid="x">\n<doc docid="a">\n{inside}</doc>\n</srcset>\n'


def talks(lines: list[str], translator: str = "") -> str:
    tags = "<url>http://x</url>\n<keywords>a, b</keywords>\n<talkid>1</talkid>\n<title>T</title>\n"
    return tags + "".join(f" {line}" for line in lines) + translator


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[Server, dict[str, Any]]]:
    """A server, and a catalogue of what it serves in the ways of the real one."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    said: dict[str, Any] = {"about": "Made here", "home": "http://127.0.0.1/", "licence": "ours", "pairs": 50}
    with running() as server:
        archive = tgz(
            **{
                "training/europarl.de": "".join(GERMAN),
                "training/europarl.en": "".join(ENGLISH),
                "training/other.fr": "nobody wants this",
                "news.de.gz": "".join(GERMAN[:9]),
                "test/src.en.sgm": segments(["Black &amp; white\n", *ENGLISH[:4]]),
                "test/src.de.sgm": segments(["Schwarz &amp; weiß\n", *GERMAN[:4]]),
                "en-de/train.tags.en": talks(ENGLISH[:7]),
                "en-de/train.tags.de": talks(GERMAN[:7], '<translator href="x">Y</translator>\n'),
            }
        )
        rows = [f"Go {number % 300}.\t{line.strip()}\tCC-BY 2.0 #{number}\n" for number, line in enumerate(KOREAN)]
        addresses = {
            "all.tgz": server.serve("all.tgz", archive),
            "valid.en.gz": server.serve("valid.en.gz", gzip.compress("".join(ENGLISH[:5]).encode())),
            "valid.de.gz": server.serve("valid.de.gz", gzip.compress("".join(GERMAN[:5]).encode())),
            "kor.zip": server.serve("kor.zip", zipped(**{"kor.txt": "".join(rows), "_about.txt": "about"})),
        }
        wmt = [
            {"split": "train", "name": "europarl",
             "sides": ["all.tgz/training/europarl.en", "all.tgz/training/europarl.de"]},
            {"split": "train", "name": "talks", "kind": "talks",
             "sides": ["all.tgz/en-de/train.tags.en", "all.tgz/en-de/train.tags.de"]},
            {"split": "valid", "sides": ["valid.en.gz/valid.en", "valid.de.gz/valid.de"]},
            {"split": "test", "kind": "segments", "sides": ["all.tgz/test/src.en.sgm", "all.tgz/test/src.de.sgm"]},
        ]  # fmt: skip
        content = {
            "files": {name: {"address": address} for name, address in addresses.items()},
            "corpora": {
                "small-en-de": {**said, "languages": ["en", "de"], "parts": wmt},
                "small-en-ko": {
                    **said, "languages": ["en", "ko"],
                    "parts": [{"split": "all", "kind": "tsv", "sides": ["kor.zip/kor.txt"]}],
                },
            },
        }  # fmt: skip
        monkeypatch.setattr(corpora, "catalogue", lambda: check(Catalogue, content, "the test's catalogue"))
        yield server, content
