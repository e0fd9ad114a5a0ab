"""Which code made a figure: every file that decides it counts, and no other."""

from pathlib import Path
from shutil import copytree

import pytest

from regard import __version__, code_version
from regard.code_version import MEASURING, TRAINING, training_version

ORIGINAL = code_version.SOURCE


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package's own source files, which may be changed."""
    copied = copytree(
        code_version.SOURCE, tmp_path / "regard", ignore=lambda _, names: [n for n in names if n == "models"]
    )
    monkeypatch.setattr(code_version, "SOURCE", copied)
    return copied


def version(parts: tuple[str, ...] = TRAINING) -> str:
    return code_version.code_version.__wrapped__(parts)


def test_a_copy_has_the_same_version(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = version()
    monkeypatch.setattr(code_version, "SOURCE", ORIGINAL)
    assert copied == version() and copied.startswith(f"{__version__}+")


@pytest.mark.parametrize(
    ("file", "trains", "measures"),
    [
        ("config/model.py", True, True),
        ("text/subwords.py", True, True),
        ("data/batches.py", True, True),
        ("model/attention.py", True, True),
        ("train/step.py", True, True),
        ("search/beam.py", False, True),
        ("translate/load.py", False, True),
        ("engines/torch_engine.py", False, True),
        ("evaluate/bleu.py", False, True),
        ("serve/app.py", False, False),
    ],
)
def test_a_change_counts_where_it_decides_something(source: Path, file: str, trains: bool, measures: bool) -> None:
    before = [version(parts) for parts in (TRAINING, MEASURING)]
    with (source / file).open("a") as changed:
        changed.write("# changed\n")
    after = [version(parts) for parts in (TRAINING, MEASURING)]
    assert [one != other for one, other in zip(before, after, strict=True)] == [trains, measures]


def test_search_counts_for_models_that_learn_from_its_samples(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_version, "code_version", code_version.code_version.__wrapped__)
    before = [training_version(objective) for objective in ("likelihood", "reward")]
    with (source / "search" / "sampling.py").open("a") as changed:
        changed.write("# changed\n")
    after = [training_version(objective) for objective in ("likelihood", "reward")]
    assert [one != other for one, other in zip(before, after, strict=True)] == [False, True]


def test_names_and_new_files_count(source: Path) -> None:
    versions = {version()}
    (source / "model" / "masks.py").rename(source / "model" / "masks2.py")
    versions.add(version())
    (source / "model" / "empty.py").touch()
    versions.add(version())
    assert len(versions) == 3
