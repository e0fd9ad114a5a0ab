"""`regard tune`: fine-tune a model on corrections."""

import json
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.terminal.options import Json, Target


def tune(
    model: Annotated[Path, typer.Option(help="The folder of a model, or a bundled one's name.")],
    memory: Annotated[Path, typer.Option(metavar="DB", help="The memory with the corrections.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write; the model is in DIR/model.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Prepared data that the model was trained on, to mix in.")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Without --data: text whose translations by the model are mixed in."),
    ] = None,
    source: Annotated[str | None, typer.Option(metavar="FILE", help="Text to measure BLEU on.")] = None,
    reference: Annotated[str | None, typer.Option(metavar="FILE", help="Its translation, line by line.")] = None,
    target: Target = None,
    steps: Annotated[int, typer.Option(min=1, help="Updates of the weights.")] = 200,
    rate: Annotated[float, typer.Option(help="Learning rate.")] = 5e-5,
    worse: Annotated[float, typer.Option(min=0, metavar="BLEU", help="How much BLEU the model may lose.")] = 0.3,
    as_json: Json = False,
) -> None:
    """Fine-tune a model on new corrections, and measure it.

    regard tune --model runs/x/model --memory work.db --data data/mine --out runs/tuned

    A model that loses more than 0.3 BLEU (--worse) is not kept, and the corrections are learned the next time. `regard
    serve` takes the new model at SIGHUP, once it stands where the old one was.
    """
    from regard.cli.terminal.progress import sentences_done
    from regard.cli.terminal.watch import watch
    from regard.config.train import TrainConfig
    from regard.data.lines import text_lines
    from regard.errors import UserError
    from regard.evaluate.aligned import read_aligned
    from regard.files import disk_mistakes
    from regard.memory.store import Memory
    from regard.tuning.tune import tune as run

    if (source is None) != (reference is None):
        raise UserError("--source and --reference go together; give both or none")
    if data is not None and text is not None:
        raise UserError("--text is for tuning without --data; leave one of them out")
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; name a folder")
    test = None if source is None else list(zip(*read_aligned([source, str(reference)]), strict=True))
    with (
        disk_mistakes(out),
        Memory(memory) as store,
        sentences_done() as progress,
        watch(TrainConfig(steps=steps), out, tensorboard=False) as observer,
    ):
        done = run(
            model,
            store,
            out,
            data=data,
            texts=None if text is None else list(text_lines(text)),
            test=test,
            target=target,
            steps=steps,
            rate=rate,
            worse=worse,
            say=lambda sentence: typer.echo(f"regard: {sentence}", err=True),
            progress=progress,
            observer=observer,
        )
    if as_json:
        typer.echo(json.dumps(done.as_dict()))
        return
    typer.echo(f"model          {done.model}")
    typer.echo(f"corrections    {done.corrections:,}, mixed with {done.others:,} other pairs")
    typer.echo(f"steps          {done.steps:,} of {steps:,}")
    typer.echo(f"reproduced     {done.reproduced_before:.0%} before, {done.reproduced_after:.0%} after")
    typer.echo(f"bleu           {done.bleu_before:.2f} before, {done.bleu_after:.2f} after ({done.signature})")
