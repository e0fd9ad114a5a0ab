"""Whole or absent; the newest valid one; nothing that was there is lost."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.config.run import Config
from regard.data.batches import Position
from regard.errors import Failed, UserError
from regard.files import sha256
from regard.saved.saved_model import SavedModel
from regard.train import checkpoint
from regard.train.progress import RunProgress

CONFIG = Config()
SAVED = SavedModel.of_run(CONFIG, {"subwords.model": b"x"}, ("en", "ko"), "NFC")


def put(folder: Path, step: int, **values: Any) -> dict[str, torch.Tensor]:
    weights = {"a": torch.full((3,), float(step)), "b": torch.randn(2, 2)}
    tensors = {"exp_avg.a": torch.randn(3)}
    checkpoint.save(folder, RunProgress(step=step, **values), weights, tensors, SAVED, CONFIG)
    return {**weights, **tensors}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail(sentence: str) -> None:
    raise AssertionError(sentence)


def test_comes_back_as_it_was(tmp_path: Path) -> None:
    values = {"position": Position(3, 0, 9), "best_loss": 0.1 + 0.2, "window": {"loss": 1 / 3}, "tokens": 10**12}
    tensors = put(tmp_path, 7, **values)
    found = checkpoint.newest(tmp_path, fail)
    assert found is not None and found.progress == RunProgress(step=7, **values)
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in {**found.weights, **found.tensors}.items())


def test_the_newest_valid_one_is_used_and_the_invalid_one_reported(tmp_path: Path) -> None:
    put(tmp_path, 1)
    put(tmp_path, 2)
    path = checkpoint.folder(tmp_path, 2) / "training.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    warnings: list[str] = []
    found = checkpoint.newest(tmp_path, warnings.append)
    assert found is not None and found.progress.step == 1
    assert len(warnings) == 1 and "training.safetensors" in warnings[0]


def test_one_that_the_disk_does_not_give_back_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 1)
    put(tmp_path, 2)

    def broken(path: Path) -> str:
        if path.parent.name == "step-00000002":
            raise OSError(errno.EIO, "Input/output error")
        return sha256(path)

    monkeypatch.setattr("regard.files.sha256", broken)
    warnings: list[str] = []
    found = checkpoint.newest(tmp_path, warnings.append)
    assert found is not None and found.progress.step == 1
    assert len(warnings) == 1 and "step-00000002: can't be read" in warnings[0]


def test_none(tmp_path: Path) -> None:
    assert checkpoint.newest(tmp_path / "absent", fail) is None


def test_what_a_killed_process_left_is_cleared(tmp_path: Path) -> None:
    put(tmp_path, 1)
    (tmp_path / ".step-00000002.partial").mkdir()
    (tmp_path / ".step-00000000.removed").mkdir()
    checkpoint.repair(tmp_path)
    assert checkpoint.newest(tmp_path, fail) is not None
    assert names(tmp_path) == ["step-00000001"]


@pytest.mark.parametrize("earlier", [(), (1,)], ids=["the only one", "one of two"])
def test_a_step_that_is_written_again_is_there_at_every_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: tuple[int, ...]
) -> None:
    """A copy of the folder before each call that changes names is what a kill at that moment would leave."""
    folder, left = tmp_path / "checkpoints", tmp_path / "left"
    folder.mkdir()
    left.mkdir()
    for step in earlier:
        put(folder, step)
    before = put(folder, 2, owed=True)

    copying: list[str] = []

    def watched(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def around(*arguments: Any, **named: Any) -> Any:
            if not copying:
                copying.append(name)
                shutil.copytree(folder, left / f"{len(names(left)):03d}-{name}")
                copying.clear()
            return call(*arguments, **named)

        return around

    with monkeypatch.context() as patch:
        for name in ("rename", "replace", "unlink", "rmdir", "mkdir"):
            patch.setattr(os, name, watched(name, getattr(os, name)))
        after = put(folder, 2)
    shutil.copytree(folder, left / "999-done")
    moments = names(left)
    assert sum(moment.endswith("-rename") for moment in moments) == 3 and moments[-2].endswith("-rmdir")
    for moment in moments:
        checkpoint.repair(left / moment)
        found = checkpoint.newest(left / moment, fail)
        assert found is not None and found.progress.step == 2, moment
        expected = before if found.progress.owed else after
        assert torch.equal(found.weights["b"], expected["b"]), moment
        assert names(left / moment) == [f"step-{step:08d}" for step in (*earlier, 2)], moment


def test_an_error_between_the_renames_puts_the_old_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 1, owed=True)
    rename, calls = os.rename, iter(range(10))

    def broken(*arguments: Any) -> None:
        if next(calls) == 1:
            raise OSError(errno.EIO, "disk")
        rename(*arguments)

    monkeypatch.setattr(os, "rename", broken)
    with pytest.raises(Failed, match="step 1 is intact"):
        put(tmp_path, 1)
    found = checkpoint.newest(tmp_path, fail)
    assert found is not None and found.progress.owed


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("where", ["os.fsync", "regard.train.checkpoint.save_file", "regard.saved.weights.save_file"])
def test_a_disk_that_fails_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, where: str
) -> None:
    before = put(tmp_path, 1)

    def broken(*_: Any, **__: Any) -> None:
        raise OSError(error, "disk")

    with monkeypatch.context() as patch:
        patch.setattr(where, broken)
        with pytest.raises(Failed, match="step 1 is intact.*run the same command again"):
            put(tmp_path, 2)
        with pytest.raises(Failed):
            put(tmp_path, 1)
    assert names(tmp_path) == ["step-00000001"]
    found = checkpoint.newest(tmp_path, fail)
    assert found is not None and torch.equal(found.weights["b"], before["b"])


def test_room_is_checked_before_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(Failed, match="MiB needed.*no earlier checkpoint"):
        put(tmp_path / "c", 1)
    assert names(tmp_path) == []


def test_prune_keeps_what_it_is_told(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4):
        put(tmp_path, step)
    checkpoint.prune(tmp_path, {2, 4})
    assert names(tmp_path) == ["step-00000002", "step-00000004"]


def test_mean_and_the_regular_ones(tmp_path: Path) -> None:
    for step in (4, 7, 8, 12, 14):
        put(tmp_path, step)
    assert checkpoint.last_regular(tmp_path, 4, 3) == [8, 12, 14], "7 was an interruption, 14 is the end"
    assert checkpoint.last_regular(tmp_path, 4, 10) == [4, 8, 12, 14]
    weights, used = checkpoint.mean(tmp_path, [4, 8, 12], fail)
    assert weights["a"].tolist() == [8.0] * 3 and used == [4, 8, 12]


def test_a_mean_is_summed_in_float64(tmp_path: Path) -> None:
    """In float32, 2^24 + 1 is 2^24."""
    for step, value in enumerate((2.0**24, 1.0, 1.0), 1):
        checkpoint.save(tmp_path, RunProgress(step=step), {"a": torch.tensor([value])}, {}, SAVED, CONFIG)
    weights, _ = checkpoint.mean(tmp_path, [1, 2, 3], fail)
    assert weights["a"].item() == (2**24 + 2) / 3


def test_a_foreign_checkpoint_is_refused(tmp_path: Path) -> None:
    put(tmp_path, 1)
    path = checkpoint.folder(tmp_path, 1)
    (path / "training.json").write_text('{"stepp": 3, "position": [0, 0, 0]}')
    with pytest.raises(UserError, match="differ|bytes"):
        checkpoint.load(path)
    from regard.files import write_manifest

    write_manifest(path)
    with pytest.raises(UserError, match="not a checkpoint of this version"):
        checkpoint.load(path)
