"""Files at fsspec addresses: found by pattern, written whole or not at all."""

import hashlib
from pathlib import Path

import fsspec
import pytest

from regard.bulk.storage import checksum, find_files, is_local, open_file, read_small, remove_partial, size, whole_file
from regard.errors import UserError


def test_a_pattern_names_files_below_its_fixed_part(tmp_path: Path) -> None:
    for name in ("a/x.txt", "b/x.txt", "b/.hidden.txt", "c.txt", "한국어/ك.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    found = find_files(f"{tmp_path}/*/*.txt")
    assert [file.name for file in found] == ["a/x.txt", "b/x.txt", "한국어/ك.txt"]
    assert [file.size for file in found] == [7, 7, len("한국어/ك.txt".encode())]
    assert found[0].address == f"file://{tmp_path}/a/x.txt"
    assert [file.name for file in find_files(f"{tmp_path}/c.txt")] == ["c.txt"]


def test_a_file_s_version_changes_with_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    before = find_files(f"{tmp_path}/a.txt")
    assert find_files(f"{tmp_path}/*.txt") == before
    (tmp_path / "a.txt").unlink()
    (tmp_path / "a.txt").write_text("two")
    assert find_files(f"{tmp_path}/*.txt") != before


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("nothing/*.txt", "no file matches"),
        ("nothing", "no such file; name files, such as 'nothing/[*].txt'"),
        ("unheard://x/*.txt", "unheard://x/[*].txt: can't be opened"),
    ],
)
def test_a_pattern_without_files(pattern: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=words):
        find_files(pattern)


@pytest.mark.parametrize("place", ["local", "memory"])
def test_a_file_is_written_whole_or_not_at_all(place: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "new") if place == "local" else f"memory://{tmp_path.name}"
    assert is_local(folder) == (place == "local")
    with whole_file(f"{folder}/a") as file:
        file.write("안녕".encode())
        assert size(f"{folder}/a") is None
    assert read_small(f"{folder}/a", 10) == "안녕".encode()
    assert (file.count, file.sha256()) == (6, hashlib.sha256("안녕".encode()).hexdigest())
    assert checksum(f"{folder}/a") == file.sha256()
    with pytest.raises(KeyboardInterrupt), whole_file(f"{folder}/a") as file:
        file.write(b"other")
        raise KeyboardInterrupt
    assert read_small(f"{folder}/a", 10) == "안녕".encode()
    system, path = fsspec.core.url_to_fs(folder)
    assert [Path(name).name for name in system.ls(path, detail=False)] == ["a"], "nothing else is left"


def test_what_killed_workers_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".a.txt.0123.partial").write_text("half")
    (tmp_path / "sub" / "a.partial").write_text("an input's own name")
    remove_partial(str(tmp_path))
    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["a.partial"]


def test_what_can_t_be_read_or_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file/x/a: can't be written"), whole_file(f"{tmp_path}/file/x/a"):
        pass
    with pytest.raises(UserError, match="absent: can't be read"):
        open_file(f"{tmp_path}/absent")
    (tmp_path / "large").write_bytes(b"12345")
    with pytest.raises(UserError, match="more than 4 bytes"):
        read_small(f"{tmp_path}/large", 4)
    assert read_small(f"{tmp_path}/absent", 4) is None
