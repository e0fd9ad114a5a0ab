"""ListOps: values by a second evaluator, lengths, and the same expressions for a seed."""

import random
from pathlib import Path

import pytest

from regard.paper.later.listops import expression, expressions, value, write_listops


def plain(tokens: list[str]) -> int:
    """The value by recursion."""

    def read(at: int) -> tuple[int, int]:
        if not tokens[at].startswith("["):
            return int(tokens[at]), at + 1
        values, place = [], at + 1
        while tokens[place] != "]":
            one, place = read(place)
            values.append(one)
        ordered, n = sorted(values), len(values)
        middle = ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) // 2
        found = {"[MIN": ordered[0], "[MAX": ordered[-1], "[MED": middle, "[SM": sum(values) % 10}
        return found[tokens[at]], place + 1

    answer, end = read(0)
    assert end == len(tokens)
    return answer


@pytest.mark.parametrize(
    ("text", "answer"), [("[MAX 2 9 [MIN 4 7 ] 0 ]", 9), ("[MED 1 4 8 9 ]", 6), ("[SM 9 9 5 ]", 3), ("[MIN 3 3 ]", 3)]
)
def test_values(text: str, answer: int) -> None:
    assert value(text.split()) == plain(text.split()) == answer


@pytest.mark.parametrize("most", [32, 256])
def test_random_expressions_have_their_lengths_and_values(most: int) -> None:
    dice = random.Random(1)
    for _ in range(30):
        tokens = expression(dice, most // 2, most)
        assert most // 2 <= len(tokens) <= most and tokens.count("]") == sum(t.startswith("[") for t in tokens)
        assert value(tokens) == plain(tokens)


def test_a_seed_gives_the_same_expressions_and_no_test_is_trained_on(tmp_path: Path) -> None:
    assert list(expressions(3, 20, 64)) == list(expressions(3, 20, 64)) != list(expressions(4, 20, 64))
    train, test = write_listops(tmp_path / "x", 1, 64, 30, 10)
    lines = [set(path.read_text().splitlines()) for path in (train, test)]
    assert (len(lines[0]), len(lines[1])) == (30, 10) and not lines[0] & lines[1]
