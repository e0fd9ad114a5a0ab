"""Commands whose options are fields of dataclasses."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from regard.cli.terminal.options import Beam, grouped


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option(help="How wide.")] = 3
    flat: Annotated[bool, typer.Option("--flat", help="No height.")] = False


@dataclass(frozen=True)
class Wide(Size):
    words: Annotated[list[str] | None, typer.Option("--word", help="한국어 and 🦆.")] = None


def run(*arguments: str) -> str:
    app = typer.Typer(rich_markup_mode=None)

    def command(*, text: Annotated[str, typer.Argument()], size: Wide, beam: Beam = None) -> None:
        """Show what arrived."""
        typer.echo(f"{text} {size} {beam}")

    app.command()(grouped(command))
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == (2 if "--unknown" in arguments else 0), result.output
    return result.output


def test_every_field_is_an_option_and_arrives_in_its_group() -> None:
    assert run("ein") == f"ein {Wide()} None\n"
    given = run("--width", "7", "안녕", "--flat", "--word", "ㄱ", "--beam", "2", "--word", "🦆")
    assert given == f"안녕 {Wide(7, flat=True, words=['ㄱ', '🦆'])} 2\n"


def test_help_has_the_options_in_the_order_of_the_parameters() -> None:
    shown = run("--help")
    places = [shown.index(word) for word in ("Show what arrived.", "--width", "--flat", "--word", "--beam")]
    assert places == sorted(places)
    assert "How wide." in shown and "[default: 3]" in shown and "한국어 and 🦆." in shown
    assert "No such option: --unknown" in run("x", "--unknown")
