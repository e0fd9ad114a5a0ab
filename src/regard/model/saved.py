"""A model on disk: a folder of plain files, checked before use. Nothing in it is a pickle; no code runs on load."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard import __version__
from regard.config import Config, DecodeConfig, ModelConfig, check
from regard.errors import UserError
from regard.files import check_manifest, read_json, whole_directory, write_bytes, write_json
from regard.model.build import build
from regard.model.seq2seq import Seq2Seq

Form = Literal["NFC", "NFKC"]
FORMAT = 1
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
SUBWORDS = ("subwords.model", "source.subwords.model", "target.subwords.model")
SUBWORDS_LIMIT = 64 << 20


@dataclass(frozen=True)
class Saved:
    """A model as it was saved, with what belongs to it."""

    model: Seq2Seq
    config: ModelConfig
    decode: DecodeConfig
    languages: tuple[str | None, str | None]
    """Source and target, as codes such as `en`."""
    form: Form
    """The Unicode form that its texts had."""
    subwords: dict[str, bytes]
    """By file name: `subwords.model` for both languages, or `source.` and `target.subwords.model`."""


def save_model(
    directory: Path,
    model: Seq2Seq,
    config: Config,
    subwords: Mapping[str, bytes],
    *,
    languages: tuple[str | None, str | None] = (None, None),
    form: Form = "NFC",
    card: str = "",
    dtype: torch.dtype = torch.float32,
    replace: bool = False,
) -> None:
    """Write a model whole or not at all."""
    weights = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    with whole_directory(directory, replace=replace) as temporary:
        write_model(temporary, weights, config, subwords, languages=languages, form=form, card=card, dtype=dtype)


def write_model(
    directory: Path,
    weights: Mapping[str, Tensor],
    config: Config,
    subwords: Mapping[str, bytes],
    *,
    languages: tuple[str | None, str | None] = (None, None),
    form: Form = "NFC",
    card: str = "",
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write a model's files into a folder that somebody else makes whole."""
    assert set(subwords) <= set(SUBWORDS), f"unknown subword files {sorted(subwords)}"
    description = {
        "format": FORMAT,
        "regard": __version__,
        "torch": torch.__version__,
        "languages": {"source": languages[0], "target": languages[1]},
        "form": form,
        "model": config.model.model_dump(),
        "decode": config.decode.model_dump(),
    }
    write_json(directory / CONFIG, description)
    tensors = {name: tensor.to("cpu", dtype).contiguous() for name, tensor in weights.items()}
    save_file(tensors, directory / WEIGHTS, metadata={"format": "pt"})
    write_bytes(directory / CARD, (card or f"# A regard model\n\nMade by regard {__version__}.\n").encode())
    for name, content in subwords.items():
        write_bytes(directory / name, content)


def load_model(directory: Path | str, device: torch.device | str = "cpu") -> Saved:
    """Read a model; anything changed, missing, hostile or from a newer version is a UserError."""
    directory = Path(directory)
    if not directory.is_dir():
        raise UserError(f"{directory}: no such folder; give the folder of a saved model, such as runs/x/model")
    saved = load_description(directory)
    return replace(saved, model=_with_weights(saved.config, directory / WEIGHTS).to(device).eval())


def load_description(directory: Path, name: str = CONFIG) -> Saved:
    """All of a model but its weights, which stay on the meta device; from an export, too, by the file's name there."""
    check_manifest(directory)
    config, decode, languages, form = _describe(read_json(directory / name), directory / name)
    with torch.device("meta"):
        model = build(config)
    subwords = {file: _subwords(directory / file) for file in SUBWORDS if (directory / file).exists()}
    return Saved(model, config, decode, languages, form, subwords)


def _describe(description: Any, origin: Path) -> tuple[ModelConfig, DecodeConfig, tuple[str | None, str | None], Form]:
    if not isinstance(description, dict) or not isinstance(description.get("format"), int):
        raise UserError(f"{origin}: does not describe a regard model; give the folder of a saved model")
    if description["format"] != FORMAT:
        raise UserError(
            f"{origin}: format {description['format']}, made by regard {description.get('regard')}, "
            f"is not one that regard {__version__} reads (format {FORMAT}); install the version that made it"
        )
    languages = description.get("languages")
    if not isinstance(languages, dict):
        raise UserError(f"{origin}: languages is missing; restore the file from a copy")
    source, target = languages.get("source"), languages.get("target")
    if not all(code is None or isinstance(code, str) for code in (source, target)):
        raise UserError(f"{origin}: languages must be codes such as 'en'; restore the file from a copy")
    config = check(ModelConfig, description.get("model"), str(origin))
    decode = check(DecodeConfig, description.get("decode"), str(origin))
    form = description.get("form", "NFC")
    if form not in ("NFC", "NFKC"):
        raise UserError(f"{origin}: form must be NFC or NFKC; restore the file from a copy")
    return config, decode, (source, target), form


def _with_weights(config: ModelConfig, path: Path) -> Seq2Seq:
    """Compare names and shapes with the file's header before allocating anything, then take its tensors as weights."""
    with torch.device("meta"):
        model = build(config)
    expected = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()
            found = {name: list(file.get_slice(name).get_shape()) for name in names}
            for name in sorted(found.keys() | expected.keys()):
                if found.get(name) != expected.get(name):
                    raise UserError(
                        f"{path}: {name} is {found.get(name, 'missing')} where config.json asks for "
                        f"{expected.get(name, 'none')}; the two belong to different models"
                    )
            weights = {name: file.get_tensor(name).to(torch.float32) for name in expected}
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: not readable as safetensors ({error}); restore it from a copy") from None
    for name, tensor in weights.items():
        if not tensor.isfinite().all():
            raise UserError(f"{path}: {name} holds numbers that are not finite; restore it from a copy")
    model.load_state_dict(weights, assign=True)
    return model


def _subwords(path: Path) -> bytes:
    if path.stat().st_size > SUBWORDS_LIMIT:
        raise UserError(f"{path}: {path.stat().st_size:,} bytes is too large for a vocabulary; restore it from a copy")
    return path.read_bytes()
