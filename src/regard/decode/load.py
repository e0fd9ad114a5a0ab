"""From the folder of a model to a translator with the engine that suits it.

regard.load("runs/x/model").translate(["Good morning.", "How are you?"])
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from regard.decode.ctranslate2_engine import CTranslate2Engine
from regard.decode.engines import TorchEngine
from regard.decode.ensemble import Ensemble
from regard.decode.translator import Translator, reach
from regard.errors import UserError
from regard.exchange.to_ctranslate2 import (
    DESCRIPTION,
    FOLDER,
    Quantization,
    check_convertible,
    check_origin,
    inconvertible,
    is_export,
    positions,
    write_ctranslate2,
)
from regard.model.compiled import compile_search
from regard.model.saved import Saved, load_description, load_model
from regard.model.seq2seq import Seq2Seq
from regard.text.subwords import source_and_target

ENGINES = ("auto", "ctranslate2", "torch")


def load(
    path: str | Path, *others: str | Path, engine: str = "auto", device: str = "cpu", compile: bool = False
) -> Translator:
    """A saved model, ready to translate; or several with the same subwords, whose probabilities are averaged.

    engine: torch is the reference and computes every model anywhere. ctranslate2 computes one model on a CPU, faster;
    it takes the export in the model's folder, or converts the model now. auto takes ctranslate2 where it can.
    compile: let torch.compile make kernels first; auto is torch then.
    """
    if engine not in ENGINES:
        raise UserError(f"no engine is called {engine!r}; there are {', '.join(ENGINES)}")
    if compile and engine == "ctranslate2":
        raise UserError("CTranslate2 has nothing to compile; leave out --compile or say --engine torch")
    place, folder = _device(device), Path(path)
    alone = not others and place.type == "cpu"
    if is_export(folder):
        if engine == "torch" or compile or not alone:
            raise UserError(
                f"{folder}: is an export for CTranslate2, which computes alone and on a CPU; give the model that was "
                "exported"
            )
        return _exported(folder)
    if engine == "torch" or compile or (engine == "auto" and not alone):
        translator = _with_torch(place, folder, *map(Path, others))
        if compile:
            compile_search(translator.model)
        return translator
    if not alone:
        raise UserError("CTranslate2 computes one model on a CPU; leave out --engine, so that torch computes the rest")
    if (folder / FOLDER).is_dir():
        check_origin(folder / FOLDER, folder)
        return _exported(folder / FOLDER, folder)
    saved = load_model(folder)
    if engine == "auto" and inconvertible(saved.config) is not None:
        return Translator(saved)
    return convert(folder, saved)


def convert(folder: Path, saved: Saved, quantization: Quantization = "float32", *, alone: bool = False) -> Translator:
    """A saved model converted for CTranslate2 without an export: nothing stays on the disk.

    If `alone`, it translates as its export would without the model.
    """
    check_convertible(saved.config, folder)
    with TemporaryDirectory(prefix="regard-") as temporary:
        write_ctranslate2(Path(temporary), saved, quantization)
        saved.model.to("meta")  # makes room; the weights are read again should they be needed
        return _fast(Path(temporary), saved, None if alone else _later(folder))


def live(saved: Saved) -> Translator:
    """A model that is still being trained, with the engine that `load` would choose: what it says now is what its
    saved model will say."""
    on_cpu = next(saved.model.parameters()).device.type == "cpu"
    if not on_cpu or inconvertible(saved.config) is not None:
        return Translator(saved)
    try:
        with TemporaryDirectory(prefix="regard-") as temporary:
            write_ctranslate2(Path(temporary), saved, "float32")
            return _fast(Path(temporary), saved, lambda: saved.model)
    except OSError:  # a full disk must not end a training; the reference says the same, more slowly
        return Translator(saved)


def _exported(export: Path, folder: Path | None = None) -> Translator:
    """An export, with the folder of the model that it was made from, if that is there."""
    return _fast(export, load_description(export, DESCRIPTION), None if folder is None else _later(folder))


def _later(folder: Path) -> Callable[[], Seq2Seq]:
    return cache(lambda: load_model(folder).model)


def _fast(export: Path, saved: Saved, later: Callable[[], Seq2Seq] | None) -> Translator:
    """CTranslate2 in front, and the model itself, if it can be had, for what that can't do."""
    pieces = [subwords.pieces(range(subwords.size)) for subwords in source_and_target(saved.subwords)]
    most = positions(saved.config)
    if later is None:
        return Translator(saved, CTranslate2Engine(export, *pieces, positions=most), has_weights=False)
    engine = CTranslate2Engine(
        export, *pieces, positions=most, reference=lambda: TorchEngine(later(), longest=reach(saved))
    )
    return Translator(saved, engine, later=later)


def _with_torch(place: torch.device, path: Path, *others: Path) -> Translator:
    first, *rest = (load_model(folder, place) for folder in (path, *others))
    for folder, saved in zip(others, rest, strict=True):
        if saved.subwords != first.subwords:
            raise UserError(f"{folder}: its subwords are not those of {path}, so the two can't translate together")
    if not rest:
        return Translator(first)
    ensemble = Ensemble([saved.model for saved in (first, *rest)])
    reaches = [longest for saved in (first, *rest) if (longest := reach(saved)) is not None]
    return Translator(first, TorchEngine(ensemble, longest=min(reaches, default=None)), model=ensemble)


def _device(name: str) -> torch.device:
    try:
        return torch.zeros(0, device=name).device
    except (RuntimeError, AssertionError, NotImplementedError):
        raise UserError(f"{name!r} is not a device that torch can use here; cpu always is") from None
