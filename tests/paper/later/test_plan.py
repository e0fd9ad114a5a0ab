"""The plans of `regard paper later` are read, and wrong ones rejected."""

from pathlib import Path

import pytest

from regard.config.presets import preset
from regard.errors import UserError
from regard.paper.experiment import read_experiment
from regard.paper.later.plan import Later, Writing
from regard.paper.later.report import as_markdown
from regard.paper.later.run import chosen_rows

REPOSITORY = Path(__file__).parents[3]


@pytest.mark.parametrize("file", [None, REPOSITORY / "experiments" / "later.toml"])
def test_the_plans_name_presets_and_settings_that_exist(file: Path | None) -> None:
    plan = read_experiment(Later, "later", file)
    for row in plan.rows:
        preset(row.preset, **row.set)
    assert plan.rule and plan.listops is not None and plan.listops.lengths == (256, 512, 1024, 2048)
    for settings in plan.listops.mixings.values():
        preset("tiny", model={**plan.listops.set["model"], **settings})


def test_wrong_plans_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('steps = 2\nrule = "x"\n[[rows]]\nname = "b"\npreset = "tiny"\nheads_for = "a"\n')
    with pytest.raises(UserError, match="not a row before it"):
        read_experiment(Later, "later", path)


def test_rows_bring_those_that_they_give_heads_to() -> None:
    plan = read_experiment(Later, "later", None)
    assert [row.name for row in chosen_rows(plan, ["blocks"])] == ["transformer", "blocks"]
    with pytest.raises(UserError, match="did you mean 'mamba'"):
        chosen_rows(plan, ["mambo"])


def test_the_report_has_means_and_ranges() -> None:
    plan = read_experiment(Later, "later", None)
    written = {
        "writing": Writing(beam=1).name,
        "tokens_per_cpu_second": 10.0,
        "steps_a_sentence": 3,
        "tokens_a_step": 1,
    }
    runs = [
        {"row": "x", "seed": seed, "parameters": 5, "perplexity": 2.0, "tokens_per_second": 7.0,
         "writings": [{**written, "bleu": bleu}]}
        for seed, bleu in ((1, 10.0), (2, 20.0))
    ]  # fmt: skip
    text = as_markdown(plan, runs, [])
    assert "15.00 (10.00 to 20.00)" in text and "search, beam 1" in text and plan.rule in text
