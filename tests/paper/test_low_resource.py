"""The experiment on few pairs: what is held out stays out, its commands, and the table of its steps."""

import json
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.paper.test_run_findings import loaded


@pytest.fixture(scope="module")
def driver() -> ModuleType:
    return loaded("low_resource")


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_what_is_tested_is_neither_in_the_pairs_nor_in_the_text(
    driver: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "TEST", 6)
    monkeypatch.setattr(driver, "VALID", 3)
    pairs = [(f"Sentence {n}.", f"문장 {n % 25}.") for n in range(30)] + [("Sentence 1.", "다른 문장.")]
    mono = [[f"Sentence {n}.", f"문장 {n}.", "tatoeba" if n < 40 else "manual"] for n in range(60)]
    mono += [
        [" ".join(["long"] * 13), " ".join(["긴"] * 13), "manual"],
        ["And it came to pass.", "그러하더라", "bible"],
    ]
    driver.write_texts(pairs, mono, tmp_path)
    held = {side: {*read(tmp_path / f"test.{side}"), *read(tmp_path / f"valid.{side}")} for side in ("en", "ko")}
    assert len(held["en"]) == 9 and len(read(tmp_path / "test.en")) == 6
    translations = {target for english, target in pairs if english in held["en"]}
    train = [line.split("\t") for line in read(tmp_path / "train.en-ko.tsv")]
    assert train and not {english for english, _ in train} & held["en"]
    assert not {target for _, target in train} & translations
    assert [line.split("\t")[::-1] for line in read(tmp_path / "train.ko-en.tsv")] == train
    for name in ("everyday", "others", "back"):
        assert not {*read(tmp_path / f"{name}.en")} & held["en"]
        assert not {*read(tmp_path / f"{name}.ko")} & translations
    everyday, others = ({target for _, target, source in mono if source == name} for name in ("tatoeba", "manual"))
    assert {*read(tmp_path / "everyday.ko")} == everyday - translations
    assert {*read(tmp_path / "others.ko")} == {text for text in others - translations if len(text.split()) < 13}
    assert read(tmp_path / "back.ko") == [*read(tmp_path / "everyday.ko"), *read(tmp_path / "others.ko")]


@pytest.fixture
def commands(driver: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of all steps, which only leave their files; a command that is in `failing` fails."""
    run: list[list[str]] = []

    def regard(queue: Any, log: Path, *words: str, output: Path | None = None, **_: object) -> tuple[int, float, float]:
        run.append(list(words))
        if words[0] == "evaluate":
            assert output is not None
            output.write_text(json.dumps({"bleu": 1.0, "chrf": 2.0, "signature": "", "chrf_signature": ""}))
        else:
            Path(dict(pairwise(words))["--out"]).mkdir(parents=True, exist_ok=True)
        return 0, 1.0, 1.0

    monkeypatch.setattr(driver.Ladder, "regard", regard)
    monkeypatch.setattr(driver, "begin", lambda queue: None)
    rows = [[f"Sentence {n}.", f"문장 {n}.", "tatoeba"] for n in range(1000)]
    monkeypatch.setattr(driver, "rows_of", lambda path: rows)
    folders = ["--root", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    words = ["low_resource.py", "--pairs", "a", "--mono", "b", *folders, "--workers", "1"]
    monkeypatch.setattr("sys.argv", words)
    return run


def test_every_model_is_told_its_languages(driver: ModuleType, commands: list[list[str]]) -> None:
    driver.main()
    prepared = {}
    for given in (dict(pairwise(words)) for words in commands if words[0] == "prepare"):
        prepared[Path(given["--out"]).name] = (given["--from"], given["--to"])
    assert prepared.pop("back") == ("ko", "en"), "or its translations of Korean would be none"
    assert set(prepared) == {"pairs", "mono", "joined", "both"} and set(prepared.values()) == {("en", "ko")}
    trained = [Path(dict(pairwise(words))["--out"]).name for words in commands if words[0] == "train"]
    steps = [f"{step}-{seed}" for step in driver.STEPS for seed in driver.SEEDS]
    assert sorted(trained) == sorted(["mono", "back", *steps])
    assert [words[0] for words in commands].count("synthesise") == 1


def test_what_has_figures_is_not_run_again(driver: ModuleType, commands: list[list[str]], tmp_path: Path) -> None:
    driver.main()
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    (tmp_path / "results" / "low-resource" / "denoising-2.json").unlink()
    commands.clear()
    driver.main()
    trained = [Path(dict(pairwise(words))["--out"]).name for words in commands if words[0] == "train"]
    assert trained == ["mono", "denoising-2"]


def test_each_step_stands_beside_the_one_before(driver: ModuleType) -> None:
    scores = {"scratch": (10.0, 11.0, 12.0), "preset": (13.0, 14.0, 15.1), "denoising": (20.0, 20.0, 20.0)}
    found = {
        step: {seed: {"bleu": 1.0, "chrf": value} for seed, value in enumerate(values, 1)}
        for step, values in scores.items()
    }
    header, _, copied, scratch, preset, denoising = driver.table(found, (0.1, 1.5)).splitlines()
    assert header.count("|") == 6 and copied == "| the source, copied | 0.1 | 1.5 | | |"
    assert scratch == "| scratch | 1.0 | 11.0 |  | 3 |"
    assert preset.startswith("| preset | 1.0 | 14.0 | +3.0 (") and preset.endswith(") | 3 |")
    assert denoising == "| denoising | 1.0 | 20.0 |  | 3 |", "the step before it is not there"
