import math
from pathlib import Path

import torch

from regard.paper.figures import draw_two_positions, masked_example, write_figures

DRAWN = [
    "positions-alike-and-unlike",
    "positions-by-dimension",
    "positions-table",
    "causal-mask",
    "learning-rate",
    "gradients",
]


def test_every_figure_is_written_as_svg_and_png(tmp_path: Path) -> None:
    names = write_figures(tmp_path / "new" / "figures", None, "")
    assert names == [f"{name}.{form}" for name in DRAWN for form in ("svg", "png")]
    assert sorted(path.name for path in (tmp_path / "new" / "figures").iterdir()) == sorted(names)


def test_a_figure_is_the_same_when_it_is_drawn_again(tmp_path: Path) -> None:
    draw_two_positions(tmp_path / "one.svg")
    draw_two_positions(tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_causal_mask_hides_what_comes_later_and_nothing_else() -> None:
    words, scores_TS, masked_TS, weights_TS = masked_example()
    later_TS = torch.ones(len(words), len(words), dtype=torch.bool).triu(1)
    assert (masked_TS[later_TS] == -math.inf).all()
    assert torch.equal(masked_TS[~later_TS], scores_TS[~later_TS])
    assert (weights_TS[later_TS] == 0).all()
    torch.testing.assert_close(weights_TS, masked_TS.softmax(-1))
