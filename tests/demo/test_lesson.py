"""How the demo's model is examined, and that it writes over nothing else."""

from pathlib import Path

import pytest

from regard.demo.dates import LANGUAGES, DateExample, task
from regard.demo.lesson import Answered, Drawn, by_language, exact_match, learn
from regard.errors import UserError
from regard.train.log import Silence


def test_a_folder_of_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("mine")
    with pytest.raises(UserError, match="is no earlier demo; choose another --out"):
        learn(task(1, train=10, held_out=2), tmp_path, 1, Silence())
    assert [path.name for path in tmp_path.iterdir()] == ["train.tsv"] and (
        tmp_path / "train.tsv"
    ).read_text() == "mine"


def test_exact_match_is_the_share_that_is_right() -> None:
    answered = [
        Answered(DateExample("", "2025-05-03", language), "2025-05-03" if language != "German" else "2025-05-04")
        for language in LANGUAGES
    ]
    assert exact_match(answered) == 5 / 6
    assert by_language(answered) == {language: float(language != "German") for language in LANGUAGES}


def test_the_strongest_source_token_of_each() -> None:
    assert Drawn(["a", "b"], ["x", "y"], [[0.1, 0.9], [0.6, 0.4]]).pairs == [(1, 0), (0, 1)]
