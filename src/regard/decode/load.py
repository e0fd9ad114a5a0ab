"""From the folder of a model to a translator or a parser with the engine that suits it.

regard.load("runs/x/model").translate(["Good morning.", "How are you?"])
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING

from regard.decode.ctranslate2_engine import CTranslate2Engine
from regard.decode.engines import Engine
from regard.decode.hypothesis import NO_NUMBERS
from regard.decode.translator import Translator, reach
from regard.engines.native.choice import why_not_taken, why_unavailable
from regard.errors import Failed, UserError
from regard.exchange.check_ctranslate2 import MODEL, SETTINGS, check_export
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
from regard.model.description import WEIGHTS, Description, load_description, model_folder
from regard.model.weights import read_weights
from regard.text.vocabularies import source_and_target

if TYPE_CHECKING:  # torch is imported when something needs it, which takes a second or two: CTranslate2 does not
    import torch

    from regard.decode.parser import Parser
    from regard.model.saved import Saved
    from regard.model.seq2seq import Seq2Seq

ENGINES = ("auto", "native", "ctranslate2", "torch")
NAMES = {"native": "The native engine", "ctranslate2": "CTranslate2"}


def load(
    path: str | Path, *others: str | Path, engine: str = "auto", device: str = "cpu", compile: bool = False
) -> Translator:
    """A saved model, ready to translate; or several with the same subwords, whose probabilities are averaged.

    path: a folder, or the name of a bundled model, such as en-de.
    engine: torch is the reference and computes every model anywhere. native and ctranslate2 compute one model on a CPU,
    faster, in int8 if its weights are written so or its export is; ctranslate2 takes the export in the model's folder.
    auto takes that export if there is one, else the fastest engine that can compute the model.
    compile: let torch.compile make kernels first; auto is torch then.
    """
    translator = _load(path, *others, engine=engine, device=device, compile=compile)
    if translator.saved.task != "translation":
        raise UserError(f"{path}: is a parser, and can't translate; use it with `regard parse`")
    return translator


def load_parser(path: str | Path, *others: str | Path, engine: str = "torch", device: str = "cpu") -> "Parser":
    """A saved model, ready to parse; or several with the same vocabularies, whose probabilities are averaged.

    engine: as for `load`; but ctranslate2 can't be held to trees, so whatever is searched with the constraint is
    computed by torch.
    """
    from regard.decode.parser import Parser

    found = _load(path, *others, engine=engine, device=device, compile=False)
    if found.saved.task != "parsing":
        raise UserError(f"{path}: translates, and can't parse; give a model that was trained on trees")
    return Parser(found.saved, found.engine)


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
    """One model, with the engine that suits it."""
    exported = (folder / FOLDER).is_dir()
    if exported:
        check_origin(folder / FOLDER, folder)
        if engine != "native":
            return _exported(folder / FOLDER, folder)
    described = load_description(folder)
    if engine == "native" or (engine == "auto" and why_not_taken(described.config) is None):
        return _native(folder)
    if engine == "auto" and inconvertible(described.config) is not None:
        return _with_torch(_device("cpu"), False, folder)
    return convert(folder, "int8" if described.storage == "int8" else "float32")


def _native(folder: Path) -> Translator:
    """A saved model in the native engine; in int8 if its weights or its export are."""
    from regard.engines.native.native_engine import NativeEngine

    described = load_description(folder)
    reason = why_unavailable(described.config)
    if reason is not None:
        raise UserError(f"{folder}: the native engine can't compute this model here, since {reason}; use --engine auto")
    check_vocabularies(described)
    later = _later(folder)
    engine = NativeEngine(
        described.config,
        read_weights(folder / WEIGHTS),
        int8=described.storage == "int8" or export_quantization(folder / FOLDER) in ("int8", "int8_float32"),
        reference=_reference(later, described),
    )
    return Translator(described, engine, later=later)


def convert(folder: Path, quantization: Quantization = "float32", *, alone: bool = False) -> Translator:
    """A saved model converted for CTranslate2 without an export: nothing stays on the disk.

    If `alone`, it translates as its export would without the model.
    """
    described = load_description(folder)
    check_convertible(described.config, folder)
    with TemporaryDirectory(prefix="regard-") as temporary:
        write_ctranslate2(Path(temporary), described, read_weights(folder / WEIGHTS), quantization)
        return _fast(Path(temporary), described, None if alone else _later(folder))


def live(saved: "Saved") -> Translator:
    """A model that is still being trained, with the engine that `load` would choose: what it says now is what its
    saved model will say."""
    import numpy as np

    from regard.model.saved import as_arrays

    on_cpu = next(saved.model.parameters()).device.type == "cpu"
    if not on_cpu or inconvertible(saved.config) is not None:
        return Translator(saved)
    weights = as_arrays(saved.model.state_dict())
    if not all(np.isfinite(weight).all() for weight in weights.values()):  # CTranslate2 would translate all the same
        raise Failed(NO_NUMBERS)
    try:
        with TemporaryDirectory(prefix="regard-") as temporary:
            write_ctranslate2(Path(temporary), saved, weights, "float32")
            return _fast(Path(temporary), saved, lambda: saved.model)
    except OSError:  # a full disk must not end a training; the reference says the same, more slowly
        return Translator(saved)


def _exported(export: Path, folder: Path | None = None) -> Translator:
    """An export, with the folder of the model that it was made from, if that is there."""
    described = load_description(export, DESCRIPTION, weights=(MODEL, SETTINGS))
    check_convertible(described.config, export)
    pieces = [subwords.pieces(range(subwords.size)) for subwords in source_and_target(described.subwords)]
    check_export(export, described.config, *pieces)
    return _fast(export, described, None if folder is None else _later(folder))


def _later(folder: Path) -> "Callable[[], Seq2Seq]":
    """Reads the weights when they are first wanted; of several threads, one."""
    reading = Lock()

    @cache
    def weighted() -> "Seq2Seq":
        from regard.model.saved import load_model

        return load_model(folder).model

    def later() -> "Seq2Seq":
        with reading:
            return weighted()

    return later


def _fast(export: Path, described: Description, later: "Callable[[], Seq2Seq] | None") -> Translator:
    """CTranslate2 in front, and the model itself, if it can be had, for what that can't do."""
    pieces = [subwords.pieces(range(subwords.size)) for subwords in source_and_target(described.subwords)]
    most = positions(described.config)
    if later is None:
        return Translator(described, CTranslate2Engine(export, *pieces, positions=most), has_weights=False)
    reference = _reference(later, described)
    return Translator(described, CTranslate2Engine(export, *pieces, positions=most, reference=reference), later=later)


def _reference(later: "Callable[[], Seq2Seq]", described: Description) -> Callable[[], Engine]:
    """The engine that computes what a fast one can't."""

    def reference() -> Engine:
        from regard.decode.torch_engine import TorchEngine

        return TorchEngine(later(), longest=reach(described))

    return reference


def _with_torch(place: "torch.device", compile: bool, path: Path, *others: Path) -> Translator:
    from regard.decode.ensemble import Ensemble
    from regard.decode.torch_engine import TorchEngine
    from regard.model.compiled import compile_search
    from regard.model.saved import load_model

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
