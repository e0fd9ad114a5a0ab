"""`regard parse`: sentences in, trees out; one output line for each input line, in order."""

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from regard.cli.terminal.options import Alpha, BatchTokens, Beam, Device, Text

if TYPE_CHECKING:
    from regard.text.trees import Tree
    from regard.translate.parser import Parse, ParseOptions, Parser

DEFAULT = "en-trees"  # the bundled parser


def parse(
    text: Text = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(help="A parser's folder, or a bundled one's name; if given again, an ensemble."),
    ] = None,
    tokenised: Annotated[
        bool, typer.Option("--tokenised", help="Words are separated by spaces already, as in a treebank.")
    ] = False,
    format_: Annotated[
        Literal["brackets", "draw", "svg", "html", "json"],
        typer.Option("--format", help="A tree a line; drawn for a terminal, as SVG, in a page; or an object a line."),
    ] = "brackets",
    constraint: Annotated[
        bool, typer.Option(help="Search among well-formed trees over the words only; else repair what is none.")
    ] = True,
    engine: Annotated[
        str | None, typer.Option(help="Engine: torch; without the constraint also ctranslate2 or auto.")
    ] = None,
    device: Device = "cpu",
    beam: Beam = None,
    alpha: Alpha = None,
    batch_tokens: BatchTokens = None,
) -> None:
    """Parse sentences, one a line: print a tree for each.

    echo "The cat sat on the mat." | regard parse --model runs/x/model

    Punctuation and contractions are split off as in the Penn Treebank, unless --tokenised. Options that are not given
    are the model's own. Each input line gives one output line; a blank one stays blank. A sentence that is too long to
    be parsed gets a flat tree, with a warning on standard error.
    """
    from regard.cli.terminal.progress import sentences_done
    from regard.translate.load import load_parser
    from regard.translate.parser import ParseOptions

    options = ParseOptions(beam, alpha, constraint, tokenised, batch_tokens)
    parser = load_parser(*(model or [_bundled()]), engine=engine or ("torch" if constraint else "auto"), device=device)
    parser.request(options)  # report a user's mistake before reading input
    with sentences_done() as progress:
        if format_ == "html":
            _write(_page(_parses(parser, text, options, progress)))
        else:
            _print(parser, text, options, _shown(format_), progress)


def _bundled() -> Path:
    from regard.errors import UserError
    from regard.saved.bundled import bundled

    if DEFAULT not in bundled():
        raise UserError("--model is missing; name the folder of a model that was trained on trees")
    return Path(DEFAULT)


def _parses(
    parser: "Parser", text: str | None, options: "ParseOptions", progress: Callable[[int], None]
) -> Iterator["Parse"]:
    """Yield the parses of all lines."""
    from regard.cli.terminal.inputs import input_windows

    number = 0
    for window in input_windows(text):
        yield from _parsed(parser, window, number, options, progress)
        number += len(window)


def _print(
    parser: "Parser",
    text: str | None,
    options: "ParseOptions",
    show: Callable[[int, "Parse"], str],
    progress: Callable[[int], None],
) -> None:
    """Print the parses of all lines, window by window."""
    from regard.cli.terminal.inputs import input_windows

    number = 0
    for window in input_windows(text):
        if show is _as_brackets and not any(window):
            sys.stdout.buffer.write(b"\n" * len(window))  # a file may have millions of blank lines
        else:
            for at, one in enumerate(_parsed(parser, window, number, options, progress), number):
                _write(show(at, one))
        number += len(window)
        sys.stdout.flush()


def _parsed(
    parser: "Parser", window: Sequence[str], before: int, options: "ParseOptions", progress: Callable[[int], None]
) -> list["Parse"]:
    """Parse lines that follow so many others; warn of a line that is too long to be parsed."""
    found = parser.window(window, options, progress)
    for number, one in enumerate(found, before + 1):
        if one.too_long:
            sys.stderr.write(
                f"regard: line {number} has {len(one.words):,} words, more than {parser.most_tokens} subwords can "
                "spell; its tree is flat\n"
            )
    return found


def _shown(format_: str) -> Callable[[int, "Parse"], str]:
    """Format a parse for output."""
    from regard.look.tree_drawing import as_svg, as_text

    if format_ in ("json", "brackets"):
        return _as_json if format_ == "json" else _as_brackets
    forms: dict[str, Callable[[Tree], str]] = {"draw": lambda tree: f"{as_text(tree)}\n", "svg": as_svg}
    return lambda _, one: "" if one.tree is None else forms[format_](one.tree)


def _as_brackets(_: int, one: "Parse") -> str:
    return "" if one.tree is None else str(one.tree)


def _as_json(number: int, one: "Parse") -> str:
    from regard.text.trees import tags

    score = None if one.score is None or math.isnan(one.score) else one.score
    return json.dumps(
        {
            "id": number,
            "words": one.words,
            "tags": [] if one.tree is None else tags(one.tree),
            "tree": None if one.tree is None else str(one.tree),
            "score": score,
            "repaired": one.repaired,
        },
        ensure_ascii=False,
    )


def _page(parses: Iterator["Parse"]) -> str:
    from regard.look.tree_drawing import as_html

    return as_html([one.tree for one in parses if one.tree is not None])


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
