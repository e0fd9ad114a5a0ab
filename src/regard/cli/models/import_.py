"""`regard import`: convert another program's model to a regard model."""

import json
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.terminal.options import Json


def import_(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Folder in Hugging Face's format: config.json, model.safetensors, source.spm, target.spm, vocab.json."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Where the model is written; must not exist.")],
    as_json: Json = False,
) -> None:
    """Make a model from a Marian folder, such as OPUS-MT's.

    regard import opus-mt-en-de --out models/en-de
    """
    from regard.exchange.from_huggingface import import_huggingface

    import_huggingface(folder, out)
    typer.echo(json.dumps({"model": str(out), "from": str(folder)}) if as_json else f"{out}: {folder} as a model")
