"""What a newcomer installs: the wheel, in an environment of its own, translates with the network cut off."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regard.saved.bundled import DEFAULT, bundled

ROOT = Path(__file__).parents[1]
MOST_BYTES = 15 << 20


def run(*command: str | Path, **options: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_the_bundled_models_are_small() -> None:
    for folder in bundled().values():
        assert sum(file.stat().st_size for file in folder.iterdir()) <= MOST_BYTES


@pytest.mark.slow
def test_the_installed_wheel_translates_offline(tmp_path: Path) -> None:
    cut_off = ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*cut_off, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not let us cut the network off")
    environment = {**os.environ, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path / "wheel", ROOT, env=environment)
    (wheel,) = (tmp_path / "wheel").iterdir()
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    for package in ("torch", wheel):
        run(tmp_path / "venv/bin/python", "-m", "pip", "install", package, env=environment)
    regard = tmp_path / "venv/bin/regard"
    offline = {"cwd": tmp_path, "env": {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}}
    assert "Bahnhof" in run(*cut_off, regard, "translate", "Where is the station?", **offline)
    assert "(NN cat)" in run(*cut_off, regard, "parse", "The cat sat on the mat.", **offline)
    assert "station" in run(
        *cut_off, regard, "translate", "--model", DEFAULT, "--to", "en", "Wo ist der Bahnhof?", **offline
    )


@pytest.mark.slow
@pytest.mark.parametrize("compiler", [True, False])
def test_the_wheel_with_and_without_a_compiler(tmp_path: Path, compiler: bool) -> None:
    if compiler and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("there is no C++ compiler here")
    source = tmp_path / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    (tmp_path / "empty").mkdir()
    path = os.environ["PATH"] if compiler else str(tmp_path / "empty")
    alone = {key: value for key, value in os.environ.items() if key not in ("CXX", "PYTHONPATH")} | {"PATH": path}
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "wheel", cwd=source, env=alone)
    (wheel,) = (tmp_path / "wheel").iterdir()
    assert wheel.name.endswith("-none-any.whl") != compiler
    site = tmp_path / "site"
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", site, wheel, env=alone)
    installed = {"cwd": tmp_path, "env": {**alone, "PYTHONPATH": str(site)}}
    told = json.loads(run(sys.executable, "-m", "regard", "info", "--json", **installed))
    assert told["engines"]["native"]["available"] == compiler
    if not compiler:
        assert told["engines"]["native"]["reason"]
        assert told["auto"]["engine"] == "ctranslate2"
    command = (sys.executable, "-m", "regard", "translate", "Where is the station?")
    assert "Bahnhof" in run(*command, **installed)
