"""The models before the Transformer: as large, measured after the same steps and the same time; also when killed."""

import json
from pathlib import Path

import pytest
from tests.support.experiments import Watched, kill_at
from tests.support.lineage import SET, run

from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.model.cost import cost
from regard.paper.experiment import Figures, read_experiment, sample_of
from regard.paper.lineage import Lineage, Moments, later_moments, run_lineage, sized, step_at
from regard.paper.lineage_report import as_markdown, fixed_context, write_lineage


def test_all_models_are_as_large_as_the_first(data: Prepared) -> None:
    configs = sized(read_experiment(Lineage, "lineage", None), data)
    sizes = {name: cost(config.model).parameters for name, config in configs.items()}
    assert len(sizes) == 9
    assert all(abs(size / sizes["tiny"] - 1) < 0.04 for size in sizes.values()), sizes
    assert len({config.train.steps for config in configs.values()}) == 1


def test_same_steps_and_same_time(data: Prepared, tmp_path: Path, watched: Watched) -> None:
    outcomes = run(data, tmp_path, watched)
    first = outcomes["tiny"]
    assert isinstance(first, Moments) and first.steps == first.time and first.steps.step == 6
    for name, found in outcomes.items():
        assert isinstance(found, Moments), found
        assert found.steps.step == 6 and found.time.step % 2 == 0
        assert found.time.seconds >= first.steps.seconds
        log = [json.loads(line) for line in (tmp_path / name / "log.jsonl").read_text().splitlines()]
        seconds = {line["step"]: line["seconds"] for line in log if line["event"] == "train"}
        assert seconds[found.time.step] == found.time.seconds
    report = write_lineage(tmp_path, outcomes)
    assert report["models"]["rnn"]["same_steps"]["step"] == 6
    assert {path.name for path in tmp_path.glob("lineage*")} == (
        {"lineage.json", "lineage.md", "lineage-length.svg", "lineage-time.svg"}
    )

    again = Watched()
    assert run(data, tmp_path, again) == outcomes and again.runs == [], "what is done is not done again"
    some = run(data, tmp_path, again, "rnn", fresh=True)
    assert {name for name, _ in again.runs} == {"rnn"}
    assert some.keys() == outcomes.keys(), "the report is of all that is done"
    assert all(some[name] == outcomes[name] for name in ("tiny", "lstm-attention", "feedforward"))


def test_a_time_that_the_first_model_no_longer_has_is_measured_anew(data: Prepared, tmp_path: Path) -> None:
    found = run(data, tmp_path, Watched(), "feedforward")["feedforward"]
    assert isinstance(found, Moments)
    later = found.time.seconds + 0.2
    for name in ("same-steps.json", "same-time.json"):
        figures = json.loads((tmp_path / "tiny" / name).read_text())
        (tmp_path / "tiny" / name).write_text(json.dumps({**figures, "seconds": later}))
    again = run(data, tmp_path, Watched(), "feedforward")["feedforward"]
    assert isinstance(again, Moments)
    assert again.steps == found.steps and again.time.seconds >= later > found.time.seconds


def test_another_text_to_measure_on_is_noticed(data: Prepared, tmp_path: Path) -> None:
    """Also if its file is called the same."""
    samples = []
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        for name, text in (("a", "en 12\nko 34\n"), ("b", f"{folder}\n삼 사\n")):
            (tmp_path / folder / name).write_text(text, encoding="utf-8")
        samples.append(sample_of(data, (str(tmp_path / folder / "a"), str(tmp_path / folder / "b"))))
    alone = Lineage(models=("tiny",), set=SET)
    found = [
        run_lineage(alone, [], data, tmp_path / "out", sample, Watched(), print, fresh=False)["tiny"]
        for sample in samples
    ]
    assert samples[0].name == samples[1].name and found[0] != found[1]


def test_the_later_moment_tells_how_long_a_model_took(data: Prepared, tmp_path: Path, watched: Watched) -> None:
    found = run(data, tmp_path, watched, "tiny")["tiny"]
    assert isinstance(found, Moments)
    slow = found.steps.model_copy(update={"seconds": 600.0})
    later = later_moments(["rnn", "gru", "lstm"], {"rnn": Moments(slow, found.time), "gru": "failed", "convs2s": found})
    assert later == {"rnn": slow, "gru": "failed"}


def test_mistakes(data: Prepared, tmp_path: Path, watched: Watched) -> None:
    with pytest.raises(UserError, match="no model here is called 'rn'; did you mean 'rnn'"):
        run(data, tmp_path, watched, "rn")
    falling = {**SET, "train": {**SET["train"], "schedule": "cosine"}}
    with pytest.raises(UserError, match="^tiny: a cosine falls to 0 at the last step"):
        sized(Lineage(models=("tiny", "rnn"), set=falling), data)


CODE = """
import sys
from pathlib import Path
from tests.support.experiments import Watched
from tests.support.lineage import run
from regard.data.prepared import Prepared
run(Prepared.open(sys.argv[1]), Path(sys.argv[2]), Watched(), "rnn")
"""


@pytest.mark.slow
def test_killed_inside_a_model(digits: Path, data: Prepared, tmp_path: Path) -> None:
    kill_at(tmp_path / "rnn/checkpoints/step-00000002", CODE, str(digits), str(tmp_path))
    outcomes = run(data, tmp_path, Watched(), "rnn")
    found = outcomes["rnn"]
    assert isinstance(found, Moments) and found.steps.step == 6


def log(run: Path, *lines: tuple[int, float]) -> None:
    records = [{"step": step, "event": "train", "seconds": seconds, "tokens": 1} for step, seconds in lines]
    (run / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


class TestStepAt:
    def test_a_first_leg_tells_the_pace(self, tmp_path: Path) -> None:
        assert step_at(tmp_path, 100, 50.0) == 100

    def test_then_half_the_way_each_time(self, tmp_path: Path) -> None:
        log(tmp_path, (50, 5.0), (100, 10.0))
        assert step_at(tmp_path, 100, 54.0) == 300, "44 s are 440 steps, and half of them whole checkpoints 200"
        log(tmp_path, (100, 10.0), (500, 50.0), (550, 55.0))
        assert step_at(tmp_path, 100, 54.0) == 600, "what is no checkpoint does not count"

    def test_there(self, tmp_path: Path) -> None:
        log(tmp_path, (500, 50.0), (600, 60.0))
        assert step_at(tmp_path, 100, 54.0) == 600

    def test_beyond(self, tmp_path: Path) -> None:
        log(tmp_path, (500, 50.0), (600, 60.0))
        with pytest.raises(UserError, match=f"went on beyond 40 seconds .* --models {tmp_path.name} --fresh"):
            step_at(tmp_path, 100, 40.0)


def test_one_vector_in_words(data: Prepared, tmp_path: Path, watched: Watched) -> None:
    found = run(data, tmp_path, watched, "rnn")["tiny"]
    assert isinstance(found, Moments)

    def with_lengths(*values: float) -> Figures:
        pairs = zip(("0-10", "21-30"), values, strict=True)
        words = [{"words": name, "sentences": 50, "bleu": bleu} for name, bleu in pairs]
        rare = {"words": "31-40", "sentences": 3, "bleu": 99.0}
        return Figures.model_validate({**found.steps.model_dump(), "by_length": [*words, rare]})

    models = {"lstm": with_lengths(30, 5), "lstm-attention": with_lengths(31, 28), "gru": with_lengths(1, 1)}
    assert fixed_context(models) == [
        "- lstm from 30.0 BLEU (0-10 words) to 5.0 (21-30), "
        "and lstm-attention from 31.0 BLEU (0-10 words) to 28.0 (21-30)."
    ]
    assert "wild failed: not finite" in as_markdown({"tiny": found, "wild": "not finite"})
