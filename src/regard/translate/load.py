"""Loading of a model folder as a translator or a parser with a suitable engine.

regard.load("runs/x/model").translate(["Good morning.", "How are you?"])
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING

from regard.config.model import TransformerConfig
from regard.engines.ctranslate2_engine import CTranslate2Engine
from regard.engines.engine import Engine
from regard.errors import Failed, UserError
from regard.exchange.kinds import has_words
from regard.exchange.to_ctranslate2 import (
    DESCRIPTION,
    FOLDER,
    Quantization,
    check_convertible,
    check_origin,
    check_vocabularies,
    export_quantization,
    inconvertible,
    is_export,
    positions,
    write_ctranslate2,
)
from regard.saved.calibration import read_calibration
from regard.saved.saved_model import WEIGHTS, SavedModel, model_folder, read_saved
from regard.saved.weights import read_weights
from regard.search.hypothesis import NO_NUMBERS
from regard.translate.translator import Translator, reach

if TYPE_CHECKING:  # torch is imported only when needed, which takes a second or two: CTranslate2 does without
    import torch

    from regard.model.seq2seq import Seq2Seq
    from regard.saved.folder import LoadedModel
    from regard.translate.classifier import Classifier
    from regard.translate.parser import Parser

ENGINES = ("auto", "native", "ctranslate2", "torch")
NAMES = {"native": "The native engine", "ctranslate2": "CTranslate2"}


def load(
    path: str | Path, *others: str | Path, engine: str = "auto", device: str = "cpu", compile: bool = False
) -> Translator:
    """Load a saved model for translation; or several with the same subwords, whose probabilities are averaged.

    path: a folder, or the name of a bundled model, such as en-de.
    engine: torch is the reference and computes every model anywhere. native and ctranslate2 compute one model on a CPU,
    faster, in int8 if its weights or its export are stored so; ctranslate2 uses the export in the model's folder.
    auto uses that export if there is one, else the fastest engine that can compute the model.
    compile: compile kernels with torch.compile first; auto is torch then.
    """
    translator = _load(path, *others, engine=engine, device=device, compile=compile)
    if translator.saved.task == "denoise":
        raise UserError(
            f"{path}: fills in text, and can't translate yet; train it on pairs: regard train --from {path}"
        )
    if translator.saved.task == "labels":
        raise UserError(f"{path}: labels texts, and can't translate; use it with `regard classify`")
    if translator.saved.task != "translation":
        raise UserError(f"{path}: is a parser, and can't translate; use it with `regard parse`")
    if not others:
        translator.calibration = read_calibration(model_folder(path))
    return translator


def load_parser(path: str | Path, *others: str | Path, engine: str = "torch", device: str = "cpu") -> "Parser":
    """Load a saved model for parsing; or several with the same vocabularies, whose probabilities are averaged.

    engine: as for `load`; but ctranslate2 can't apply the tree constraint, so torch computes every search that uses it.
    """
    from regard.translate.parser import Parser

    found = _load(path, *others, engine=engine, device=device, compile=False)
    if found.saved.task != "parsing":
        raise UserError(f"{path}: translates, and can't parse; give a model that was trained on trees")
    return Parser(found.saved, found.engine)


def load_classifier(path: str | Path, *, device: str = "cpu") -> "Classifier":
    """Load a saved model that was trained on labels."""
    from regard.saved.folder import load_model
    from regard.translate.classifier import Classifier

    saved = load_model(path, _device(device))
    if saved.task != "labels":
        raise UserError(f"{path}: has no labels; give a model trained on data of `regard prepare --task labels`")
    return Classifier(saved, saved.model)


def _load(path: str | Path, *others: str | Path, engine: str, device: str, compile: bool) -> Translator:
    if engine not in ENGINES:
        raise UserError(f"no engine is called {engine!r}; there are {', '.join(ENGINES)}")
    if compile and engine in NAMES:
        raise UserError(f"{NAMES[engine]} has nothing to compile; leave out --compile or say --engine torch")
    folder = model_folder(path)
    alone = not others and (device == "cpu" or _device(device).type == "cpu")
    if is_export(folder):
        if engine in ("torch", "native") or compile or not alone:
            raise UserError(
                f"{folder}: is an export for CTranslate2, which computes alone and on a CPU; give the model that was "
                "exported"
            )
        return _exported(folder)
    if engine == "torch" or compile or (engine == "auto" and not alone):
        return _with_torch(_device(device), compile, folder, *map(Path, others))
    if not alone:
        raise UserError(
            f"{NAMES[engine]} computes one model on a CPU; leave out --engine, so that torch computes the rest"
        )
    return _on_cpu(folder, engine)


def _on_cpu(folder: Path, engine: str) -> Translator:
    """Return a translator for one model, with the fastest suitable engine."""
    exported = (folder / FOLDER).is_dir()
    if exported:
        check_origin(folder / FOLDER, folder)
        if engine != "native":
            return _exported(folder / FOLDER, folder)
    saved = read_saved(folder)
    if has_words(saved):
        if engine != "auto":
            raise UserError(f"{folder}: has a vocabulary of words, which only torch computes; leave out --engine")
        return _with_torch(_device("cpu"), False, folder)
    if engine == "native" or (engine == "auto" and _native_is_faster(saved)):
        return _native(saved, folder)
    if engine == "auto" and inconvertible(saved.config) is not None:
        return _with_torch(_device("cpu"), False, folder)
    return _converted(saved, folder, "int8" if saved.storage == "int8" else "float32")


def _native_is_faster(saved: SavedModel) -> bool:
    from regard.engines.native.choice import why_not_taken

    return why_not_taken(saved.config) is None


def _native(saved: SavedModel, folder: Path) -> Translator:
    """Return a translator with the native engine; in int8 if the model's weights or its export are."""
    from regard.engines.native.choice import why_unavailable
    from regard.engines.native.native_engine import NativeEngine

    reason = why_unavailable(saved.config)
    if reason is not None:
        raise UserError(f"{folder}: the native engine can't compute this model here, since {reason}; use --engine auto")
    check_vocabularies(saved)
    assert isinstance(saved.config, TransformerConfig), "the others are not supported"
    later = _later(folder, saved)
    engine = NativeEngine(
        saved.config,
        read_weights(folder / WEIGHTS),
        int8=saved.storage == "int8" or export_quantization(folder / FOLDER) in ("int8", "int8_float32"),
        reference=_reference(later, saved),
    )
    return Translator(saved, engine, later=later)


def convert(folder: Path, quantization: Quantization = "float32", *, alone: bool = False) -> Translator:
    """Convert a saved model for CTranslate2 without an export: nothing stays on the disk.

    If `alone`, it translates as its export would without the model.
    """
    return _converted(read_saved(folder), folder, quantization, alone=alone)


def _converted(saved: SavedModel, folder: Path, quantization: Quantization, *, alone: bool = False) -> Translator:
    check_convertible(saved.config, folder)
    with TemporaryDirectory(prefix="regard-") as temporary:
        write_ctranslate2(Path(temporary), saved, read_weights(folder / WEIGHTS), quantization)
        return _fast(Path(temporary), saved, None if alone else _later(folder, saved))


def live(saved: "LoadedModel") -> Translator:
    """Return a translator for a model in training, with the engine that `load` would choose for it once saved."""
    import numpy as np

    from regard.saved.folder import as_arrays

    on_cpu = next(saved.model.parameters()).device.type == "cpu"
    if not on_cpu or inconvertible(saved.config) is not None or has_words(saved):
        return Translator(saved)
    weights = as_arrays(saved.model.state_dict())
    if not all(np.isfinite(weight).all() for weight in weights.values()):  # CTranslate2 would not notice
        raise Failed(NO_NUMBERS)
    try:
        with TemporaryDirectory(prefix="regard-") as temporary:
            write_ctranslate2(Path(temporary), saved, weights, "float32")
            return _fast(Path(temporary), saved, lambda: saved.model)
    except OSError:  # a full disk must not end a training; the reference gives the same result, more slowly
        return Translator(saved)


def _exported(export: Path, folder: Path | None = None) -> Translator:
    """Load an export, with the folder of the model that it was made from, if available."""
    from regard.exchange.check_ctranslate2 import MODEL, SETTINGS, check_export

    described = read_saved(export, DESCRIPTION, weights=(MODEL, SETTINGS))
    check_convertible(described.config, export)
    pieces = [subwords.pieces(range(subwords.size)) for subwords in described.vocabularies]
    assert isinstance(described.config, TransformerConfig), "others are not convertible"
    check_export(export, described.config, *pieces)
    return _fast(export, described, None if folder is None else _later(folder))


def _later(folder: Path, saved: SavedModel | None = None) -> "Callable[[], Seq2Seq]":
    """Return a function that reads the weights when first called, once for all threads.

    `saved` is given where the folder was read and checked already.
    """
    reading = Lock()

    @cache
    def weighted() -> "Seq2Seq":
        from regard.saved.folder import load_model, load_weights

        return (load_model(folder) if saved is None else load_weights(saved, folder)).model

    def later() -> "Seq2Seq":
        with reading:
            return weighted()

    return later


def _fast(export: Path, described: SavedModel, later: "Callable[[], Seq2Seq] | None") -> Translator:
    """Return a translator with CTranslate2, and the model itself, if available, for what CTranslate2 can't do."""
    pieces = [subwords.pieces(range(subwords.size)) for subwords in described.vocabularies]
    most = positions(described.config)
    if later is None:
        return Translator(described, CTranslate2Engine(export, *pieces, positions=most), has_weights=False)
    reference = _reference(later, described)
    return Translator(described, CTranslate2Engine(export, *pieces, positions=most, reference=reference), later=later)


def _reference(later: "Callable[[], Seq2Seq]", described: SavedModel) -> Callable[[], Engine]:
    """Return a function that creates the reference engine, for what a fast one can't compute."""

    def reference() -> Engine:
        from regard.engines.torch_engine import TorchEngine

        return TorchEngine(later(), longest=reach(described))

    return reference


def _with_torch(place: "torch.device", compile: bool, path: Path, *others: Path) -> Translator:
    from regard.engines.torch_engine import TorchEngine
    from regard.model.kernels.compiled import compile_search
    from regard.saved.folder import load_model
    from regard.search.ensemble import Ensemble

    first, *rest = (load_model(folder, place) for folder in (path, *others))
    for folder, saved in zip(others, rest, strict=True):
        if saved.subwords != first.subwords:
            raise UserError(f"{folder}: its subwords are not those of {path}, so the two can't translate together")
    model: Seq2Seq = Ensemble([saved.model for saved in (first, *rest)]) if rest else first.model
    if compile:
        compile_search(model)
    reaches = [longest for saved in (first, *rest) if (longest := reach(saved)) is not None]
    return Translator(first, TorchEngine(model, longest=min(reaches, default=None)), later=lambda: model)


def _device(name: str) -> "torch.device":
    import torch

    try:
        return torch.zeros(0, device=name).device
    except (RuntimeError, AssertionError, NotImplementedError):
        raise UserError(f"{name!r} is not a device that torch can use here; cpu always is") from None
