"""Rules of fine-tuning: what a run takes over from its initial model, and what both must have in common."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.config.checked import check
from regard.config.run import Config
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.saved.saved_model import SavedModel, model_folder
from regard.train.run import fingerprint, subword_files


def fine_tuned(config: Config, saved: SavedModel, start: Path | str, changes: Mapping[str, Any]) -> Config:
    """Return the configuration of a run that starts from a saved model: the model's configuration with some changes."""
    values = {**saved.config.model_dump(), **changes}
    model = check(Config, {"model": values}, f"the model of {start}").model
    return config.model_copy(update={"model": model, "start": identity(start)})


def identity(start: Path | str) -> str:
    """Return the name and checksum of a model, by which a resumed run recognises its initial model."""
    folder = model_folder(start)
    return f"{folder.resolve().name}, {fingerprint(folder)[:16]}"


def check_same_text(saved: SavedModel, data: Prepared, start: Path | str) -> None:
    """Raise UserError unless the data have the same Unicode form and subwords as the model to fine-tune."""
    if saved.form != data.config.form:
        raise UserError(
            f"{start}: reads texts in Unicode's form {saved.form}, and the data are in {data.config.form}; "
            f"prepare the data with --form {saved.form}"
        )
    if saved.subwords != subword_files(data):
        raise UserError(
            f"{start}: its subwords are not those of the data; "
            f"prepare the data with them: regard prepare --subwords-from {start} …"
        )
