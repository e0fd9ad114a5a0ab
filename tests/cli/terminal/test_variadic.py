from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from regard.cli.terminal.variadic import VariadicCommand, gather, split_value

OPTIONS = frozenset({"--train", "--valid"})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ""),
        ("--train a", "--train=a"),
        ("--train a b --valid c d --out x", "--train=a|b --valid=c|d --out x"),
        ("--train a --train b c", "--train=a --train=b|c"),
        ("--train=a b --json", "--train=a|b --json"),
        ("--train - --out x", "--train=- --out x"),
        ("--train --out x", "--train= --out x"),
        ("--out=x=y a=b a", "--out=x=y a=b a"),
        ("--train a -- --train b c", "--train=a -- --train b c"),
        ("--train a -h b", "--train=a -h b"),
    ],
)
def test_words_up_to_the_next_option(given: str, expected: str) -> None:
    assert " ".join(gather(given.split(), OPTIONS)).replace("\0", "|") == expected


def test_in_a_command() -> None:
    app = typer.Typer()

    @app.command(cls=VariadicCommand)
    def run(
        train: Annotated[list[str], typer.Option(metavar="FILE...")],
        one: Annotated[str, typer.Option(metavar="FILE")] = "",
        rest: Annotated[list[str] | None, typer.Argument()] = None,
    ) -> None:
        typer.echo([*map(split_value, train), one, rest])

    found = CliRunner().invoke(app, ["--train", "a b", "c=d", "--one", "x", "y", "--train", "é"])
    assert found.output.strip() == str([("a b", "c=d"), ("é",), "x", ["y"]])
    assert CliRunner().invoke(app, ["--train", "--one", "x"]).output.strip() == str([(), "x", None])
    assert CliRunner().invoke(app, ["--one"]).exit_code == 2
