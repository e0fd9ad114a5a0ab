"""A saved model without its weights: everything that is needed to prepare input and decode output."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

from regard import __version__
from regard.config.checked import Frozen, check
from regard.config.decode import DecodeConfig
from regard.config.model import ModelConfig
from regard.config.task import Task
from regard.errors import UserError
from regard.files import MANIFEST, check_manifest, read_bytes, read_json
from regard.saved.bundled import bundled, located
from regard.saved.weights import Storage
from regard.text.normalise import Form
from regard.text.vocabularies import SHARED, SOURCE, SYMBOLS, TARGET, Vocabularies, source_and_target

if TYPE_CHECKING:  # a run's settings are for training, and the others need torch
    from regard.config.run import Config
    from regard.model.seq2seq import Seq2Seq
    from regard.saved.folder import LoadedModel

FORMAT = 1
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
SUBWORDS = (SHARED, SOURCE, TARGET, SYMBOLS)
SUBWORDS_LIMIT = 64 << 20


class _Described(Frozen):
    """The settings in a model's config.json."""

    model: ModelConfig
    decode: DecodeConfig


@dataclass(frozen=True)
class SavedModel:
    """The metadata of a model, everything but its weights, from the trainer to the engine."""

    config: ModelConfig
    decode: DecodeConfig
    languages: tuple[str | None, str | None]
    """Source and target, as codes such as `en`."""
    form: Form
    """Unicode normalization form of its texts."""
    subwords: Mapping[str, bytes]
    """Subword models by file name: `subwords.model` for both languages, or `source.subwords.model` and
    `target.subwords.model`; a parser's target has `target.symbols.txt`."""
    storage: Storage = "float32"
    """The type in which its weights are stored; computation is in float32."""
    task: Task = "translation"
    terminology: bool = False
    """True if it was trained with terms in its sources (`train.terminology`), and so reads a glossary's there."""

    @classmethod
    def of_run(
        cls, config: "Config", subwords: Mapping[str, bytes], languages: tuple[str | None, str | None], form: Form
    ) -> Self:
        """Return the metadata of the model that a run trains."""
        return cls(
            config.model,
            config.decode,
            languages,
            form,
            subwords,
            task=config.task,
            terminology=config.train.terminology is not None,
        )

    @cached_property
    def vocabularies(self) -> Vocabularies:
        """Return the vocabularies of both sides, parsed once."""
        return source_and_target(self.subwords)

    def with_model(self, model: "Seq2Seq") -> "LoadedModel":
        """Return the same metadata with a model; vocabularies that were parsed stay parsed."""
        from regard.saved.folder import LoadedModel  # noqa: PLC0415  # it needs torch

        loaded = LoadedModel(**{field.name: getattr(self, field.name) for field in fields(SavedModel)}, model=model)
        if "vocabularies" in vars(self):
            vars(loaded)["vocabularies"] = self.vocabularies
        return loaded


def model_folder(model: str | Path) -> Path:
    """Return the folder of a saved model, or of the bundled model of this name."""
    folder = located(model)
    if not folder.is_dir():
        names = "".join(f", or {name}" for name in bundled())
        raise UserError(f"{folder}: no such folder; give the folder of a saved model, such as runs/x/model{names}")
    if not (folder / MANIFEST).exists() and (folder / "model" / MANIFEST).exists():
        raise UserError(f"{folder}: is the folder of a run; give its model, {folder / 'model'}")
    return folder


def read_saved(folder: Path, name: str = CONFIG, *, weights: Collection[str] = (WEIGHTS,)) -> SavedModel:
    """Read and verify everything of a model but its weights; of an export, by the names of its files."""
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
    described = check(_Described, {name: description.get(name) for name in ("model", "decode")}, str(origin))
    return SavedModel(
        described.model,
        described.decode,
        _languages(description, origin),
        _one_of(Form, description.get("form", "NFC"), "form", origin),
        {file: read_bytes(folder / file, SUBWORDS_LIMIT) for file in subwords},
        _one_of(Storage, description.get("weights", "float32"), "weights", origin),
        _one_of(Task, description.get("task", "translation"), "task", origin),
        description.get("terminology") is True,
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
