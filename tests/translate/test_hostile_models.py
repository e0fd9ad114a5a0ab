"""Models whose files were damaged, or made to break whoever loads them: a sentence or a working model, never a crash.

The manifest has the checksums of the damaged files, as whoever means harm would write it.
"""

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.mutants import mutated
from tests.support.models import like_trained
from tests.support.saving import save_built

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.run import Config
from regard.errors import Failed, UserError
from regard.exchange.to_ctranslate2 import export_ctranslate2
from regard.files import write_manifest
from regard.model.build import build
from regard.saved.folder import load_model
from regard.text.subwords import Subwords
from regard.translate.load import load

TEXT = "The old woman sees 12 apples."
MODEL = ("config.json", "model.safetensors", "subwords.model", "manifest.json")
EXPORT = ("config.json", "model.bin", "shared_vocabulary.json", "regard.json", "subwords.model", "manifest.json")


@pytest.fixture(scope="module")
def models(subwords: Subwords, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model in float32 and one in int8, and their exports."""
    folder = tmp_path_factory.mktemp("models")
    torch.manual_seed(1)
    config = model_config(vocabulary=subwords.size, encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)
    model = build(config).eval().requires_grad_(False)
    like_trained(model)
    whole = Config(model=config, decode=DecodeConfig(beam=2, extra_length=2))
    files = {"subwords.model": subwords.content}
    for storage in ("float32", "int8"):
        save_built(folder / storage, model, whole, files, languages=("en", "de"), storage=storage)
        export_ctranslate2(folder / storage, folder / f"{storage}-export", storage)
    return {path.name: path for path in folder.iterdir() if path.is_dir()}


def attempt(folder: Path, engine: str = "auto") -> str:
    """Load and translate; a mistake is told in one line, anything else is a bug."""
    try:
        load(folder, engine=engine).translate(TEXT)
    except UserError as error:
        return str(error)
    except Failed:  # the weights are such that nothing can be computed
        pass
    return ""


def refuse(folder: Path, match: str) -> None:
    for engine in ("auto", "torch"):
        said = attempt(folder, engine)
        assert match in said and len(said) < 1000, said[:2000]


@pytest.fixture
def model(models: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(models["float32"], tmp_path / "model"))


@pytest.fixture
def export(models: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(models["int8-export"], tmp_path / "export"))


def rewrite(path: Path, change: dict[str, Any]) -> None:
    """Change fields of a description, by their dotted names."""
    values = json.loads(path.read_text())
    for key, value in change.items():
        *folders, last = key.split(".")
        inner = values
        for name in folders:
            inner = inner[name]
        inner[last] = value
    path.write_text(json.dumps(values))
    if path.name != "manifest.json":
        write_manifest(path.parent)


def test_all_of_them_work(models: dict[str, Path]) -> None:
    for name, folder in models.items():
        assert attempt(folder) == "", name


def test_a_manifest_that_lists_too_little(model: Path, export: Path) -> None:
    for folder in (model, export):
        whole = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text('{"files": {}}')
        assert "does not list any files" in attempt(folder)
        for name in ("subwords.model", "model.safetensors" if folder == model else "model.bin", "config.json"):
            less = {"files": {key: value for key, value in whole["files"].items() if key != name}}
            (folder / "manifest.json").write_text(json.dumps(less))
            assert f"does not list {name}" in attempt(folder)


@pytest.mark.parametrize("name", ["x" * 5000, "\0", "\ud800", "a/" * 3000, "", "."])
def test_a_manifest_with_names_that_are_none(model: Path, name: str) -> None:
    whole = json.loads((model / "manifest.json").read_text())
    whole["files"][name] = {"size": 1, "sha256": "x"}
    (model / "manifest.json").write_text(json.dumps(whole))
    refuse(model, "missing, though the manifest lists it")


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../outside"])
def test_a_manifest_with_names_outside(model: Path, name: str) -> None:
    rewrite(model / "manifest.json", {"files": {name: {"size": 1, "sha256": "x"}}})
    (model.parent / "outside").write_bytes(b"x")
    said = attempt(model)
    assert "does not list" in said
    whole = {file: {"size": 1, "sha256": "x"} for file in (name, *MODEL[:3])}
    rewrite(model / "manifest.json", {"files": whole})
    refuse(model, "names a file outside its folder")


@pytest.mark.parametrize("name", MODEL)
def test_files_that_are_none(model: Path, name: str) -> None:
    """To read a pipe would wait for ever, and a device has no end."""
    (model / name).unlink()
    os.mkfifo(model / name)
    refuse(model, "is no file" if name == "manifest.json" else "missing, though the manifest lists it")
    (model / name).unlink()
    (model / name).symlink_to("/dev/zero")
    refuse(model, "is no file" if name == "manifest.json" else "missing, though the manifest lists it")
    if name != "manifest.json":
        write_manifest(model)  # which lists files only
        refuse(model, f"does not list {name}")


def numbers(values: dict[str, Any], before: str = "") -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{before}{key}.")
        else:
            yield before + key


HOSTILE: tuple[Any, ...] = (
    0, -1, 1.5, 10**9, 10**4000, "x" * 5000, "\ud800", None, True, [1], {"a": 1}
)  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:20])
def test_settings_of_every_kind(model: Path, value: Any) -> None:
    """Refused or without effect, and soon: a beam of a million would search for ever."""
    path = model / "config.json"
    whole = path.read_text()
    for key in numbers(json.loads(whole)):
        path.write_text(whole)
        rewrite(path, {key: value})
        assert len(described(model)) < 1000, key


def described(folder: Path) -> str:
    """Load without translating, and see that a search has its limits."""
    try:
        loaded = load_model(folder)
    except UserError as error:
        return str(error)
    assert loaded.decode.beam <= 4096 and loaded.decode.extra_length <= 10_000
    return ""


@pytest.mark.parametrize("digits", [5000, 100_000])
def test_numbers_of_thousands_of_digits(model: Path, export: Path, digits: int) -> None:
    for path in (model / "config.json", model / "manifest.json", export / "config.json", export / "manifest.json"):
        whole = path.read_text()
        key, old = ("size", '"size": ') if path.name == "manifest.json" else ("d_model", '"d_model": ')
        if key == "d_model" and path.parent == export:
            old = '"layer_norm_epsilon": '
        assert old in whole
        path.write_text(whole.replace(old, old + "9" * digits, 1))
        if path.name != "manifest.json":
            write_manifest(path.parent)
        said = attempt(path.parent)
        assert "not valid JSON" in said or "not the settings of an export" in said
        path.write_text(whole)


def strike(folder: Path, files: tuple[str, ...], count: int, engine: str = "auto") -> None:
    """Damage one file after the other, so many times in all."""
    draw = random.Random(1)
    for number in range(count):
        path = folder / files[number % len(files)]
        whole = path.read_bytes()
        listed = (folder / "manifest.json").read_bytes()
        damaged = mutated(whole[:800], draw) + whole[800:] if draw.random() < 0.5 else mutated(whole, draw)
        path.write_bytes(damaged)
        if path.name != "manifest.json":
            write_manifest(folder)
        try:
            attempt(folder, engine)
        except Exception as error:
            raise AssertionError(f"mutant {number} of {path.name}") from error
        path.write_bytes(whole)
        (folder / "manifest.json").write_bytes(listed)


@pytest.mark.parametrize(
    ("name", "engine"),
    [("float32", "torch"), ("int8", "torch"), ("float32", "auto"), ("float32-export", "auto"), ("int8-export", "auto")],
)
def test_mutants(models: dict[str, Path], tmp_path: Path, name: str, engine: str) -> None:
    folder = Path(shutil.copytree(models[name], tmp_path / "model"))
    strike(folder, EXPORT if name.endswith("export") else MODEL, 80, engine)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "engine"), [("int8", "torch"), ("float32", "auto"), ("int8-export", "auto")])
def test_many_mutants(models: dict[str, Path], tmp_path: Path, name: str, engine: str) -> None:
    folder = Path(shutil.copytree(models[name], tmp_path / "model"))
    strike(folder, EXPORT if name.endswith("export") else MODEL, 1500, engine)
