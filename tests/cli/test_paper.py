import json
from pathlib import Path

import pytest
from tests.support.command import Run


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch, "paper")


def test_figures_of_a_model_show_its_heads(run: Run, folder: Path, tmp_path: Path) -> None:
    line = ("figures", "--out", str(tmp_path / "figures"), "--model", str(folder), "--text", "what it is", "--json")
    code, out, err = run(*line)
    assert (code, err) == (0, "")
    files = json.loads(out)["files"]
    heads = [f"heads-{kind}.{form}" for kind in ("encoder", "decoder", "cross", "of-it") for form in ("svg", "png")]
    assert files[-len(heads) :] == heads
    assert all((tmp_path / "figures" / name).stat().st_size > 1000 for name in files)


def test_mistakes_are_told_before_anything_is_drawn(run: Run, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    code, _, err = run("figures", "--out", str(out), "--model", str(folder), "--text", " ")
    assert (code, err) == (2, "regard: the text is blank, so there is nothing to look at; give a sentence\n")
    code, _, err = run("figures", "--out", str(out), "--model", str(tmp_path / "none"))
    assert (code, err.count("\n"), "none" in err) == (2, 1, True)
    assert not out.exists()


def test_a_plot_of_an_unknown_kind_is_refused_before_anything_is_measured(run: Run, tmp_path: Path) -> None:
    code, out, err = run("table1", "--plot", str(tmp_path / "plot.gif"))
    assert (code, out) == (2, b"")
    assert "a picture ends in .svg, .png or .pdf" in err


@pytest.mark.slow
def test_table1_measures_every_layer(run: Run, tmp_path: Path) -> None:
    """The whole measurement, once; what a busy machine changes is not looked at."""
    code, out, err = run("table1", "--json", "--plot", str(tmp_path / "table1.svg"))
    assert (code, err) == (0, "")
    table = json.loads(out)
    assert {kind: layer["sequential"] for kind, layer in table.items()} == {
        "self-attention": 1, "recurrent": 256, "convolutional": 1, "separable": 1, "restricted": 1,
    }  # fmt: skip
    for layer in table.values():
        assert layer["path_by_n"] == layer["path_by_formula"]
        assert layer["path"] == layer["path_by_n"]["256"]
        assert 0.9 < layer["memory_exponent_n"] < 1.1
        assert layer["exponent_n"] > 0 < layer["exponent_d"]
    assert table["self-attention"]["memory_exponent_n_as_written"] == 2
    assert table["convolutional"]["contiguous_path_by_n"] == table["convolutional"]["contiguous_path_by_formula"]
    assert "others" not in table["recurrent"]
    assert (tmp_path / "table1.svg").stat().st_size > 1000
