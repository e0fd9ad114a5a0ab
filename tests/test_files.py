"""Whole or absent, checked, one writer."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard.errors import UserError
from regard.files import (
    check_manifest,
    check_place,
    new_directory,
    one_writer,
    read_json,
    restore_directory,
    whole_directory,
    write_bytes,
    write_json,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_write_bytes_replaces_whole(tmp_path: Path) -> None:
    path = tmp_path / "파일"
    write_bytes(path, b"one")
    write_bytes(path, b"two")
    assert path.read_bytes() == b"two" and names(tmp_path) == ["파일"]


def test_write_bytes_keeps_the_old_on_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    write_bytes(path, b"one")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_bytes(path, b"two")
    assert path.read_bytes() == b"one" and names(tmp_path) == ["f"]


def test_write_bytes_to_what_is_no_file(tmp_path: Path) -> None:
    """A link stays one, and so does a pipe or a device: nothing is renamed over them."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("deep/real")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "deep" / "real").read_bytes() == b"new"
    assert names(tmp_path / "deep") == ["real"]
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_bytes(tmp_path / "pipe", b"through")
    assert os.read(reader, 100) == b"through" and (tmp_path / "pipe").is_fifo()
    os.close(reader)


def test_places_are_checked_before_the_work(tmp_path: Path) -> None:
    check_place(tmp_path / "new")
    (tmp_path / "file").write_text("x")
    check_place(tmp_path / "file")
    for path, sentence in ((tmp_path, "is a folder"), (tmp_path / "none" / "x", "there is no folder")):
        with pytest.raises(UserError, match=sentence):
            check_place(path)
    if os.geteuid() != 0:  # who may write everywhere
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(UserError, match="may not be written"):
            check_place(tmp_path / "closed" / "x")


def test_a_new_directory_has_one_writer(tmp_path: Path) -> None:
    with new_directory(tmp_path / "d") as temporary:
        (temporary / "x").write_text("mine")
        with pytest.raises(UserError, match="another regard process is writing here"), new_directory(tmp_path / "d"):
            pass
    assert (tmp_path / "d" / "x").read_text() == "mine" and names(tmp_path) == ["d"]


def test_a_new_directory_is_not_made_where_a_link_leads_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("absent")
    with (
        pytest.raises(UserError, match="link: is a link to absent, which does not exist"),
        new_directory(tmp_path / "link"),
    ):
        raise AssertionError("no work is done for it")


def test_json(tmp_path: Path) -> None:
    write_json(tmp_path / "j", {"말": [1, None]})
    assert read_json(tmp_path / "j") == {"말": [1, None]}
    for content in (b"{", b"\xff\xfe", b"[" * 100_000):
        (tmp_path / "j").write_bytes(content)
        with pytest.raises(UserError, match="not valid JSON"):
            read_json(tmp_path / "j")
    with pytest.raises(UserError, match="no such file"):
        read_json(tmp_path / "absent")
    with pytest.raises(UserError, match="is a file where a folder is expected"):
        read_json(tmp_path / "j" / "inside")


class TestWholeDirectory:
    def test_appears_with_its_manifest(self, tmp_path: Path) -> None:
        final = tmp_path / "a" / "b"
        with whole_directory(final) as temporary:
            (temporary / "x").write_text("x")
            (temporary / "deep").mkdir()
            (temporary / "deep" / "y").write_text("yy")
            assert not final.exists()
        check_manifest(final)
        listed = json.loads((final / "manifest.json").read_text())["files"]
        assert {name: entry["size"] for name, entry in listed.items()} == {"x": 1, "deep/y": 2}
        assert names(final.parent) == ["b"]

    def test_an_error_leaves_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(KeyboardInterrupt), whole_directory(tmp_path / "d") as temporary:
            (temporary / "x").write_text("x")
            raise KeyboardInterrupt
        assert names(tmp_path) == []

    def test_an_error_while_replacing_keeps_the_old(self, tmp_path: Path) -> None:
        with whole_directory(tmp_path / "d") as temporary:
            (temporary / "x").write_text("old")
        with pytest.raises(OSError, match="full"), whole_directory(tmp_path / "d", replace=True) as temporary:
            raise OSError("full")
        assert (tmp_path / "d" / "x").read_text() == "old" and names(tmp_path) == ["d"]

    def test_what_a_killed_attempt_left_is_cleared(self, tmp_path: Path) -> None:
        (tmp_path / ".d.partial").mkdir()
        (tmp_path / ".d.partial" / "half").write_text("half")
        with whole_directory(tmp_path / "d") as temporary:
            (temporary / "x").write_text("x")
        assert names(tmp_path / "d") == ["manifest.json", "x"] and names(tmp_path) == ["d"]

    def test_killed_between_the_renames(self, tmp_path: Path) -> None:
        with whole_directory(tmp_path / ".d.old") as temporary:
            (temporary / "x").write_text("old")
        with pytest.raises(UserError, match="exists already"), whole_directory(tmp_path / "d"):
            pass
        assert (tmp_path / "d" / "x").read_text() == "old"

    def test_the_new_name_is_on_disk_before_the_old_directory_goes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with whole_directory(tmp_path / "d") as temporary:
            (temporary / "x").write_text("old")
        calls: list[str] = []
        rename, fsync, unlink = os.rename, os.fsync, os.unlink

        def renaming(source: Path, target: Path) -> None:
            calls.append(f"{source.name} -> {target.name}")
            rename(source, target)

        def syncing(descriptor: int) -> None:
            calls.append(f"sync {Path(f'/proc/self/fd/{descriptor}').readlink().name}")
            fsync(descriptor)

        def unlinking(path: Any, **named: Any) -> None:
            calls.append(f"remove {path}")
            unlink(path, **named)

        for name, call in (("rename", renaming), ("fsync", syncing), ("unlink", unlinking)):
            monkeypatch.setattr(os, name, call)
        with whole_directory(tmp_path / "d", replace=True) as temporary:
            (temporary / "x").write_text("new")
        moved = calls.index("d -> .d.old")
        assert {"sync x", "sync .d.partial"} <= set(calls[:moved]), "its files and their names come first"
        assert calls[moved : moved + 4] == [
            "d -> .d.old", ".d.partial -> d", f"sync {tmp_path.name}", ".d.old -> .d.removed"
        ]  # fmt: skip
        assert set(calls[moved + 4 :]) == {"remove x", "remove manifest.json"}

    def test_what_is_restored_is_on_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with whole_directory(tmp_path / ".d.old") as temporary:
            (temporary / "x").write_text("old")
        synced: list[Path] = []
        monkeypatch.setattr("regard.files.sync_directory", synced.append)
        restore_directory(tmp_path / "d")
        assert names(tmp_path) == ["d"] and synced == [tmp_path]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "x").write_text("Y"), "x: its bytes differ"),
        (lambda folder: (folder / "x").write_text("longer"), "x: 6 bytes where the manifest says 1"),
        (lambda folder: (folder / "x").unlink(), "x: missing"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "does not list"),
        (lambda folder: (folder / "manifest.json").write_text('{"files": {"x": 3}}'), "does not list"),
        (lambda folder: (folder / "manifest.json").write_text('{"files": {"x": {"size": "1"}}}'), "does not list"),
    ],
)
def test_damage_is_noticed(tmp_path: Path, damage: Callable[[Path], object], message: str) -> None:
    with whole_directory(tmp_path / "d") as temporary:
        (temporary / "x").write_text("x")
    damage(tmp_path / "d")
    with pytest.raises(UserError, match=message):
        check_manifest(tmp_path / "d")


def test_one_writer(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from regard.files import one_writer\n"
        "with one_writer(Path(sys.argv[1])): print('in')"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "d")]
    with one_writer(tmp_path / "d"):
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        assert refused.returncode != 0 and "another regard process" in refused.stderr
    assert subprocess.run(command, capture_output=True, text=True, check=False).stdout == "in\n"
    assert names(tmp_path) == []


def test_one_writer_by_another_name(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "latest").symlink_to("d")
    with one_writer(tmp_path / "d"), pytest.raises(UserError, match="another regard process"):
        one_writer(tmp_path / "latest").__enter__()


def test_a_directory_with_the_same_files_stays(tmp_path: Path) -> None:
    for content, kept in (("a", True), ("a", True), ("b", False)):
        with whole_directory(tmp_path / "d", replace=True) as temporary:
            (temporary / "x").write_text(content)
        (tmp_path / "d" / "more").touch() if content == "a" else None
        assert (tmp_path / "d" / "more").exists() == kept
    assert (tmp_path / "d" / "x").read_text() == "b" and names(tmp_path) == ["d"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_who_may_read_a_folder_may_read_its_files(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        with whole_directory(tmp_path / "model") as temporary:
            (temporary / "weights").touch(mode=0o600)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "model").iterdir()} == {mode}
