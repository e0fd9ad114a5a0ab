"""Write a model that was built in a test as a saved model."""

from collections.abc import Mapping
from pathlib import Path

from regard.config.run import Config
from regard.model.seq2seq import Seq2Seq
from regard.saved.folder import LoadedModel, save_model
from regard.saved.weights import Storage
from regard.text.normalise import Form


def save_built(
    path: Path,
    model: Seq2Seq,
    config: Config,
    subwords: Mapping[str, bytes],
    *,
    languages: tuple[str | None, str | None] = (None, None),
    form: Form = "NFC",
    card: str = "",
    storage: Storage = "float32",
    replace: bool = False,
) -> None:
    facts = (config.model, config.decode, languages, form, subwords, storage, config.task)
    save_model(path, LoadedModel(*facts, model=model), card=card, replace=replace)
