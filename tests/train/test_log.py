"""The log takes back what will be logged again, and says when the disk is full."""

from pathlib import Path

import pytest

from regard.errors import Failed
from regard.train.log import Log, records


def test_going_on_after_a_step(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = Log(path, 0)
    for step in (1, 2, 3):
        log.append({"step": step, "event": "train", "말": "\u2028"})
    log.close()
    with path.open("a") as file:
        file.write('{"step": 4, "ev')
    Log(path, 2).close()
    assert [record["step"] for record in records(path)] == [1, 2]
    assert next(records(path))["말"] == "\u2028"


def test_a_full_disk(tmp_path: Path) -> None:
    """/dev/full refuses every byte, as a full disk does."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    (tmp_path / "log.jsonl").symlink_to("/dev/full")
    log = Log.__new__(Log)
    log._path, log._file = tmp_path / "log.jsonl", Path("/dev/full").open("a")  # noqa: SIM115
    with pytest.raises(Failed, match="No space left on device; make room, and run the same command again"):
        log.append({"step": 1, "event": "train"})
    log.close()
