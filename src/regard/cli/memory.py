"""`regard memory`: pairs of texts that are the answer for their sources."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.memory.pair import Pair

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})
File = Annotated[Path, typer.Option("--memory", metavar="DB", help="The memory, one SQLite file.")]
From = Annotated[str | None, typer.Option("--from", metavar="CODE", help="Source language.")]
To = Annotated[str | None, typer.Option("--to", metavar="CODE", help="Target language.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DEFAULT = Path("memory.db")


@app.callback()
def memory() -> None:
    """Keep a translation memory: import, export, add, search.

    `regard translate --memory` and `regard serve --memory` answer from it; `regard tune` learns its corrections.
    """


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A .tmx or .tsv file.")],
    memory: File = DEFAULT,
    source: From = None,
    target: To = None,
    as_json: Json = False,
) -> None:
    """Store the new pairs of a TMX or TSV file.

    regard memory import old.tmx --memory work.db

    A TSV needs --from and --to. After a kill, the same command stores the rest.
    """
    from regard.cli.terminal.progress import sentences_done
    from regard.errors import UserError
    from regard.memory.exchange import import_file
    from regard.memory.store import Memory

    if not file.is_file():
        raise UserError(f"{file}: no such file; name a .tmx or .tsv file")
    with Memory(memory, create=True) as store, sentences_done() as progress:
        read, new = import_file(store, file, source=source, target=target, progress=progress)
        size = len(store)
    told = {"pairs": read, "new": new, "size": size}
    typer.echo(json.dumps(told) if as_json else f"{read:,} pairs, {new:,} of them new; {memory} has {size:,}")


@app.command("export")
def export(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="File to write: .tmx, .tsv or .jsonl.")],
    memory: File = DEFAULT,
    source: From = None,
    target: To = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a memory as TMX, TSV or JSON lines.

    regard memory export all.tmx --memory work.db
    """
    from regard import __version__
    from regard.errors import UserError
    from regard.files import check_place, disk_mistakes, write_bytes
    from regard.memory import exchange
    from regard.memory.store import Memory

    if out.exists() and not force:
        raise UserError(f"{out}: exists already; name another, or pass --force to write over it")
    check_place(out)
    with Memory(memory) as store:
        pairs = store.entries(languages=_languages(source, target))
        kinds = {
            ".tmx": exchange.tmx(pairs, __version__),
            ".tsv": exchange.tsv(pairs),
            ".jsonl": (_line(pair) + "\n" for pair in pairs),
        }
        if out.suffix.lower() not in kinds:
            raise UserError(f"{out}: ends with none of {', '.join(kinds)}; name the file so that it says its format")
        with disk_mistakes(out):
            write_bytes(out, "".join(kinds[out.suffix.lower()]).encode())


@app.command("add")
def add(
    text: Annotated[str, typer.Argument(help="A text.")],
    translation: Annotated[str, typer.Argument(help="Its translation.")],
    source: Annotated[str, typer.Option("--from", metavar="CODE", help="Language of the text.")],
    target: Annotated[str, typer.Option("--to", metavar="CODE", help="Language of the translation.")],
    memory: File = DEFAULT,
    author: Annotated[str, typer.Option(metavar="NAME", help="Author of the pair.")] = "",
    as_json: Json = False,
) -> None:
    """Store one pair, the answer for its text from now on.

    regard memory add "Where is the station?" "Wo ist der Bahnhof?" --from en --to de --memory work.db
    """
    from regard.memory.pair import Pair
    from regard.memory.store import Memory

    with Memory(memory, create=True) as store:
        pair = store.add(Pair(source, target, text.strip(), translation.strip(), author=author))
    typer.echo(_line(pair) if as_json else f"stored as {pair.id}")


@app.command("search")
def search(
    text: Annotated[str, typer.Argument(help="A text.")],
    source: Annotated[str, typer.Option("--from", metavar="CODE", help="Language of the text.")],
    target: Annotated[str, typer.Option("--to", metavar="CODE", help="Language of the translations.")],
    memory: File = DEFAULT,
    least: Annotated[int, typer.Option(min=1, max=100, metavar="PERCENT", help="Least similarity of a match.")] = 60,
    most: Annotated[int, typer.Option(min=1, max=100, help="Matches to show.")] = 5,
    as_json: Json = False,
) -> None:
    """Find pairs with a similar source; print the similarity.

    regard memory search "Where is the station?" --from en --to de --memory work.db
    """
    from regard.memory.store import Memory

    with Memory(memory) as store:
        matches = store.matches(source, target, text, least=least, most=most)
    if as_json:
        typer.echo(json.dumps([{"percent": one.percent, **asdict(one.pair)} for one in matches], ensure_ascii=False))
        return
    for one in matches:
        typer.echo(f"{one.percent} %\t{_shown(one.pair)}")


@app.command("list")
def list_(
    memory: File = DEFAULT,
    source: From = None,
    target: To = None,
    origin: Annotated[str | None, typer.Option(help="Only of this origin, such as correction.")] = None,
    after: Annotated[int, typer.Option(min=0, metavar="ID", help="Only pairs after this one.")] = 0,
    most: Annotated[int | None, typer.Option(min=1, help="At most this many pairs.")] = None,
    as_json: Json = False,
) -> None:
    """Print the pairs, oldest first.

    A line has id, languages, text, translation, origin, author and time; with --json, it is an object.
    """
    from regard.memory.store import Memory

    with Memory(memory) as store:
        origins = None if origin is None else [origin]
        found: Iterator[Pair] = store.entries(after=after, origins=origins, languages=_languages(source, target))
        for pair in islice(found, most):
            sys.stdout.write((_line(pair) if as_json else _shown(pair)) + "\n")


@app.command("remove")
def remove(
    ids: Annotated[list[int], typer.Argument(help="Numbers of pairs, as `list` shows them.")],
    memory: File = DEFAULT,
    as_json: Json = False,
) -> None:
    """Remove pairs from a memory."""
    from regard.errors import UserError
    from regard.memory.store import Memory

    with Memory(memory) as store:
        known = {pair.id for pair in store.get(ids)}
        if absent := sorted(set(ids) - known):
            raise UserError(f"{memory}: has no pair {absent[0]}; `regard memory list` shows the numbers")
        count = store.remove(ids)
    typer.echo(json.dumps({"removed": count}) if as_json else f"removed {count:,}")


@app.command("check")
def check(memory: File = DEFAULT, as_json: Json = False) -> None:
    """Read a whole memory, and check that it is intact."""
    from regard.memory.store import Memory

    with Memory(memory) as store:
        store.database.check()
        size = len(store)
    typer.echo(json.dumps({"pairs": size, "whole": True}) if as_json else f"{memory}: whole, {size:,} pairs")


def _languages(source: str | None, target: str | None) -> tuple[str, str] | None:
    from regard.errors import UserError

    if (source is None) != (target is None):
        raise UserError("--from and --to go together; give both or none")
    return None if source is None or target is None else (source, target)


def _line(pair: "Pair") -> str:
    return json.dumps(asdict(pair), ensure_ascii=False)


def _shown(pair: "Pair") -> str:
    from regard.memory.pair import plain

    languages = f"{pair.source_language}-{pair.target_language}"
    cells = (pair.source, pair.target, pair.origin, pair.author)
    return "\t".join((str(pair.id), languages, *map(plain, cells), pair.time))
