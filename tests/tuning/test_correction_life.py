"""The life of a correction as `benchmarks/correction_life.py` shows it: a server, Chromium, tuning, SIGHUP."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ("in the garden", "at the station", "on the table", "in the house", "at school")
THINGS = ("dog", "cat", "book", "car", "woman", "man", "child", "train")


@pytest.mark.slow
def test_a_correction_is_answered_then_taught_and_served_without_the_memory(tmp_path: Path) -> None:
    pytest.importorskip("playwright")
    if shutil.which("chromium") is None:
        pytest.skip("no Chromium; install your system's package, such as chromium on Debian")
    lines = [f"The {thing} is {place} {when}." for thing in THINGS for place in PLACES for when in ("today", "now")]
    for name in ("text", "right"):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, str(ROOT / "benchmarks" / "correction_life.py"), "--text", "text", "--steps", "60"]
    command += ["--sentences", "text", "--references", "right", "--worse", "100"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["before"] == {"page": 0, "api": 0}
    assert told["corrected"] == {"page": 5, "api": 5}
    assert told["old_model_without_memory"] == {"page": 0, "api": 0}
    reproduced = round(5 * told["tune"]["reproduced_after"])
    assert told["new_model_without_memory"] == {"page": reproduced, "api": reproduced}
    assert reproduced >= 3
