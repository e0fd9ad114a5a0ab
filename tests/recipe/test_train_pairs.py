"""From pairs of texts to a measured model in one call and one command."""

import json
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from tests.support.command import regard

import regard as library
from regard.cli.train_pairs import table
from regard.config.checked import check
from regard.config.data import CorpusConfig
from regard.config.presets import read
from regard.data.prepared import Prepared, RawPair, held_out_texts, valid_texts
from regard.errors import UserError
from regard.recipe import train_pairs as train_pairs_module
from regard.recipe.outcome import advice
from regard.recipe.sides import check_sides
from regard.recipe.train_pairs import begin
from regard.train.log import records

WORDS = ["영", "하나", "둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉"]
SMALL = {
    "model": {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1},
    "train": {"steps": 12, "checkpoint_every": 4, "log_every": 2, "warmup": 2},
    "decode": {"beam": 1},
}
SETS = [
    word for name, keys in SMALL.items() for key, value in keys.items() for word in ("--set", f"{name}.{key}={value}")
]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """240 numbers in words, most of them twice with two translations, and a few hard texts."""
    folder = tmp_path_factory.mktemp("pairs")
    lines = [
        (f"number {n}", " ".join(WORDS[int(sign)] for sign in str(n)) + end) for n in range(120) for end in ("", "!")
    ]
    lines += [("שלום 7", "안녕 일곱"), ("e\u0301te\u0301 👩‍👩‍👧", "여름 👩‍👩‍👧")]
    files = folder / "a.en", folder / "a.ko"
    for side, file in enumerate(files):
        file.write_text("".join(f"{line[side]}\n" for line in lines), encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def outcome(pairs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return library.train_pairs(pairs, tmp_path_factory.mktemp("runs") / "x", time="60s", changes=SMALL, cores=1)


def test_a_run_from_python(outcome: Any, pairs: tuple[Path, Path]) -> None:
    run = outcome.model.parent
    data = Prepared.open(run / "data")
    assert outcome.tested == len(held_out_texts(run / "data")) >= 24 and data.languages == ("en", "ko")
    assert outcome.pairs + outcome.tested + len(valid_texts(run / "data")) == 242
    assert len(outcome.examples) == 10 and all(one.source and one.reference for one in outcome.examples)
    assert outcome.bleu.signature.startswith("nrefs:1") and 0 <= outcome.chrf.value <= 100
    assert outcome.advice and 0 <= outcome.minutes < 5 and outcome.final in ("mean", "best", "last")
    config = read(run / "run.toml")
    assert config.train.steps == 12 and config.model.vocabulary == data.source_subwords.size
    assert config.train.best == "loss" and not config.train.bleu, "BLEU of a few pairs is noise"
    assert library.load(outcome.model).translate("number 7") is not None
    assert json.loads(json.dumps(outcome.as_dict()))["plan"]["preset"] == "tiny"


def test_no_source_is_in_two_splits(outcome: Any, pairs: tuple[Path, Path]) -> None:
    folder = outcome.model.parent / "data"
    test, valid = ({pair.source for pair in texts(folder)} for texts in (held_out_texts, valid_texts))
    assert not test & valid
    data = Prepared.open(folder)
    trained = {
        data.source_subwords.decode(data.train[0].pair(at)[0].tolist()).strip() for at in range(len(data.train[0]))
    }
    assert not trained & (test | valid) and len(trained | test | valid) == 122
    both = [pair.target.endswith("!") for pair in held_out_texts(folder) if pair.source.startswith("number")]
    assert both.count(True) == both.count(False), "all translations of a sentence go together"


def test_the_same_call_resumes_and_another_is_refused(outcome: Any, pairs: tuple[Path, Path], tmp_path: Path) -> None:
    run = outcome.model.parent
    lines = len(list(records(run / "log.jsonl")))
    again = library.train_pairs(pairs, run, time=60, changes=SMALL)
    assert again.bleu == outcome.bleu and len(list(records(run / "log.jsonl"))) <= lines + 3
    with pytest.raises(UserError, match="begun with 1 minutes of time and can't change it"):
        library.train_pairs(pairs, run, time="2m", changes=SMALL)
    other = tmp_path / "other.tsv"
    other.write_text("a\tb\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"was made of .*a\.en .*--fresh"):
        library.train_pairs([other], run, changes=SMALL)


def test_the_command(pairs: tuple[Path, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tsv = tmp_path / "pairs.tsv"
    both = zip(*(file.read_text(encoding="utf-8").splitlines() for file in pairs), strict=True)
    tsv.write_text("".join("\t".join(pair) + "\n" for pair in both), encoding="utf-8")
    common = [
        "train",
        "--train",
        str(tsv),
        "--from-language",
        "en",
        "--to-language",
        "ko",
        "--out",
        str(tmp_path / "x"),
    ]
    text = regard(*common, "--time", "60s", *SETS)
    assert "which training never saw" in text and "BLEU" in text and "chrF" in text and "what would help" in text
    assert text.count("  source     ") == 10
    figures = json.loads(regard(*common, *SETS, "--json"))
    assert figures["tested"] >= 24 and figures["plan"]["reasons"]["steps"] and figures["bleu_signature"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--time", "5m", "--preset", "tiny"], "--time goes with --train"),
        (["--from-language", "en", "--preset", "tiny"], "--from-language goes with --train"),
        (["--train", "a.en", "--from", "en"], "--from has no place beside it; the languages are --from-language"),
        (["--train", "a.en", "--data", "d"], "--data has no place"),
        (["--train", "a.en"], "say where the run is kept"),
        (["--train", "a.en", "--out", "x", "--time", "soon"], "'soon' is not a time"),
        (["--train", "none.en", "none.ko", "--out", "x"], "none.en: no such file"),
        (["--train", "none.en", "none.ko", "--out", "x", "--set", "train.lr=1"], "did you mean 'train.peak_rate'"),
    ],
)
def test_mistakes(arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.en").write_text("a\tb\n")
    with pytest.raises(UserError, match=message):
        regard("train", *arguments)
    assert not (tmp_path / "x").exists()


def test_sides_that_are_the_wrong_way_round(tmp_path: Path) -> None:
    lines = {
        "en": ["Where is the station?", "I lost my keys.", "She likes tea."],
        "ko": ["역이 어디예요?", "열쇠를 잃어버렸어.", "그녀는 차를 좋아해요."],
    }
    for code, wrong in (("en", "ko"), ("ko", "en")):
        (tmp_path / f"a.{code}").write_text("".join(f"{line}\n" for line in lines[wrong]), encoding="utf-8")
    files = [str(tmp_path / "a.en"), str(tmp_path / "a.ko")]
    with pytest.raises(UserError, match=r"a\.en .*a\.ko: the source side looks like ko and the target side like en"):
        library.train_pairs(files, tmp_path / "x")
    assert not (tmp_path / "x" / "data").exists()
    check_sides([check(CorpusConfig, {"files": files}, "")], "ko", "en")
    check_sides([check(CorpusConfig, {"files": files}, "")], "en", None)
    check_sides([check(CorpusConfig, {"files": ["-"]}, "")], "en", "ko")


def test_a_useless_model_is_told(outcome: Any) -> None:
    for value, told in ((19.0, True), (21.0, False)):
        made = replace(outcome, chrf=replace(outcome.chrf, value=value))
        assert ("do not rely on this model" in table(made)) == told
    data = Prepared.open(outcome.model.parent / "data")
    log = [{"event": "validation", "nll": 3.9}, {"event": "train", "step": 9, "nll": 3.8, "tokens": 1 << 40}]
    assert advice(log, data, outcome.plan, 9, 19.0)[-1].endswith("low-resource.md")
    assert not any("low-resource.md" in line for line in advice(log, data, outcome.plan, 9, 21.0))


def test_a_folder_that_was_not_a_run_is_left_alone(pairs: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="not a run"):
        begin([], [], tmp_path / "mine", {}, changes={})


@pytest.mark.parametrize(
    ("losses", "trained", "dropped", "first"),
    [
        ([5.0, 4.0, 3.5, 3.2, 3.0, 2.8], 2.7, {}, "more time"),
        ([5.0, 4.0, 3.9, 3.9, 3.9, 3.9], 1.0, {}, "more pairs"),
        ([5.0, 4.0, 3.9, 3.9, 3.9, 3.9], 3.8, {"length ratio": 100}, "cleaner pairs"),
        ([5.0, 4.0, 3.9, 3.9, 3.9, 3.9], 3.8, {}, "more pairs"),
    ],
)
def test_advice(outcome: Any, losses: list[float], trained: float, dropped: dict[str, int], first: str) -> None:
    data = Prepared.open(outcome.model.parent / "data")
    split = data.report.train[0]
    data.report = data.report.model_copy(update={"train": (split.model_copy(update={"dropped": dropped}),)})
    log: list[dict[str, Any]] = [{"event": "validation", "nll": loss} for loss in losses]
    total = split.source.tokens + split.target.tokens
    log.append({"event": "train", "step": 9, "nll": trained, "tokens": 20 * total, "seconds": 1.0})
    assert advice(log, data, outcome.plan, 9)[0].startswith(first)


@pytest.mark.parametrize(
    ("passes", "trained", "first"), [(4, 3.5, "more time"), (20, 3.5, "more p"), (4, 1.0, "more p")]
)
def test_advice_of_a_run_that_the_clock_ended(outcome: Any, passes: int, trained: float, first: str) -> None:
    """A cosine lets the loss stand still at its end, however few passes there were: 42 may help for 194 pairs."""
    data = Prepared.open(outcome.model.parent / "data")
    total = sum(split.source.tokens + split.target.tokens for split in data.report.train)
    log: list[dict[str, Any]] = [{"event": "validation", "nll": loss} for loss in (4.0, 3.6, 3.5, 3.5)]
    log.append({"event": "train", "step": 9, "nll": trained, "tokens": passes * total, "seconds": 1.0})
    found = advice(log, data, outcome.plan, 9)[0]
    assert found.startswith(first)
    if first == "more time":
        assert "4.0 passes over the pairs, of 42" in found and found.endswith("--time 3m --fresh")


def test_the_speed_is_that_of_the_batches_that_are_chosen(
    data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    speeds = {1024: 10_000.0, 512: 7_000.0}

    def speed(_: Prepared, name: str, changes: Any, *, batch: int, seconds: float) -> float:
        assert changes["train"]["precision"] == "bf16", "what was asked for is measured"
        return speeds[batch]

    monkeypatch.setattr(train_pairs_module, "tokens_per_second", speed)
    changes = {"train": {"precision": "bf16"}}
    made = train_pairs_module._planned(tmp_path / "plan.json", data, 60.0, perf_counter(), None, changes)
    assert made.settings["train"]["batch_tokens"] == 512 and made.tokens_per_second == 7_000
    assert "(7,000 tokens/s on this machine)" in made.reasons["model"]


@pytest.mark.parametrize(
    ("made", "trained", "event", "first"),
    [
        (700, 3.5, "time is up", "more time: the time was up after 700 of 1,000 planned steps"),
        (900, 3.5, "time is up", "more pairs"),
        (700, 1.0, "time is up", "more pairs"),
        (700, 3.5, "early stop", "more pairs"),
    ],
)
def test_advice_of_a_run_that_made_fewer_steps_than_planned(
    outcome: Any, made: int, trained: float, event: str, first: str
) -> None:
    data = Prepared.open(outcome.model.parent / "data")
    total = sum(split.source.tokens + split.target.tokens for split in data.report.train)
    log: list[dict[str, Any]] = [{"event": "validation", "nll": loss, "step": made} for loss in (4.0, 3.5, 3.5, 3.5)]
    log += [{"event": "train", "step": made, "nll": trained, "tokens": 20 * total, "seconds": 1.0}]
    log += [{"event": event, "step": made}]
    found = advice(log, data, outcome.plan, 1000)[0]
    assert found.startswith(first)
    if first.startswith("more time"):
        assert found.endswith("--time 86s --fresh"), "60 s were 700 of 1,000 steps"
    log += [{"event": "train", "step": 1000, "nll": trained, "tokens": 20 * total, "seconds": 1.0}]
    assert advice(log, data, outcome.plan, 1000)[0].startswith("more pairs"), "it was resumed with more time"


def test_the_report_says_how_many_of_the_planned_steps_were_made(outcome: Any) -> None:
    assert outcome.planned == outcome.trained == 12 and "\nsteps     12\n" in table(outcome)
    assert "\nsteps     12 of 2,000 that were planned\n" in table(replace(outcome, planned=2000))


def test_a_run_that_the_clock_ends_says_so(pairs: tuple[Path, Path], tmp_path: Path) -> None:
    changes = {**SMALL, "train": {**SMALL["train"], "steps": 100_000, "max_minutes": 0.001}}
    found = library.train_pairs(pairs, tmp_path / "x", time="60s", changes=changes, cores=1)
    assert found.planned == 100_000 and 0 < found.trained < 100_000
    assert found.advice[0].startswith(f"more time: the time was up after {found.trained:,} of 100,000 planned steps")


def test_held_out_texts_of_older_data(tmp_path: Path) -> None:
    assert held_out_texts(tmp_path) == []
    (tmp_path / "test.jsonl").write_text('{"source": "a", "target": "b", "tag": null}\n')
    assert held_out_texts(tmp_path) == [RawPair("a", "b", None)]
