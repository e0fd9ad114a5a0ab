"""What a model is, without its weights: read, checked, and enough to prepare its input and understand its output."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from regard import __version__
from regard.config.checked import check
from regard.config.data import Task
from regard.config.decode import DecodeConfig
from regard.config.model import ModelConfig
from regard.config.run import Config
from regard.errors import UserError
from regard.files import check_manifest, read_bytes, read_json
from regard.saved.bundled import bundled, located
from regard.saved.weights import Storage

Form = Literal["NFC", "NFKC"]
FORMAT = 1
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
SUBWORDS = ("subwords.model", "source.subwords.model", "target.subwords.model", "target.symbols.txt")
SUBWORDS_LIMIT = 64 << 20


@dataclass(frozen=True)
class Description:
    """What belongs to a model."""

    config: ModelConfig
    decode: DecodeConfig
    languages: tuple[str | None, str | None]
    """Source and target, as codes such as `en`."""
    form: Form
    """The Unicode form that its texts had."""
    subwords: dict[str, bytes]
    """By file name: `subwords.model` for both languages, or `source.` and `target.subwords.model`; a parser's target
    has `target.symbols.txt`."""
    storage: Storage = "float32"
    """How its weights are written; they are computed with in float32."""
    task: Task = "translation"


def model_folder(model: str | Path) -> Path:
    """The folder of a saved model, or of the bundled one that has this name."""
    folder = located(model)
    if not folder.is_dir():
        names = "".join(f", or {name}" for name in bundled())
        raise UserError(f"{folder}: no such folder; give the folder of a saved model, such as runs/x/model{names}")
    return folder


def load_description(folder: Path, name: str = CONFIG, *, weights: Collection[str] = (WEIGHTS,)) -> Description:
    """Read all of a model but its weights; from an export, too, by the files' names there."""
    subwords = [file for file in SUBWORDS if (folder / file).exists()]
    check_manifest(folder, needed=(name, *weights, *subwords))
    description, origin = read_json(folder / name), folder / name
    if not isinstance(description, dict) or not isinstance(description.get("format"), int):
        raise UserError(f"{origin}: does not describe a regard model; give the folder of a saved model")
    if description["format"] != FORMAT:
        number, version = (str(description.get(key))[:20] for key in ("format", "regard"))
        raise UserError(
            f"{origin}: format {number}, made by regard {version}, "
            f"is not one that regard {__version__} reads (format {FORMAT}); install the version that made it"
        )
    described = check(Config, {name: description.get(name) for name in ("model", "decode")}, str(origin))
    return Description(
        described.model,
        described.decode,
        _languages(description, origin),
        _one_of(Form, description.get("form", "NFC"), "form", origin),
        {file: read_bytes(folder / file, SUBWORDS_LIMIT) for file in subwords},
        _one_of(Storage, description.get("weights", "float32"), "weights", origin),
        _one_of(Task, description.get("task", "translation"), "task", origin),
    )


def _languages(description: dict[str, Any], origin: Path) -> tuple[str | None, str | None]:
    languages = description.get("languages")
    if not isinstance(languages, dict):
        raise UserError(f"{origin}: languages is missing; restore the file from a copy")
    source, target = languages.get("source"), languages.get("target")
    if not all(code is None or isinstance(code, str) for code in (source, target)):
        raise UserError(f"{origin}: languages must be codes such as 'en'; restore the file from a copy")
    return source, target


def _one_of(choices: Any, given: Any, key: str, origin: Path) -> Any:
    if given not in get_args(choices):
        raise UserError(f"{origin}: {key} must be {' or '.join(get_args(choices))}; restore the file from a copy")
    return given
