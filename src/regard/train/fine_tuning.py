"""The rules of fine-tuning: what a run takes over from the model that it starts from, and what the two must share."""

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
    """Return the configuration of a run that starts from a saved model: its description, but for some changes."""
    values = {**saved.config.model_dump(), **changes}
    model = check(Config, {"model": values}, f"the model of {start}").model
    return config.model_copy(update={"model": model, "start": identity(start)})


def identity(start: Path | str) -> str:
    """Return the name and checksum of a model, by which a run that goes on knows what it started from."""
    folder = model_folder(start)
    return f"{folder.resolve().name}, {fingerprint(folder)[:16]}"


def check_same_text(saved: SavedModel, data: Prepared, start: Path | str) -> None:
    """Raise UserError unless the data have the Unicode form and the subwords of the model that is fine-tuned."""
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
