"""Options with several arguments: `--train train.en train.de --valid val.en val.de`.

A Click option has a fixed number of arguments. Here all arguments after an option whose metavar ends with `...`, up to
the next option, are joined into one value; `split_value` splits it again. So an option that is given twice has two
values, each with its own arguments.
"""

from collections.abc import Container, Iterable
from typing import Any

from typer.core import TyperCommand

MANY = "..."
FILES = f"FILE [FILE]{MANY}"
_BETWEEN = "\0"  # can't occur in an argument


class VariadicCommand(TyperCommand):
    """A command with options that take all arguments after them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Any: typer's Context type is private
        many = {name for option in self.params if (option.metavar or "").endswith(MANY) for name in option.opts}
        return super().parse_args(ctx, gather(args, many))


def gather(arguments: list[str], options: Container[str]) -> list[str]:
    """Join the arguments after each of these options into one. `-` is an argument; `--` ends the options."""
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
    """Join arguments into one option value."""
    return _BETWEEN.join(words)


def split_value(value: str) -> tuple[str, ...]:
    """Split the value of a gathered option into its arguments; there may be none."""
    return tuple(value.split(_BETWEEN)) if value else ()
