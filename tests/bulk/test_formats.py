"""Rows of text, TSV, JSON lines and Parquet: one out for each in, in order, with everything else as it was."""

import gzip
import json
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from backports import zstd
from pyarrow import parquet

from regard.bulk.formats import Rows, copy_translated
from regard.bulk.storage import whole_file
from regard.errors import UserError

TEXTS = ["Good morning.", "", "안녕하세요", "e\u0301 \u202bשלום\u202c", "👩\u200d👩\u200d👧 {x}"]


def upper(texts: Sequence[str]) -> list[str]:
    """A translation that anyone can check."""
    return [f"<{text}>" if text else "" for text in texts]


def copied(
    path: Path, column: str | None = None, translate: Callable[[Sequence[str]], list[str]] = upper
) -> tuple[Path, list[Rows]]:
    out = path.with_name("out") / path.name
    with whole_file(str(out)) as file:
        return out, list(copy_translated(str(path), file, column, translate))


COMPRESSED: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "": (bytes, bytes),
    ".gz": (gzip.compress, gzip.decompress),
    ".xz": (lzma.compress, lzma.decompress),
    ".zst": (zstd.compress, zstd.decompress),
}


@pytest.mark.parametrize("ending", COMPRESSED)
def test_lines_of_text(ending: str, tmp_path: Path) -> None:
    pack, unpack = COMPRESSED[ending]
    (tmp_path / f"a.txt{ending}").write_bytes(pack("\n".join(TEXTS).encode()))
    out, rows = copied(tmp_path / f"a.txt{ending}")
    assert unpack(out.read_bytes()).decode() == "".join(f"{text}\n" for text in upper(TEXTS))
    assert rows[-1].read == rows[-1].written == len(TEXTS)
    first = out.read_bytes()
    copied(tmp_path / f"a.txt{ending}")
    assert out.read_bytes() == first, "a compressed file has no time of its own"


def test_a_translation_of_several_lines_stays_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\ny\n")
    out, _ = copied(tmp_path / "a.txt", translate=lambda texts: [f"{text}\n\u2028z" for text in texts])
    assert out.read_text() == "x  z\ny  z\n"


def test_windows_bound_what_is_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.translate.translator.WINDOW_LINES", 3)
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(8)))
    sizes: list[int] = []

    def counted(texts: Sequence[str]) -> list[str]:
        sizes.append(len(texts))
        return upper(texts)

    out, rows = copied(tmp_path / "a.txt", translate=counted)
    assert sizes == [3, 3, 2] and [one.written for one in rows] == [3, 6, 8]
    assert out.read_text() == "".join(f"<{number}>\n" for number in range(8))


def test_a_column_of_tsv(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("1\tGuten Tag\t한\n\n2\tx\t\n")
    out, _ = copied(tmp_path / "a.tsv", "2", lambda texts: [f"{text}\t!" for text in texts])
    assert out.read_text() == "1\tGuten Tag\t한\tGuten Tag !\n\n2\tx\t\tx !\n"
    assert copied(tmp_path / "a.tsv")[0].read_text() == "1\tGuten Tag\t한\t<1>\n\n2\tx\t\t<2>\n"


def test_a_field_of_json_lines(tmp_path: Path) -> None:
    rows = [{"id": 1.50, "text": text, "deep": {"a": [None]}} for text in TEXTS]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + " \n" for row in rows) + "\n")
    out, _ = copied(tmp_path / "a.jsonl")
    lines = out.read_text().split("\n")
    assert lines[-2:] == ["", ""] and len(lines) == len(TEXTS) + 2
    assert [json.loads(line) for line in lines[:-2]] == [
        {**row, "translation": new} for row, new in zip(rows, upper(TEXTS), strict=True)
    ]
    (tmp_path / "a.jsonl").write_text('{"quelle": "a\\ud800\\nb", "n": 1e400}\n')
    assert copied(tmp_path / "a.jsonl", "quelle")[0].read_text() == (
        '{"quelle": "a\\ud800\\nb", "n": 1e400, "translation": "<a?\\nb>"}\n'
    )


def test_a_column_of_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.bulk.formats.WINDOW_LINES", 2)
    table = pa.table({"id": pa.array(range(6), pa.int16()), "text": [*TEXTS, None]})
    parquet.write_table(table, tmp_path / "a.parquet")
    out, rows = copied(tmp_path / "a.parquet")
    assert parquet.read_table(out) == table.append_column("translation", pa.array([*upper(TEXTS), None]))
    assert [one.written for one in rows] == [2, 4, 6] and rows[-1].position == (tmp_path / "a.parquet").stat().st_size


@pytest.mark.parametrize(
    ("name", "content", "column", "words"),
    [
        ("a.txt", b"x\n", "2", "is plain text, which has no columns"),
        ("a.txt.gz", b"x\n", None, "named .gz but not gzip data"),
        ("a.txt.zst", zstd.compress(b"x\n" * 5000)[:-9], None, "broken zstd data after line"),
        ("a.txt", b"x\n" + b"y" * (1 << 21), None, "line 2: longer than"),
        ("a.tsv", b"a\tb\na\n", "2", "line 2: has no column 2"),
        ("a.tsv", b"a\tb\n", "text", "numbered from 1, and 'text' is no such number"),
        ("a.tsv", b"a\tb\n", "0", "numbered from 1"),
        ("a.jsonl", b'{"text": "a"}\n{"text": \n', None, "line 2: not valid JSON"),
        ("a.jsonl", b'{"text": "a"}\n{"other": "a"}\n', None, "line 2: is no object with a text in 'text'"),
        ("a.jsonl", b'{"text": "a", "translation": "b"}\n', None, "line 1: already has a field 'translation'"),
        ("a.jsonl", b"{}\n", "translation", "is the column that is added"),
        ("a.parquet", b"PAR1 but no more", None, "not valid Parquet"),
        ("a.parquet.gz", b"x", None, "unpack the file first"),
    ],
)
def test_bad_rows(name: str, content: bytes, column: str | None, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=words):
        copied(tmp_path / name, column)
    assert not list((tmp_path / "out").glob("*")) and not list((tmp_path / "out").glob(".*"))


def test_columns_that_parquet_does_not_have(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"id": [1], "translation": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="has no text column 'text', only id, translation"):
        copied(tmp_path / "a.parquet")
    with pytest.raises(UserError, match="has no text column 'id'"):
        copied(tmp_path / "a.parquet", "id")
    parquet.write_table(pa.table({"text": ["x"], "translation": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="already has a column 'translation'"):
        copied(tmp_path / "a.parquet")
