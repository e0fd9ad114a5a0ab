import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli.demo import english, german, korean
from regard.cli.main import app


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, ("zero", "null", "영")),
        (7, ("seven", "sieben", "칠")),
        (10, ("ten", "zehn", "십")),
        (21, ("twenty-one", "einundzwanzig", "이십일")),
        (100, ("one hundred", "einhundert", "백")),
        (407, ("four hundred and seven", "vierhundertsieben", "사백칠")),
        (1984, ("one thousand nine hundred and eighty-four", "eintausendneunhundertvierundachtzig", "천구백팔십사")),
        (9010, ("nine thousand ten", "neuntausendzehn", "구천십")),
    ],
)
def test_numbers_in_words(number: int, words: tuple[str, str, str]) -> None:
    assert (english(number), german(number), korean(number)) == words


def test_no_two_numbers_are_written_alike() -> None:
    for language in (english, german, korean):
        assert len({language(number) for number in range(10_000)}) == 10_000


def test_a_short_demo(tmp_path: Path) -> None:
    arguments = ["demo", "--steps", "40", "--out", str(tmp_path), "--json"]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    figures = json.loads(done.stdout)
    assert 0.0 <= figures["exact_match"] <= 1.0 and figures["held_out"] == 500
    assert len(figures["examples"]) == 15 and "천구백팔십사" in figures["examples"]
    log = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    losses = [json.loads(line)["loss"] for line in log if '"event": "train"' in line]
    assert losses[-1] < 0.8 * losses[0], "it learns"
