"""The semi-supervised row of Table 4 on a handful of trees: both arms, resumed and reported."""

import json
from pathlib import Path

import pytest
from tests.support.command import regard
from tests.support.experiments import Watched

from regard.config.presets import preset_names
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.paper.experiment import FIGURES, read_experiment
from regard.paper.semi_supervised import Table4, Trees, run_table4

NOUNS, VERBS = ("cat", "dog", "fish", "bird"), ("sat", "ran", "slept", "sang")
GOLD = [f"((S (NP-SBJ (DT The) (NN {noun})) (VP (VBD {verb})) (. .)))" for noun in NOUNS for verb in VERBS]
SILVER = [f"(ROOT (S (NP (PRP We)) (VP (VBP see) (NP (DT a) (NN {noun}))) (. .)))" for noun in (*NOUNS, "시장")]
PLAN = """
preset = "parsing-small"
vocabulary = 300
seeds = [1, 2]

[arms]
gold = { gold = 1.0 }
both = { gold = 1.0, silver = 2.0 }

[set]
model = { encoder_layers = 1, decoder_layers = 1, d_model = 16, d_ff = 16, heads = 2 }
train = { steps = 2, warmup = 1, batch_tokens = 256, checkpoint_every = 2, accumulate = 1, log_every = 1 }
decode = { beam = 1, extra_length = 20 }
"""


@pytest.fixture
def files(tmp_path: Path) -> Trees:
    for name, trees in (("gold", GOLD), ("silver", SILVER)):
        (tmp_path / f"{name}.mrg").write_text("\n".join(trees) + "\n", encoding="utf-8")
    gold, silver = str(tmp_path / "gold.mrg"), str(tmp_path / "silver.mrg")
    return Trees(gold=[gold], silver=[silver], valid=gold, test=gold, agreement=silver)


@pytest.fixture
def plan(tmp_path: Path) -> Table4:
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return read_experiment(Table4, "table4", tmp_path / "plan.toml")


def test_both_arms_are_trained_measured_and_compared(
    plan: Table4, files: Trees, tmp_path: Path, watched: Watched
) -> None:
    out = tmp_path / "out"
    some = run_table4(plan, files, out, watched, watched.warn, arms=["gold"])
    assert list(some["arms"]) == ["gold"] and some["differences"] == {}
    report = run_table4(plan, files, out, watched, watched.warn)
    assert [name for name, _ in watched.runs] == ["gold-seed1", "gold-seed2", "both-seed1", "both-seed2"]
    assert [run["seed"] for run in report["arms"]["both"]["runs"]] == [1, 2]
    assert report["differences"]["both"].keys() == {"f1", "agreement"}
    assert json.loads((out / "semi-supervised.json").read_text()) == json.loads(json.dumps(report))
    assert "| both " in (out / "semi-supervised.md").read_text()

    weights = [corpus.weight for corpus in Prepared.open(out / "data" / "both").train]
    assert weights == [1.0, 2.0] and len(Prepared.open(out / "data" / "gold").train) == 1

    figures = json.loads((out / "gold-seed1" / FIGURES).read_bytes())
    (out / "gold-seed1" / FIGURES).write_text(json.dumps({**figures, "code": "0.1.0+0123456789ab"}), encoding="utf-8")
    again = run_table4(plan, files, out, watched, watched.warn, arms=["both"])
    assert [run["seed"] for run in again["arms"]["gold"]["runs"]] == [2]
    assert "other code" in watched.warnings[0] and len(watched.runs) == 4


def test_mistakes(plan: Table4, files: Trees, tmp_path: Path, watched: Watched) -> None:
    with pytest.raises(UserError, match="no arm is called 'golds'; did you mean 'gold'"):
        run_table4(plan, files, tmp_path / "out", watched, print, arms=["golds"])
    with pytest.raises(UserError, match="9 is not one of the plan's seeds: 1, 2"):
        run_table4(plan, files, tmp_path / "out", watched, print, seeds=[9])
    with pytest.raises(UserError, match="--run needs --silver"):
        regard("paper", "table4", "--run", "--gold", "x")
    with pytest.raises(UserError, match="--gold goes with --run"):
        regard("paper", "table4", "--gold", "x")


def test_the_plan_of_the_package() -> None:
    plan = read_experiment(Table4, "table4", None)
    assert plan.preset in preset_names() and len(plan.seeds) == 3
    assert list(plan.arms.values()) == [{"gold": 1.0}, {"gold": 1.0, "silver": 2.0}]
