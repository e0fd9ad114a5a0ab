"""The plans of `regard paper later` are read, and wrong ones rejected."""

from pathlib import Path

import pytest

from regard.config.presets import preset
from regard.errors import UserError
from regard.paper.experiment import read_experiment
from regard.paper.later.plan import Later, Writing, chosen_runs, runs_of
from regard.paper.later.report import as_markdown, less_sequential


def test_the_plan_names_presets_and_settings_that_exist() -> None:
    plan = read_experiment(Later, "later", None)
    for row in plan.rows:
        preset(row.preset, **row.set)
    assert plan.rule and plan.listops is not None and plan.listops.lengths == (256, 512, 1024, 2048)
    for settings in plan.listops.mixings.values():
        preset("tiny", model={**plan.listops.set["model"], **settings})


def test_every_length_is_trained_on_as_many_tokens() -> None:
    task = read_experiment(Later, "later", None).listops
    assert task is not None
    for length in (*task.lengths, 16):
        assert task.batch_tokens(length) >= 8 * length
        read = task.steps(length) * task.batch_tokens(length)
        assert task.tokens - task.batch_tokens(length) < read <= task.tokens


def test_wrong_plans_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('steps = 2\nrule = "x"\n[[rows]]\nname = "b"\npreset = "tiny"\nheads_for = "a"\n')
    with pytest.raises(UserError, match="not a row before it"):
        read_experiment(Later, "later", path)
    first = 'steps = 2\nrule = "x"\n[[rows]]\nname = "a"\npreset = "tiny"\n'
    path.write_text(f'{first}[[rows]]\nname = "b"\npreset = "tiny"\nheads_for = "a"\nseeds = [1, 2]\n')
    with pytest.raises(UserError, match="has seeds that a lacks"):
        read_experiment(Later, "later", path)


def test_rows_bring_those_that_they_give_heads_to() -> None:
    plan = read_experiment(Later, "later", None)
    assert [run.name for run in chosen_runs(plan, ["blocks"])] == ["transformer-1", "blocks-1"]
    with pytest.raises(UserError, match="did you mean 'mamba'"):
        chosen_runs(plan, ["mambo"])


def test_runs_are_asked_for_one_by_one_or_in_groups() -> None:
    plan = read_experiment(Later, "later", None)
    names = [run.name for run in runs_of(plan)]
    assert len(set(names)) == len(names) and names[:4] == [
        "transformer-1",
        "transformer-2",
        "transformer-3",
        "blocks-1",
    ]
    assert [run.name for run in chosen_runs(plan, [])] == names
    assert [run.name for run in chosen_runs(plan, ["mamba"])] == ["mamba-1", "mamba-2", "mamba-3"]
    assert [run.name for run in chosen_runs(plan, ["listops-512-1-mamba", "mamba-2"])] == [
        "mamba-2",
        "listops-512-1-mamba",
    ]
    at_512 = [run.name for run in chosen_runs(plan, ["listops-512"])]
    assert at_512 == [f"listops-512-1-{name}" for name in plan.listops.mixings]  # type: ignore[union-attr]
    assert set(at_512) < {run.name for run in chosen_runs(plan, ["listops"])}


def test_the_report_has_means_and_ranges() -> None:
    plan = read_experiment(Later, "later", None)
    written = {
        "writing": Writing(beam=1).name,
        "tokens_per_cpu_second": 10.0,
        "steps_a_sentence": 3,
        "tokens_a_step": 1,
    }
    runs = [
        {"row": "x", "seed": seed, "parameters": 5, "perplexity": 2.0, "tokens_per_cpu_second": 7.0,
         "writings": [{**written, "bleu": bleu}]}
        for seed, bleu in ((1, 10.0), (2, 20.0))
    ]  # fmt: skip
    text = as_markdown(plan, runs)
    assert "15.00 (10.00 to 20.00)" in text and "search, beam 1" in text and plan.rule in text


def test_the_picture_has_the_first_row_and_those_with_fewer_steps() -> None:
    curves = {"a": [(10.0, [1.0])], "b": [(9.9, [1.0])], "c": [(1.0, [1.0]), (12.0, [1.0])], "d": [(11.0, [1.0])]}
    assert list(less_sequential(curves)) == ["a", "c"]
