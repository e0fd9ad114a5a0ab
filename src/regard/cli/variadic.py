"""Options that take several words: `--train train.en train.de --valid val.en val.de`.

Click gives an option a fixed number of words. Here the words after an option whose metavar ends with `...`, up to the
next option, become one value; `words` takes it apart again. So an option that is given twice has two values, and each
has its own words.
"""

from collections.abc import Container, Iterable
from typing import Any

from typer.core import TyperCommand

MANY = "..."
_BETWEEN = "\0"  # no word of a command line can hold it


class VariadicCommand(TyperCommand):
    """A command some of whose options take all words that follow them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Any: typer keeps its Context's home private
        many = {name for option in self.params if (option.metavar or "").endswith(MANY) for name in option.opts}
        return super().parse_args(ctx, gather(args, many))


def gather(arguments: list[str], options: Container[str]) -> list[str]:
    """The same arguments, with the words after each of these options made one. `-` is a word; `--` ends options."""
    gathered: list[str] = []
    rest = list(arguments)
    while rest and rest[0] != "--":
        option, given, first = rest.pop(0).partition("=")
        words = [first] if given else []
        while option in options and rest and (rest[0] == "-" or not rest[0].startswith("-")):
            words.append(rest.pop(0))
        gathered.append(f"{option}={one_value(words)}" if words or option in options else option)
    return gathered + rest


def one_value(words: Iterable[str]) -> str:
    """Words as the value that an option which takes several has of them."""
    return _BETWEEN.join(words)


def words(value: str) -> tuple[str, ...]:
    """The words of one value of a gathered option; there may be none."""
    return tuple(value.split(_BETWEEN)) if value else ()
