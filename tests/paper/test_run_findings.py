"""The drivers of the experiments: the gate, what is known already, what is kept, and the order of the runs."""

import argparse
import gzip
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from regard.code_version import MEASURING, code_version

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXPERIMENTS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


@pytest.fixture(scope="module")
def driver() -> ModuleType:
    return loaded("run_findings")


@pytest.fixture(scope="module")
def workers() -> ModuleType:
    return loaded("workers")


def queue(driver: ModuleType, folder: Path) -> Any:
    given = argparse.Namespace(root=folder / "runs", results=folder / "results", corpus=folder, workers=1)
    return driver.Queue(given)


@pytest.mark.parametrize(("losses", "up"), [((3.0, 2.0, 2.1), True), ((3.0, 2.0, 2.01), False), ((3.0, 2.0), False)])
def test_gate_wants_the_loss_to_have_turned_up(
    driver: ModuleType, tmp_path: Path, losses: tuple[float, ...], up: bool
) -> None:
    log = tmp_path / "results" / "table3" / "logs" / "D-drop0-seed1.jsonl"
    log.parent.mkdir(parents=True)
    lines = [{"event": "validation", "step": 100 * at, "nll": loss} for at, loss in enumerate(losses, 1)]
    text = "\n".join(json.dumps(line) for line in [{"event": "begin"}, *lines])
    log.write_text(text, encoding="utf-8")
    found = driver.gate(queue(driver, tmp_path))
    assert found["turned_up"] is up and found["lowest"] == (200, 2.0) and found["last"][1] == losses[-1]


def test_kept_figures_of_this_code_are_put_back_and_not_run_again(
    driver: ModuleType, workers: ModuleType, tmp_path: Path
) -> None:
    kept = tmp_path / "results" / "table3" / "A-1-seed2.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps({"code": code_version(MEASURING)}), encoding="utf-8")
    one = queue(driver, tmp_path)
    one.stop()  # so that a run that is begun nevertheless ends at once
    one.row("A-1-seed2", "A-1", 2)
    assert (tmp_path / "runs" / "table3" / "A-1-seed2" / "figures.json").read_bytes() == kept.read_bytes()
    assert not (tmp_path / "results" / "costs.jsonl").exists()
    kept.write_text(json.dumps({"code": "0.1.0+0123456789ab"}), encoding="utf-8")
    assert not workers.known(kept) and not workers.known(tmp_path / "none.json")


def test_texts_are_written_once_as_they_are_and_in_lower_case(
    driver: ModuleType, workers: ModuleType, tmp_path: Path
) -> None:
    for name in workers.FILES:
        for language, text in (("en", "A Dog\n"), ("de", "Ein Hund, 개\n")):
            (tmp_path / f"{name}.{language}.gz").write_bytes(gzip.compress(text.encode()))
    one = queue(driver, tmp_path)
    workers.texts(one.given)
    written = tmp_path / "runs" / "text"
    assert (written / "raw" / "val.de").read_text(encoding="utf-8") == "Ein Hund, 개\n"
    assert (written / "lower" / "val.de").read_text(encoding="utf-8") == "ein hund, 개\n"


def test_an_error_of_a_job_ends_the_queue(driver: ModuleType, tmp_path: Path) -> None:
    """In a thread SystemExit would end that thread without a word."""
    done: list[int] = []

    def fail() -> None:
        sys.exit("it failed")

    with pytest.raises(SystemExit, match="it failed"):
        queue(driver, tmp_path).all([lambda: done.append(1), fail, lambda: done.append(2)])
    assert done == [1]
