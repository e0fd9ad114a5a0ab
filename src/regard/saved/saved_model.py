"""A model on disk: a folder of plain files, checked before use. Nothing in it is a pickle; no code runs on load."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from regard import __version__
from regard.config.model import ModelConfig
from regard.config.run import Config
from regard.files import new_directory, write_bytes, write_json
from regard.model.build import build
from regard.model.kernels.side_by_side import move_projections_together
from regard.model.seq2seq import Seq2Seq
from regard.saved.description import (
    CARD,
    CONFIG,
    FORMAT,
    SUBWORDS,
    WEIGHTS,
    Description,
    Form,
    load_description,
    model_folder,
)
from regard.saved.weights import Array, Storage, read_weights, write_weights


@dataclass(frozen=True)
class Saved(Description):
    """A model as it was saved, with what belongs to it."""

    model: Seq2Seq = field(kw_only=True)


def save_model(
    directory: Path,
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
    """Write a model whole or not at all."""
    weights = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    with new_directory(directory, replace=replace) as temporary:
        write_model(temporary, weights, config, subwords, languages=languages, form=form, card=card, storage=storage)


def write_model(
    directory: Path,
    weights: Mapping[str, Tensor],
    config: Config,
    subwords: Mapping[str, bytes],
    *,
    languages: tuple[str | None, str | None] = (None, None),
    form: Form = "NFC",
    card: str = "",
    storage: Storage = "float32",
) -> None:
    """Write a model's files into a folder that somebody else makes whole."""
    assert set(subwords) <= set(SUBWORDS), f"unknown subword files {sorted(subwords)}"
    description = {
        "format": FORMAT,
        "regard": __version__,
        "task": config.task,
        "torch": torch.__version__,
        "languages": {"source": languages[0], "target": languages[1]},
        "form": form,
        "weights": storage,
        "model": config.model.model_dump(),
        "decode": config.decode.model_dump(),
    }
    write_json(directory / CONFIG, description)
    write_weights(directory / WEIGHTS, as_arrays(weights), storage)
    write_bytes(directory / CARD, (card or f"# A regard model\n\nMade by regard {__version__}.\n").encode())
    for name, content in subwords.items():
        write_bytes(directory / name, content)


def load_model(directory: Path | str, device: torch.device | str = "cpu") -> Saved:
    """Read a model; anything changed, missing, hostile or from a newer version is a UserError."""
    folder = model_folder(directory)
    described = load_description(folder)
    model = _with_weights(described.config, folder / WEIGHTS).to(device).eval()
    move_projections_together(model)
    return Saved(**vars(described), model=model)


def _with_weights(config: ModelConfig, path: Path) -> Seq2Seq:
    with torch.device("meta"):
        model = build(config)
    weights = read_weights(path, {name: list(tensor.shape) for name, tensor in model.state_dict().items()})
    model.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()}, assign=True)
    return model


def as_arrays(weights: Mapping[str, Tensor]) -> dict[str, Array]:
    """Weights for those who do without torch; they may share its memory."""
    return {name: tensor.detach().to("cpu", torch.float32).numpy() for name, tensor in weights.items()}
