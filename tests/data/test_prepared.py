import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard import files
from regard.config.data import CorpusConfig, PrepareConfig
from regard.data.prepare import prepare
from regard.data.prepared import Prepared, Split, SplitDescription, SplitWriter, id_type, valid_texts
from regard.errors import UserError

Texts = list[tuple[list[int], list[int]]]

ids = st.lists(st.integers(0, 65_535), min_size=1, max_size=5)


def write(directory: Path, pairs: Texts, sizes: list[int], dtype: str, shard_pairs: int) -> Split:
    """Pairs, added a few at a time, as a split."""
    writer = SplitWriter(directory, "train-0", dtype, shard_pairs)
    rest = list(pairs)
    for size in [*sizes, len(pairs)]:
        some, rest = rest[:size], rest[size:]
        sources, targets = ([number for pair in some for number in pair[side]] for side in (0, 1))
        lengths = np.array([(len(source), len(target)) for source, target in some], dtype=np.int64).reshape(-1, 2)
        writer.add(np.array(sources, dtype=dtype), np.array(targets, dtype=dtype), lengths)
    writer.close()
    assert all(shard.pairs <= shard_pairs for shard in writer.shards)
    description = SplitDescription(files=(("x",),), weight=1.5, tags=(None,), shards=tuple(writer.shards))
    return Split(directory, description, dtype)  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(ids, ids), max_size=30),
    st.lists(st.integers(0, 7), max_size=8),
    st.integers(1, 12),
    st.sampled_from(["uint16", "uint32"]),
)
def test_a_split_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, pairs: Texts, sizes: list[int], shard_pairs: int, dtype: str
) -> None:
    directory = tmp_path_factory.mktemp("split")
    split = write(directory, pairs, sizes, dtype, shard_pairs)
    assert len(split) == len(pairs)
    assert [tuple(side.tolist() for side in split.pair(index)) for index in range(len(pairs))] == pairs
    order = np.random.default_rng(0).permutation(len(pairs))
    source, target = split.lengths(order)
    assert source.tolist() == [len(pairs[index][0]) for index in order]
    assert target.tolist() == [len(pairs[index][1]) for index in order]
    content = {path.name: path.read_bytes() for path in directory.iterdir()}
    write(directory, pairs, [], dtype, shard_pairs)
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == content, "bytes depend on how they came"


def test_ids_cannot_be_changed(tmp_path: Path) -> None:
    split = write(tmp_path, [([1, 2], [3])], [], "uint16", 10)
    source, _ = split.pair(0)
    with pytest.raises(ValueError, match="read-only"):
        source[0] = 9
    assert split.weight == 1.5


@pytest.mark.parametrize("index", [-1, 2, 1 << 40])
def test_pairs_outside(tmp_path: Path, index: int) -> None:
    split = write(tmp_path, [([1, 2], [3]), ([4], [5])], [], "uint16", 1)
    with pytest.raises(IndexError, match="from 0 to 1"):
        split.pair(index)
    with pytest.raises(IndexError, match="from 0 to 1"):
        split.lengths(np.array([0, index]))
    assert [side.tolist() for side in split.lengths(np.array([], dtype=np.int64))] == [[], []]


def test_the_type_that_holds_every_id() -> None:
    assert [id_type(size) for size in (300, 65_536, 65_537, 1_000_000)] == ["uint16", "uint16", "uint32", "uint32"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    path = folder / "pairs.tsv"
    words = ["one two", "three four five", "six", "seven eight", "nine ten eleven"]
    path.write_text("".join(f"{n} {words[n % 5]}\t{words[n % 3]} {n}!\n" for n in range(200)), encoding="utf-8")
    corpus = CorpusConfig(files=(str(path),), weight=3.0)
    config = PrepareConfig(vocabulary=300, source_language="en", target_language="xx")
    prepare([corpus], [corpus], folder / "out", config, cores=1)
    return folder / "out"


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "data")
    return tmp_path / "data"


def complaint(folder: Path, **options: Any) -> str:
    with pytest.raises(UserError) as caught:
        Prepared.open(folder, **options)
    return str(caught.value)


def change(folder: Path, **values: Any) -> None:
    """Change the description, and the manifest with it."""
    path = folder / "prepared.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")
    files.write_manifest(folder)


def test_open(folder: Path) -> None:
    prepared = Prepared.open(folder, contents=True)
    assert prepared.languages == ("en", "xx")
    assert len(prepared.train[0]) == len(prepared.valid or ()) == 200
    assert prepared.train[0].weight == 3.0
    assert prepared.config.vocabulary == prepared.source_subwords.size == 300
    assert prepared.report.train[0].kept == 200


def test_what_is_no_prepared_folder(folder: Path, tmp_path: Path) -> None:
    assert complaint(tmp_path / "missing").startswith(f"{tmp_path}/missing: not prepared data (no prepared.json); ")
    assert complaint(tmp_path).startswith(f"{tmp_path}: not prepared data")
    assert complaint(folder / "subwords.model").startswith(f"{folder}/subwords.model: not prepared data")


def test_every_changed_byte_is_found_when_asked(folder: Path) -> None:
    for path in sorted(set(folder.iterdir()) - {folder / files.MANIFEST}):
        before = path.read_bytes()
        middle = len(before) // 2
        path.write_bytes(before[:middle] + bytes([before[middle] ^ 1]) + before[middle + 1 :])
        assert path.name in complaint(folder, contents=True)
        if path.suffix == ".bin":
            Prepared.open(folder)  # sizes only: shards are too large to be read at every start
        else:
            assert path.name in complaint(folder)
        path.write_bytes(before)
    Prepared.open(folder, contents=True)


def test_every_missing_or_cut_file_is_found(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        before = path.read_bytes()
        path.write_bytes(before[:-2])
        assert path.name in complaint(folder)
        path.unlink()
        assert path.name in complaint(folder)
        path.write_bytes(before)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "{}"]
)
def test_a_description_that_is_none(folder: Path, text: str) -> None:
    (folder / "prepared.json").write_text(text, encoding="latin-1")
    assert complaint(folder).startswith(f"{folder}/prepared.json: ")


def test_another_format(folder: Path) -> None:
    change(folder, format=2)
    assert complaint(folder) == f"{folder}/prepared.json: format 2, but this regard reads 1; prepare the data again"


@pytest.mark.parametrize(
    "values",
    [
        {"ids": "float64"},
        {"train": []},
        {"train": 3},
        {"unknown": 1},
        {"source_vocabulary": "many"},
    ],
)
def test_a_description_that_makes_no_sense(folder: Path, values: dict[str, Any]) -> None:
    change(folder, **values)
    assert complaint(folder).startswith(f"{folder}/prepared.json: ")
    assert next(iter(values)) in complaint(folder)


@pytest.mark.parametrize(
    ("shard", "expected"),
    [
        ({"name": "../../etc/passwd"}, "prepared.json: train.0.shards.0.name: "),
        ({"pairs": 0}, "prepared.json: train.0.shards.0.pairs: "),
        ({"pairs": 7}, "train-0-00000.offsets.bin: "),
        ({"source_tokens": 7}, "train-0-00000.source.bin: "),
        ({"name": "train-0-00009"}, "train-0-00009.source.bin: missing"),
    ],
)
def test_shards_that_do_not_fit(folder: Path, shard: dict[str, Any], expected: str) -> None:
    described = json.loads((folder / "prepared.json").read_text(encoding="utf-8"))["train"]
    described[0]["shards"][0] |= shard
    change(folder, train=described)
    assert complaint(folder).startswith(f"{folder}/{expected}")


def test_other_subwords(folder: Path) -> None:
    change(folder, source_vocabulary=301)
    assert complaint(folder).startswith(f"{folder}: its subwords are not those it was prepared with; ")
    (folder / "subwords.model").write_bytes(b"hostile")
    files.write_manifest(folder)
    assert complaint(folder).startswith(f"{folder}/subwords.model: ")


def test_offsets_that_do_not_fit(folder: Path) -> None:
    path = folder / "train-0-00000.offsets.bin"
    offsets = np.fromfile(path, dtype="<i8")
    offsets[-1] -= 1
    offsets.tofile(path)
    assert complaint(folder).startswith(f"{path}: its offsets don't fit its texts; ")


@pytest.mark.parametrize(
    "line", [b"{", b"\xff", b"[]", b"3", b'{"source": "a"}', b'{"source": 1, "target": "b", "tag": null}', b"9" * 5000]
)
def test_validation_texts_that_are_none(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "valid.jsonl").write_bytes(b'{"source": "a", "target": "b", "tag": null}\n' + line + b"\n")
    with pytest.raises(UserError, match="valid.jsonl: .*; prepare the data again"):
        valid_texts(tmp_path)
