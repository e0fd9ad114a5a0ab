"""The same model in fewer bytes: its weights written as float16 or int8."""

from pathlib import Path

from regard.config import Config
from regard.files import new_directory, read_text
from regard.model.description import CARD
from regard.model.saved import load_model, write_model
from regard.model.weights import Storage


def write_smaller(model: Path, out: Path, storage: Storage, *, note: str = "", card: str | None = None) -> None:
    """Write a saved model again, whole or not at all; a note goes into its card, or into the one that is given."""
    saved = load_model(model)
    card = read_text(model / CARD) if card is None else card
    with new_directory(out) as temporary:
        write_model(
            temporary,
            saved.model.state_dict(),
            Config(task=saved.task, model=saved.config, decode=saved.decode),
            saved.subwords,
            languages=saved.languages,
            form=saved.form,
            card=f"{card.rstrip()}\n\n## Weights\n\n{storage}. {note}".rstrip() + "\n",
            storage=storage,
        )
