import gzip
import io
import json
import lzma
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config.data import CorpusConfig
from regard.data import corpus, lines
from regard.data import raw_pairs as parse
from regard.data.corpus import Corpus, check_corpora, languages, pairs
from regard.data.raw_pairs import LineSettings
from regard.errors import UserError

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}
HARD = [
    "한국어",  # composed Hangul, and the same as jamo
    "\u1112\u1161\u11ab\u1100\u116e\u11a8",
    "e\u0301\u0323 a\u0308",
    "שלום \u200fעולם",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇰🇷",
    "one\u2028line\u2029only\x0bstill\x0cone\x1c\x1d\x1e\x85here",
    "a ▁ b",
    "NUL \0 inside",
    "\ufeff inside is no byte order mark at the start",
    "",
]


def read(*files: str | Path, skip: bool = False, **options: Any) -> tuple[list[tuple[str, str]], Counter[str]]:
    names = tuple(map(str, files))
    dropped: Counter[str] = Counter()
    found = list(pairs(CorpusConfig(files=names), LineSettings(names, skip_invalid=skip, **options), dropped))
    return found, +dropped


def complaint(*files: str | Path, **options: Any) -> str:
    with pytest.raises(UserError) as caught:
        read(*files, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def parallel(folder: Path, source: bytes, target: bytes, ending: str = "") -> tuple[Path, Path]:
    files = folder / f"train.en{ending}", folder / f"train.de{ending}"
    for path, content in zip(files, (source, target), strict=True):
        path.write_bytes(COMPRESSIONS[ending](content))
    return files


@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_two_files_in_every_compression(tmp_path: Path, ending: str) -> None:
    targets = HARD[::-1]
    files = parallel(tmp_path, "\n".join(HARD).encode() + b"\n", "\n".join(targets).encode() + b"\n", ending)
    assert read(*files)[0] == list(zip(HARD, targets, strict=True))


@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_compression_is_known_by_its_bytes(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "pairs"
    path.write_bytes(COMPRESSIONS[ending](b"a\tb\nc\td\n"))
    assert read(path)[0] == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"\n\na", ["", "", "a"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\nc\r\r\n", ["a\rb", "c\r"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"\xef\xbb\xbf", []),
    ],
)
def test_what_ends_a_line(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    files = parallel(tmp_path, content, content)
    assert read(*files)[0] == [(line, line) for line in expected]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"))), st.integers(1, 9))
def test_n_lines_are_n_lines_however_they_are_cut(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], block: int
) -> None:
    """Hypothesis: the size of the blocks that are read changes nothing."""
    content = "".join(f"{text}\n" for text in texts).encode().removeprefix(b"\xef\xbb\xbf")
    path = tmp_path_factory.mktemp("lines") / "file"
    path.write_bytes(content)
    expected = content.split(b"\n")[:-1]
    with pytest.MonkeyPatch.context() as patch, lines.Lines(str(path)) as opened:
        patch.setattr(lines, "BLOCK", block)
        found = [line for some in opened for line in some]
    assert found == expected
    assert opened.count == len(expected)


def test_tsv_takes_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("Hello.\tHallo.\tCC-BY 2.0 (France)\t#1\n\nHi.\t\n", encoding="utf-8")
    assert read(path)[0] == [("Hello.", "Hallo."), ("", ""), ("Hi.", "")]


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ({"source": "Hi", "target": "Tag", "en": "no"}, {}),
        ({"de": "Tag", "en": "Hi"}, {"source_language": "en", "target_language": "de"}),
        ({"de": "Tag", "en": "Hi", "id": 3}, {"source_language": "en"}),
        ({"de": "Tag", "en": "Hi"}, {"target_language": "de"}),
        ({"translation": {"en": "Hi", "de": "Tag", "fr": "Salut"}}, {"source_language": "en", "target_language": "de"}),
        ({"id": "7", "translation": {"en": "Hi", "de": "Tag"}}, {"source_language": "en"}),
    ],
)
def test_json_lines_by_their_keys(tmp_path: Path, value: object, options: dict[str, Any]) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(value) + "\n\n" + json.dumps(value, ensure_ascii=False), encoding="utf-8")
    assert read(path, **options)[0] == [("Hi", "Tag"), ("", ""), ("Hi", "Tag")]


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ({"de": "Tag", "en": "Hi"}, {}),  # which is the source?
        ({"de": "Tag", "en": "Hi"}, {"source_language": "fr", "target_language": "de"}),
        ({"de": "Tag", "en": "Hi"}, {"source_language": "fr"}),
        ({"de": "Tag", "en": "Hi", "fr": "Salut"}, {"source_language": "en"}),
        ({"source": "Hi", "target": None}, {}),
        ({}, {"source_language": "en"}),
    ],
)
def test_json_without_its_keys(tmp_path: Path, value: object, options: dict[str, str]) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"source": "a", "target": "b"}\n' + json.dumps(value), encoding="utf-8")
    found = complaint(path, **options)
    assert found.startswith(f"{path}, line 2: no texts under 'source' and 'target'")
    assert "--from and --to" in found
    assert read(path, skip=True, **options) == ([("a", "b")], {"no keys": 1})


@pytest.mark.parametrize(
    "line", ["{", '{"source": "a", "target": "b"} x', "nonsense", "[1]", "3", "[" * 9999, "9" * 5000]
)
def test_a_line_that_is_no_json(tmp_path: Path, line: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"source": "a", "target": "b"}\n' + line + "\n", encoding="utf-8")
    assert complaint(path).startswith(f"{path}, line 2: not ")
    assert read(path, skip=True) == ([("a", "b")], {"not JSON": 1})


def test_a_tsv_line_without_a_tab(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("a\tb\nc\td\nno tab here\ne\tf\n", encoding="utf-8")
    found = complaint(path)
    assert found.startswith(f"{path}, line 3: no tab between source and target; ")
    assert "two files" in found
    assert "--skip-invalid" in found
    assert read(path, skip=True) == ([("a", "b"), ("c", "d"), ("e", "f")], {"no tab": 1})


def test_different_line_counts(tmp_path: Path) -> None:
    source, target = parallel(tmp_path, b"a\nb\nc\n", b"A\nB\n")
    found = complaint(source, target)
    assert found.startswith(f"{source} has 3 lines and {target} has 2, but ")
    assert "--skip-invalid" in found
    assert complaint(target, source).startswith(f"{target} has 2 lines and {source} has 3, but ")
    assert read(source, target, skip=True) == ([("a", "A"), ("b", "B")], {"unpaired": 1})


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    source, target = parallel(tmp_path, b"a\nb\nc\nd\n", b"A\nB\xff\xfe\nC\nD\n")
    assert complaint(source, target).startswith(f"{target}, line 2: not valid UTF-8 (0xff at byte 2); ")
    assert read(source, target, skip=True) == ([("a", "A"), ("c", "C"), ("d", "D")], {"not valid UTF-8": 1})


def test_bad_lines_on_both_sides_keep_the_alignment(tmp_path: Path) -> None:
    source, target = parallel(tmp_path, b"a\n\xc3\nc\n\xff\n", b"A\nB\n\xed\xa0\x80\n\xff\n")
    assert complaint(source, target).startswith(f"{source}, line 2: ")
    assert read(source, target, skip=True) == ([("a", "A")], {"not valid UTF-8": 3})


def test_bad_bytes_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"a\tb\n\xffno tab\n\nno tab\n")
    assert complaint(path).startswith(f"{path}, line 2: not valid UTF-8")
    assert read(path, skip=True) == ([("a", "b"), ("", "")], {"not valid UTF-8": 1, "no tab": 1})


def test_the_line_number_counts_from_the_start_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("a\tb\n" * 50_000 + "wrong\n" + "a\tb\n" * 50_000, encoding="utf-8")
    assert complaint(path).startswith(f"{path}, line 50001: ")


def test_a_line_without_end_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    monkeypatch.setattr(parse, "LONGEST_LINE", 1000)
    monkeypatch.setattr(lines, "BLOCK", 64)
    source, target = parallel(tmp_path, b"a\n" + b"x" * 100_000 + b"\nc\n", b"A\nB\nC\n")
    assert complaint(source, target).startswith(f"{source}, line 2: longer than 1000 bytes; ")
    assert read(source, target, skip=True) == ([("a", "A"), ("c", "C")], {"line too long": 1})
    with lines.Lines(str(source), skip_invalid=True) as opened:
        assert max(len(line) for some in opened for line in some) <= 1000 + 2 * 64


def test_a_line_that_is_left_out_must_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    monkeypatch.setattr(parse, "LONGEST_LINE", 1000)
    monkeypatch.setattr(lines, "LONGEST_SKIPPED", 10_000)
    monkeypatch.setattr(lines, "BLOCK", 64)
    source, target = parallel(tmp_path, b"a\n" + b"x" * 10_100 + b"\nc\n", b"A\nB\nC\n")
    with pytest.raises(UserError, match=f"^{source}, line 2: longer than 10000 bytes; .* into sentences$"):
        read(source, target, skip=True)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("length", [999, 1000, 1001, 1002, 1063, 1064, 1065])
def test_the_longest_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, end: bytes) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    monkeypatch.setattr(parse, "LONGEST_LINE", 1000)
    monkeypatch.setattr(lines, "BLOCK", 64)
    content = (b"x" * (length - 1) + b"\r").replace(b"\r", b"y") + end
    files = parallel(tmp_path, content, content)
    found, dropped = read(*files, skip=True)
    assert (len(found), dropped) == ((1, {}) if length <= 1000 else (0, {"line too long": 1}))
    if length <= 1000:
        assert read(*files) == (found, {})
    else:
        assert complaint(*files).startswith(f"{files[0]}, line 1: longer than 1000 bytes; ")


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_a_truncated_archive(tmp_path: Path, ending: str) -> None:
    random = os.urandom(30_000).hex()
    text = "".join(f"{random[at : at + 20]}\n" for at in range(0, len(random), 20)).encode()
    source, target = parallel(tmp_path, text, text, ending)
    source.write_bytes(source.read_bytes()[:-2000])
    found = complaint(source, target)
    assert found.startswith(f"{source}: broken {lines._SUFFIXES[ending]} data after line ")
    assert "--skip-invalid" in found
    kept, dropped = read(source, target, skip=True)
    assert kept == [(line, line) for line in text.decode().split("\n")[: len(kept)]]
    assert dropped == {"unpaired": text.count(b"\n") - len(kept)}


def test_a_broken_archive_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n") + b"garbage")
    assert complaint(path).startswith(f"{path}: broken gzip data after line 1 (Not a gzipped file")
    reading = Corpus(CorpusConfig(files=(str(path),)), LineSettings((str(path),), skip_invalid=True))
    (chunk,) = reading.chunks()
    assert chunk.blocks == (b"a\tb",)
    (warning,) = reading.warnings
    assert warning.startswith(f"{path}: broken gzip data after line 1 ")


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("content", [b"", b"plain text\tall the same\n"])
def test_a_name_that_promises_compression(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"pairs.tsv{ending}"
    path.write_bytes(content)
    assert complaint(path).startswith(f"{path}: named {ending} but not ")


def test_files_that_are_none(tmp_path: Path) -> None:
    missing = tmp_path / "missing.en"
    for ask in (complaint, _early_complaint):
        assert ask(missing).startswith(f"{missing}: no such file; ")
        assert ask(tmp_path).startswith(f"{tmp_path}: is a folder; ")
        assert ask("a\0b").startswith("a\0b: can't be read: ")
        assert ask(missing / "x", missing / "y").startswith(f"{missing}/x: no such file; ")


def _early_complaint(*names: str | Path) -> str:
    with pytest.raises(UserError) as caught:
        check_corpora([CorpusConfig(files=tuple(map(str, names)))])
    return str(caught.value)


def test_standard_input_is_read_once() -> None:
    with pytest.raises(UserError, match="standard input .* twice"):
        check_corpora([CorpusConfig(files=("-",)), CorpusConfig(files=("-",))])


class _StandardInput:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BufferedReader(io.BytesIO(content))


@pytest.mark.parametrize(
    "content",
    [
        b"\n \na\tb\n",
        b'\n{"source": "a", "target": "b"}\n',
        gzip.compress(b"a\tb\n"),
        b"{a}\tb\n",
        b"\n" * 300_000 + b"a\tb",
    ],
    ids=["tsv", "jsonl", "gzip", "brace", "blanks"],  # gzip writes the time into its bytes: no name for a test
)
def test_standard_input_of_any_kind(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", _StandardInput(content))
    found = [pair for pair in read("-")[0] if any(pair)]
    assert found in ([("a", "b")], [("{a}", "b")], [(" ", ""), ("a", "b")])


def test_standard_input_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _StandardInput(b"a\tb\nc\n"))
    assert complaint("-").startswith("standard input, line 2: no tab")
    monkeypatch.setattr(sys, "stdin", None)
    assert complaint("-").startswith("standard input is closed; ")


def test_a_real_pipe() -> None:
    program = "from regard.config.data import CorpusConfig; from regard.data.corpus import pairs\n"
    program += "print(sum(1 for _ in pairs(CorpusConfig(files=('-',)))))"
    done = subprocess.run([sys.executable, "-c", program], input=b"a\tb\n" * 100_000, capture_output=True, check=True)
    assert done.stdout == b"100000\n"


def test_chunks_are_small_and_in_order(tmp_path: Path) -> None:
    count = 10 * corpus.CHUNK_LINES
    files = parallel(tmp_path, b"".join(b"%d\n" % n for n in range(count)), b"x" * 30 + b"\n" + b"y\n" * (count - 1))
    names = tuple(map(str, files))
    reading = Corpus(CorpusConfig(files=names), LineSettings(names))
    chunks = list(reading.chunks())
    assert len(chunks) > 1
    assert [chunk.first for chunk in chunks] == [
        1 + sum(chunk.count for chunk in chunks[:n]) for n in range(len(chunks))
    ]
    assert b"\n".join(chunk.blocks[0] for chunk in chunks) == b"\n".join(b"%d" % n for n in range(count))
    assert reading.position == reading.size == sum(path.stat().st_size for path in files)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("train.en", "train.de"), ("en", "de")),
        (("x/train.en.gz", "train.pt-BR.xz"), ("en", "pt-BR")),
        (("news.en-de.de.gz", "news.en-de.en.gz"), ("de", "en")),
        (("train.src", "train.tgt"), None),
        (("a.txt", "b.txt"), None),
        (("train.en", "train.txt"), None),
        (("deu-eng.tsv",), None),
        (("train.en", "other.en"), None),
        (("-", "train.en"), None),
    ],
)
def test_languages_from_names(files: tuple[str, ...], expected: tuple[str, str] | None) -> None:
    assert languages(files) == expected


def test_real_corpora(corpora: Path) -> None:
    multi30k = corpora / "multi30k"
    assert len(read(multi30k / "val.en.gz", multi30k / "val.de.gz")[0]) == 1014
    korean = read(corpora / "tatoeba" / "kor-eng.tsv.gz")[0]
    assert len(korean) == 5379
    assert any("\uac00" <= character <= "\ud7a3" for character in korean[0][1])
