"""`regard import`: convert another program's model to a regard model."""

import json
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.terminal.options import Json


def import_(
    folder: Annotated[Path, typer.Argument(help="A Marian model in Hugging Face's format, such as OPUS-MT's.")],
    out: Annotated[Path, typer.Option(help="Where the model is written; must not exist.")],
    as_json: Json = False,
) -> None:
    """Make a model of a Marian folder: config.json, model.safetensors, source.spm, target.spm and vocab.json.

    regard import opus-mt-en-de --out models/en-de
    """
    from regard.exchange.from_huggingface import import_huggingface

    import_huggingface(folder, out)
    typer.echo(json.dumps({"model": str(out), "from": str(folder)}) if as_json else f"{out}: {folder} as a model")
