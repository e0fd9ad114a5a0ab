"""`regard calibrate`: fit a model's confidence on pairs that it was not trained on."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.terminal.options import Json, Target


def calibrate(
    model: Annotated[Path, typer.Option(help="The folder of a model.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Prepared data, whose validation set is used.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="FILE", help="Instead of --data: a text, a sentence a line.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(metavar="FILE", help="With --source: its translation, line by line.")
    ] = None,
    target: Target = None,
    as_json: Json = False,
) -> None:
    """Calibrate the confidence of a model's translations.

    The calibration is stored with the model. `regard train` does this at its end.

    regard calibrate --model runs/x/model --data data/mine

    regard calibrate --model runs/x/model --source valid.en --reference valid.de

    The pairs must not be among those that the model was trained on. Confidence is the chrF that is expected of a
    sentence, from 0 to 1.
    """
    from regard.cli.terminal.progress import sentences_done
    from regard.data.prepared import Prepared, RawPair
    from regard.errors import UserError
    from regard.evaluate.aligned import read_aligned
    from regard.evaluate.calibration import MOST_PAIRS, calibrate_model
    from regard.evaluate.validator import validation_pairs
    from regard.saved.saved_model import model_folder

    if (data is None) == (source is None and reference is None) or (source is None) != (reference is None):
        raise UserError("give either --data, or --source with --reference; the model is calibrated on those pairs")
    if data is not None:
        if target is not None:
            raise UserError("--to is for --source; prepared data say the language of each pair")
        pairs = validation_pairs(Prepared.open(data))
    else:
        lines = read_aligned([str(source), str(reference)])
        pairs = [RawPair(read, written, target) for read, written in zip(*lines, strict=True)]
    with sentences_done(min(len(pairs), MOST_PAIRS)) as progress:
        found = calibrate_model(model_folder(model), pairs, progress=progress)
    if as_json:
        typer.echo(found.model_dump_json())
    else:
        typer.echo(f"{model}: calibrated on {found.pairs:,} sentences; Spearman's correlation {found.spearman:.2f}")
