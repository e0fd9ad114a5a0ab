"""What is published is what PAPER.md says, for all three tables of it."""

import re
from pathlib import Path

import pytest

from regard.config.presets import paper_figures
from regard.paper.experiment import read_experiment
from regard.paper.published import published
from regard.paper.table3.plan import Table3, rows_at


@pytest.fixture(scope="module")
def sections(corpora: Path) -> dict[int, list[dict[str, str]]]:
    """The tables of PAPER.md by section, each row by its heads."""
    page = corpora.parent / "PAPER.md"
    if not page.is_file():
        pytest.skip("PAPER.md is not here")
    found = {}
    for part in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        lines = [[cell.strip() for cell in line[1:-1].split("|")] for line in part.splitlines() if line[:1] == "|"]
        if lines:
            found[int(part[0])] = [dict(zip(lines[0], row, strict=True)) for row in lines[2:]]
    return found


def number(cell: str) -> float | None:
    return float(cell) if cell else None


def test_table2(sections: dict[int, list[dict[str, str]]]) -> None:
    assert len(sections[4]) == len(published().table2) == 10
    for theirs, row in zip(sections[4], published().table2, strict=True):
        assert row.model == theirs["model"]
        for pair, name in (("en-de", "En-De"), ("en-fr", "En-Fr")):
            assert row.bleu.get(pair) == number(theirs[f"BLEU {name}"])
            assert row.flops.get(pair) == number(theirs[f"FLOPs {name}"])


def test_table3(sections: dict[int, list[dict[str, str]]]) -> None:
    """Figures and settings of every row, in order."""
    table = read_experiment(Table3, "table3", None)
    configs = dict(rows_at(table, "full"))
    sizes = {"N": "encoder_layers", "d_model": "d_model", "d_ff": "d_ff", "h": "heads", "d_k": "d_k", "d_v": "d_v"}
    assert [row["row"] for row in sections[5]] == [name.partition("-")[0] for name in table.rows]
    for theirs, name in zip(sections[5], table.rows, strict=True):
        paper = paper_figures(name)
        assert paper is not None
        assert (paper.ppl, paper.bleu, paper.parameters) == tuple(
            number(theirs[head]) for head in ("PPL", "BLEU", "params (M)")
        )
        config = configs[f"{name}-seed1"]
        for head, key in sizes.items():
            if theirs[head].isdigit():
                assert getattr(config.model, key) == int(theirs[head]), name
        if theirs["dropout"]:
            assert config.model.dropout == float(theirs["dropout"])
        if theirs["smoothing"]:
            assert config.train.label_smoothing == float(theirs["smoothing"])
    assert configs["E-seed1"].model.positions == "learned"


def test_table4(sections: dict[int, list[dict[str, str]]]) -> None:
    ours = [(row.parser, row.training, row.f1) for row in published().table4]
    assert ours == [(row["parser"], row["training"], float(row["F1"])) for row in sections[6]]
