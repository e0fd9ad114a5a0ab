"""`regard corpora`: list public corpora; `regard corpora get`: download one."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    invoke_without_command=True, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
)


@app.callback()
def corpora(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List public corpora, or get one.

    The list has size, licence and addresses of each, and says whether it is here.
    """
    if context.invoked_subcommand is not None:
        return
    from regard.data.public.corpora import catalogue

    listed = {name: _described(name) for name in catalogue().corpora}
    if as_json:
        typer.echo(json.dumps(listed, ensure_ascii=False))
        return
    typer.echo("\n\n".join([*map(_text, listed.items()), "Trees to learn parsing from: regard corpora treebanks"]))


@app.command("treebanks")
def treebanks(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """List treebanks: licences, and how to get them.

    They are for `regard prepare --task parsing`.
    """
    from regard.data.public.corpora import catalogue

    listed = catalogue().treebanks
    if as_json:
        typer.echo(json.dumps({name: one.model_dump() for name, one in listed.items()}, ensure_ascii=False))
        return
    texts = [
        f"{name}\n  {one.about}\n  about {one.trees:,} trees; licence: {one.licence}\n  {one.home}\n  {one.how}"
        for name, one in listed.items()
    ]
    typer.echo("\n\n".join(texts))


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(help="A corpus that `regard corpora` lists.")],
    to: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder to make, instead of in the cache.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Download a corpus and unpack it.

    The same command resumes a download that was interrupted.

    regard corpora get multi30k-en-de

    It is kept in $REGARD_CACHE/corpora, or in regard/corpora of the user's cache; `regard prepare --corpus` finds it
    there. With --to, name its files with --train and --valid.
    """
    from regard.cli.terminal.progress import bytes_done
    from regard.data.public import corpora as public
    from regard.data.public.texts import SPLITS

    corpus = public.catalogue().find(name)
    typer.echo(f"{name}: {corpus.home}; licence: {corpus.licence}", err=True)
    with bytes_done() as progress:
        folder = public.get(name, to, progress)
    found = {split: public.text_files(name, split, folder=folder) for split in SPLITS}
    if as_json:
        typer.echo(json.dumps({"name": name, "folder": str(folder), "licence": corpus.licence, "files": found}))
        return
    lines = [f"{split:<6} {' '.join(pair)}" for split, pairs in found.items() for pair in pairs]
    if to is None:
        lines.append(f"next:  regard prepare --corpus {name} --out data/{name}")
    typer.echo("\n".join(lines))


def _described(name: str) -> dict[str, Any]:
    from regard.data.public import corpora as public

    known = public.catalogue()
    corpus = known.find(name)
    return {
        "languages": corpus.languages,
        "about": corpus.about,
        "pairs": corpus.pairs,
        "size": known.size(name),
        "licence": corpus.licence,
        "home": corpus.home,
        "files": [known.files[file].model_dump() for file in corpus.downloads],
        "here": str(public.home() / name) if public.is_here(name) else None,
    }


def _text(item: tuple[str, dict[str, Any]]) -> str:
    name, corpus = item
    size = "size not published" if corpus["size"] is None else _megabytes(corpus["size"])
    lines = [
        f"{name}{'  (here)' if corpus['here'] else ''}",
        f"  {corpus['about']}",
        f"  about {corpus['pairs']:,} pairs; {size}; licence: {corpus['licence']}",
        *(f"  {file['address']}  {_checksum(file)}" for file in corpus["files"]),
    ]
    return "\n".join(lines)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size < 1e8 else f"{size / 1e6:,.0f} MB"


def _checksum(file: dict[str, Any]) -> str:
    kind = next((kind for kind in ("sha256", "md5") if file[kind] is not None), None)
    return f"(checksum: {kind or 'none published'})"
