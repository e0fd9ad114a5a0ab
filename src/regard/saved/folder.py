"""Save and load a model's folder: plain files, verified before use, without pickles or code that runs on load."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from regard import __version__
from regard.config.model import ModelConfig
from regard.files import new_directory, write_bytes, write_json
from regard.model.build import build
from regard.model.kernels.linear import pack
from regard.model.kernels.side_by_side import move_projections_together
from regard.model.seq2seq import Seq2Seq
from regard.saved.saved_model import CARD, CONFIG, FORMAT, SUBWORDS, WEIGHTS, SavedModel, model_folder, read_saved
from regard.saved.weights import Array, read_weights, write_weights


@dataclass(frozen=True)
class LoadedModel(SavedModel):
    """A saved model with its weights."""

    model: Seq2Seq = field(kw_only=True)


def save_model(directory: Path | str, loaded: LoadedModel, *, card: str = "", replace: bool = False) -> None:
    """Write a model's folder atomically."""
    weights = {name: tensor.detach() for name, tensor in loaded.model.state_dict().items()}
    with new_directory(Path(directory), replace=replace) as temporary:
        write_model(temporary, loaded, weights, card=card)


def write_model(directory: Path, saved: SavedModel, weights: Mapping[str, Tensor], *, card: str = "") -> None:
    """Write a model's files into a folder that the caller makes atomic."""
    assert set(saved.subwords) <= set(SUBWORDS), f"unknown subword files {sorted(saved.subwords)}"
    description = {
        "format": FORMAT,
        "regard": __version__,
        "task": saved.task,
        "torch": torch.__version__,
        "languages": {"source": saved.languages[0], "target": saved.languages[1]},
        "form": saved.form,
        "weights": saved.storage,
        "model": saved.config.model_dump(),
        "decode": saved.decode.model_dump(),
        **({"terminology": True} if saved.terminology else {}),
    }
    write_json(directory / CONFIG, description)
    write_weights(directory / WEIGHTS, as_arrays(weights), saved.storage)
    write_bytes(directory / CARD, (card or f"# A regard model\n\nMade by regard {__version__}.\n").encode())
    for name, content in saved.subwords.items():
        write_bytes(directory / name, content)


def load_model(directory: Path | str, device: torch.device | str = "cpu") -> LoadedModel:
    """Load a model; raise UserError if a file is changed, missing, malicious or from a newer version."""
    folder = model_folder(directory)
    return load_weights(read_saved(folder), folder, device)


def load_weights(saved: SavedModel, folder: Path, device: torch.device | str = "cpu") -> LoadedModel:
    """Load the weights of a model whose folder was read and checked already."""
    model = _with_weights(saved.config, folder / WEIGHTS).to(device).eval()
    move_projections_together(model)
    pack(model)
    return saved.with_model(model)


def _with_weights(config: ModelConfig, path: Path) -> Seq2Seq:
    with torch.device("meta"):
        model = build(config)
    weights = read_weights(path, {name: list(tensor.shape) for name, tensor in model.state_dict().items()})
    model.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()}, assign=True)
    return model


def as_arrays(weights: Mapping[str, Tensor]) -> dict[str, Array]:
    """Return weights as numpy arrays, which may share torch's memory."""
    return {name: tensor.detach().to("cpu", torch.float32).numpy() for name, tensor in weights.items()}
