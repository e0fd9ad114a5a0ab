"""Conversion of a saved model to float16 or int8 weights."""

from dataclasses import replace
from pathlib import Path

from regard.files import new_directory, read_text
from regard.saved.folder import load_model, write_model
from regard.saved.saved_model import CARD
from regard.saved.weights import Storage


def write_smaller(model: Path, out: Path, storage: Storage, *, note: str = "", card: str | None = None) -> None:
    """Write a saved model again, completely or not at all; a note is added to its card, or to the given one."""
    saved = load_model(model)
    card = read_text(model / CARD) if card is None else card
    with new_directory(out) as temporary:
        whole = f"{card.rstrip()}\n\n## Weights\n\n{storage}. {note}".rstrip() + "\n"
        write_model(temporary, replace(saved, storage=storage), saved.model.state_dict(), card=whole)
