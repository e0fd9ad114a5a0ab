"""The model that is written is the best that was found, and is named with its own score."""

import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import Interrupted
from regard.files import sha256
from regard.train import checkpoint
from regard.train.final import average_run, candidates, ranked
from regard.train.log import Silence, read_history, records, written
from regard.train.loop import train
from regard.train.run import settle
from regard.train.step import Update


def run(config: Config, data: Prepared, out: Path, bleu: Iterator[float] | None = None, **values: Any) -> Path:
    """A run with final = auto, whose validations find these BLEU scores: at steps 4, 8 and 12, then the mean's."""
    settings = config.train.model_copy(update={"final": "auto", "bleu": bleu is not None, **values})
    config = settle(config.model_copy(update={"train": settings}), data)
    train(config, data, out, validator=None if bleu is None else lambda _: {"bleu": next(bleu)})
    return out


def weights_of(out: Path, step: int) -> str:
    return sha256(checkpoint.folder(out / "checkpoints", step) / "model.safetensors")


@pytest.mark.parametrize(
    ("scores", "name", "steps"),
    [
        ([10.0, 30.0, 20.0, 40.0], "mean", [8, 12]),
        ([10.0, 30.0, 20.0, 25.0], "best", [8]),
        ([10.0, 20.0, 30.0, 25.0], "best", [12]),
        ([0.9, 0.3, 0.2, 0.1], None, None),  # noise: the loss decides
    ],
)
def test_the_better_of_mean_best_and_last_by_bleu(
    config: Config, data: Prepared, tmp_path: Path, scores: list[float], name: str | None, steps: list[int] | None
) -> None:
    out = run(config, data, tmp_path / "run", iter(scores), best="bleu")
    record = written(out)
    assert record is not None
    if name is None:
        losses = [line["nll"] for line in records(out / "log.jsonl") if line["event"] in ("validation", "mean")]
        assert record["nll"] == min(losses)
        return
    assert (record["final"], record["mean_of"], record["bleu"]) == (name, steps, max(scores))
    card = (out / "model" / "README.md").read_text(encoding="utf-8")
    assert f"on {sum(map(len, data.train)):,} pairs.\n" in card
    assert f"On the validation set, this model: BLEU {max(scores):.4g}" in card
    if name == "best" and steps is not None:
        assert sha256(out / "model" / "model.safetensors") == weights_of(out, steps[0])
        assert "the mean instead: BLEU 25" in card
    summary = read_history(out)["summary"]
    assert (summary["final"], summary["model_bleu"]) == (name, max(scores))
    assert average_run(out, tmp_path / "again", None, print) == steps
    assert sha256(tmp_path / "again" / "model.safetensors") == sha256(out / "model" / "model.safetensors")


@pytest.mark.parametrize(("losses", "name"), [([3.0, 2.0, 2.5, 2.2], "best"), ([3.0, 2.0, 2.5, 1.9], "mean")])
def test_by_loss_where_bleu_is_not_measured(
    config: Config, data: Prepared, tmp_path: Path, losses: list[float], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter(losses)
    monkeypatch.setattr("regard.train.loop.validation_losses", lambda *_: (next(found),) * 2)
    record = written(run(config, data, tmp_path / "run"))
    assert record is not None and (record["final"], record["nll"]) == (name, min(losses))


def test_the_last_by_name_and_the_mean_by_name_have_their_own_scores(
    config: Config, data: Prepared, tmp_path: Path
) -> None:
    for name, score in (("last", 20.0), ("mean", 25.0), ("best", 30.0)):
        record = written(run(config, data, tmp_path / name, iter([10.0, 30.0, 20.0, 25.0]), final=name, best="bleu"))
        assert record is not None and (record["final"], record["bleu"]) == (name, score)


def test_early_checkpoints_are_not_in_the_mean(config: Config, data: Prepared, tmp_path: Path) -> None:
    out = run(config, data, tmp_path / "run", steps=20, average_last=5, final="mean", keep_last=5)
    assert checkpoint.steps(out / "checkpoints") == [4, 8, 12, 16, 20]
    record = written(out)
    assert record is not None and record["mean_of"] == [12, 16, 20]
    assert average_run(out, tmp_path / "asked", 5, print) == [4, 8, 12, 16, 20], "who asks for five gets five"


def test_a_finished_run_is_not_validated_again(config: Config, data: Prepared, tmp_path: Path) -> None:
    out = run(config, data, tmp_path / "run", iter([10.0, 20.0, 30.0, 40.0]))
    before = sha256(out / "model" / "model.safetensors")
    run(config, data, out, iter([]))
    assert sha256(out / "model" / "model.safetensors") == before


def test_without_a_validation_set_it_is_the_mean(config: Config, data: Prepared, tmp_path: Path) -> None:
    data.valid = None
    record = written(run(config, data, tmp_path / "run"))
    assert record is not None and (record["final"], record["mean_of"]) == ("mean", [8, 12]) and "nll" not in record


class StopAtSeven(Silence):
    """Stops a run before the validation of step 8."""

    def step(self, number: int, update: Update) -> None:
        if number == 7:
            signal.raise_signal(signal.SIGTERM)


def test_a_stopped_run_writes_the_same_model(config: Config, data: Prepared, tmp_path: Path) -> None:
    whole = run(config, data, tmp_path / "whole")
    settings = settle(config.model_copy(update={"train": config.train.model_copy(update={"final": "auto"})}), data)
    with pytest.raises(Interrupted):
        train(settings, data, tmp_path / "stopped", observer=StopAtSeven())
    train(settings, data, tmp_path / "stopped")
    assert sha256(tmp_path / "stopped/model/model.safetensors") == sha256(whole / "model" / "model.safetensors")
    names = [written(one) for one in (whole, tmp_path / "stopped")]
    assert names[0] is not None and names[1] is not None and names[0]["final"] == names[1]["final"]


def test_ranking() -> None:
    assert ranked({"mean": {"bleu": 2.0, "nll": 9.0}, "last": {"bleu": 3.0, "nll": 9.0}}) == ["last", "mean"]
    assert ranked({"mean": {"bleu": 0.9, "nll": 2.0}, "last": {"bleu": 0.1, "nll": 1.0}}) == ["last", "mean"], "noise"
    assert ranked({"mean": {"nll": 2.0}, "last": {"bleu": 0.1, "nll": 1.0}}) == ["last", "mean"], (
        "one was not translated"
    )
    assert ranked({"mean": {"nll": None}, "last": {"nll": 1.0}}) == ["last", "mean"]
    both = {"mean": {"bleu": 9.0, "chrf": 16.2, "nll": 1.0}, "last": {"bleu": 8.0, "chrf": 16.3, "nll": 2.0}}
    assert ranked(both, "chrf") == ["last", "mean"]
    noise = {"mean": {"chrf": 3.2, "nll": 1.0}, "last": {"chrf": 14.9, "nll": 2.0}}
    assert ranked(noise, "chrf") == ["mean", "last"], "a chrF below 15 says nothing"
    assert ranked(both, "bleu") == ranked(both, None) == ["mean", "last"]


@pytest.mark.parametrize("stopped", [False, True])
def test_chrf_chooses_where_it_is_the_measure_of_the_best(
    config: Config, data: Prepared, tmp_path: Path, stopped: bool
) -> None:
    """At steps 4, 8 and 12, then of the mean of the last two; BLEU says otherwise. A stopped run remembers the best."""
    settings = config.train.model_copy(update={"final": "auto", "bleu": True, "best": "chrf"})
    config = settle(config.model_copy(update={"train": settings}), data)
    found = iter([(0.0, 40.0), (9.0, 20.0), (8.0, 30.0), (10.0, 35.0)])

    def validator(_: object) -> dict[str, float]:
        bleu, chrf = next(found)
        return {"bleu": bleu, "chrf": chrf}

    if stopped:
        with pytest.raises(Interrupted):
            train(config, data, tmp_path / "run", validator=validator, observer=StopAtSeven())
    for _ in range(2):  # the second time, nothing is validated again
        train(config, data, tmp_path / "run", validator=validator)
    validations = [line for line in records(tmp_path / "run/log.jsonl") if line["event"] == "validation"]
    assert [line["best"] for line in validations] == [True, False, False]
    record = written(tmp_path / "run")
    assert record is not None and (record["final"], record["mean_of"], record["chrf"]) == ("best", [4], 40.0)
    newest = checkpoint.newest(tmp_path / "run" / "checkpoints", print)
    assert newest is not None and (newest.progress.best_step, newest.progress.best_chrf) == (4, 40.0)
    card = (tmp_path / "run/model/README.md").read_text(encoding="utf-8")
    assert "this model: BLEU 0, chrF 40," in card and "the best by chrf on the validation set" in card
    summary = read_history(tmp_path / "run")["summary"]
    assert (summary["best_chrf"], summary["model_chrf"], summary["best_bleu"]) == (40.0, 40.0, 0.0)


def test_candidates_are_different(config: Config, data: Prepared, tmp_path: Path) -> None:
    out = run(config, data, tmp_path / "run")
    settings = config.model_copy(update={"train": config.train.model_copy(update={"final": "auto"})})
    assert candidates(out, settings, 12) == {"mean": [8, 12], "best": [12]}
    assert candidates(out, settings, 8) == {"mean": [8, 12], "best": [8], "last": [12]}
    one = settings.model_copy(update={"train": settings.train.model_copy(update={"average_last": 1})})
    assert candidates(out, one, None) == {"last": [12]}


def test_the_rate_has_fallen_when_time_is_up(
    config: Config, data: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that advances by 50 ms at each look: a step takes 50 ms, and 60 steps or so are all that 3 s allow."""
    ticks = count()
    monkeypatch.setattr("regard.train.loop.perf_counter", lambda: 0.05 * next(ticks))
    rates: list[float] = []

    class Watch(Silence):
        def step(self, number: int, update: Update) -> None:
            rates.append(update.rate)

    planned = {"steps": 100_000, "max_minutes": 0.05, "checkpoint_every": 10}
    schedule = {"schedule": "cosine", "peak_rate": 0.01, "warmup": 1, "patience": None}
    settings = settle(
        config.model_copy(update={"train": config.train.model_copy(update={**planned, **schedule})}), data
    )
    train(settings, data, tmp_path / "run", observer=Watch())
    assert 40 < len(rates) < 60 and rates[0] == pytest.approx(0.01) and rates == sorted(rates, reverse=True)
    assert rates[-1] < 0.0001, "though a hundred thousand steps were planned"


def test_time_is_up(config: Config, data: Prepared, tmp_path: Path) -> None:
    out = run(config, data, tmp_path / "run", steps=100_000, max_minutes=0.001)
    events = [record["event"] for record in records(out / "log.jsonl")]
    last = checkpoint.steps(out / "checkpoints")[-1]
    assert "time is up" in events and events[-1] == "model" and last < 100_000
    assert [record["step"] for record in records(out / "log.jsonl") if record["event"] == "validation"][-1] == last
    run(config, data, out, steps=100_000, max_minutes=0.001)
    assert checkpoint.steps(out / "checkpoints")[-1] == last, "it is over"
