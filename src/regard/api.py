"""Library functions that span several packages; the commands of the same names call them."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.evaluate.calibration import LEAST_PAIRS, calibrate_model
from regard.evaluate.validator import bleu_validator, validation_pairs
from regard.saved.folder import load_model
from regard.train.fine_tuning import check_same_text, fine_tuned, grown_weights, starting_weights
from regard.train.log import Observer
from regard.train.loop import train as run
from regard.train.run import settle, subword_files


def train(
    config: Config,
    data: Prepared | Path | str | None,
    out: Path | str,
    *,
    start: Path | str | None = None,
    changes: Mapping[str, Any] | None = None,
    fresh: bool = False,
    observer: Observer | None = None,
) -> Path:
    """Train a model on prepared data in the folder `out`, and return the folder of the trained model.

    A run that was stopped or killed resumes when the function is called again. `start` is a model to fine-tune; the run
    takes its model configuration, updated with `changes`. `data` defaults to the configuration's. `fresh` deletes an
    existing run in `out`.
    """
    out = Path(out)
    if data is None and config.data is None:
        raise UserError("say what to train on with --data, a folder that `regard prepare` made")
    prepared = data if isinstance(data, Prepared) else Prepared.open(Path(data or config.data or ""))
    if fresh and start is not None and Path(start).resolve().is_relative_to(out.resolve()):
        raise UserError(f"{start}: --fresh would remove it with the run in {out}; choose another --out")
    saved = None if start is None else load_model(start)
    if start is not None and saved is not None:
        config = fine_tuned(config, saved, start, changes or {})
    config = settle(config, prepared)
    if start is not None and saved is not None:
        check_same_text(saved, prepared, start)
    weights = None if saved is None else grown_weights(saved, prepared, starting_weights(config, saved))
    validator = bleu_validator(prepared, config, subword_files(prepared)) if config.train.bleu else None
    model = run(config, prepared, out, weights=weights, validator=validator, observer=observer, fresh=fresh)
    _calibrate(model, prepared, config)
    return model


def _calibrate(model: Path, data: Prepared, config: Config) -> None:
    """Calibrate a trained model's confidence on the validation set, in the first process, if there are enough pairs."""
    first = os.environ.get("RANK", "0") == "0"
    if not first or config.task != "translation" or data.valid is None or len(data.valid) < LEAST_PAIRS:
        return
    with suppress(UserError):  # a validation set without languages or with too few sentences: no confidence is claimed
        calibrate_model(model, validation_pairs(data))
