"""regard: the Transformer of "Attention Is All You Need" as one complete system.

The public names are imported on first use, so that `import regard` does not import torch.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.api import train as train
    from regard.bulk.translate import translate_shards as translate_shards
    from regard.config.presets import preset as preset
    from regard.config.run import Config as Config
    from regard.data.prepare import prepare as prepare
    from regard.data.prepared import Prepared as Prepared
    from regard.errors import UserError as UserError
    from regard.evaluate.calibration import calibrate as calibrate
    from regard.evaluate.evaluation import evaluate as evaluate
    from regard.memory.pair import Pair as Pair
    from regard.memory.store import Memory as Memory
    from regard.model.build import build as build
    from regard.pairs.clean import clean as clean
    from regard.pairs.synthesise import synthesise as synthesise
    from regard.pairs.synthesise_shards import synthesise_shards as synthesise_shards
    from regard.recipe.train_pairs import train_pairs as train_pairs
    from regard.saved.folder import load_model as load_model
    from regard.saved.folder import save_model as save_model
    from regard.search.sampling import Sampling as Sampling
    from regard.terms.glossary import Glossary as Glossary
    from regard.text.normalise import normalise as normalise
    from regard.text.subwords import Subwords as Subwords
    from regard.translate.document import translate_file as translate_file
    from regard.translate.load import load as load
    from regard.translate.load import load_classifier as load_classifier
    from regard.translate.load import load_parser as load_parser
    from regard.translate.parser import ParseOptions as ParseOptions
    from regard.translate.translator import Options as Options
    from regard.tuning.tune import tune as tune

__version__ = "0.2.0"

_PUBLIC = {
    "Config": "regard.config.run",
    "Glossary": "regard.terms.glossary",
    "Memory": "regard.memory.store",
    "Options": "regard.translate.translator",
    "Pair": "regard.memory.pair",
    "ParseOptions": "regard.translate.parser",
    "Prepared": "regard.data.prepared",
    "Sampling": "regard.search.sampling",
    "Subwords": "regard.text.subwords",
    "UserError": "regard.errors",
    "build": "regard.model.build",
    "calibrate": "regard.evaluate.calibration",
    "clean": "regard.pairs.clean",
    "evaluate": "regard.evaluate.evaluation",
    "load": "regard.translate.load",
    "load_classifier": "regard.translate.load",
    "load_model": "regard.saved.folder",
    "load_parser": "regard.translate.load",
    "normalise": "regard.text.normalise",
    "prepare": "regard.data.prepare",
    "preset": "regard.config.presets",
    "save_model": "regard.saved.folder",
    "synthesise": "regard.pairs.synthesise",
    "synthesise_shards": "regard.pairs.synthesise_shards",
    "train": "regard.api",
    "train_pairs": "regard.recipe.train_pairs",
    "translate_file": "regard.translate.document",
    "translate_shards": "regard.bulk.translate",
    "tune": "regard.tuning.tune",
}

_PACKAGES = {"evaluate", "train"}  # of these names there are packages, too

__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604


def _public(name: str) -> Any:
    return getattr(import_module(_PUBLIC[name]), name)


class _CallablePackage(ModuleType):
    """A package whose name is also that of a public function: `regard.train(…)` and `regard.train.loop` both work."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return _public(self.__name__.rpartition(".")[2])(*arguments, **keywords)


class _Regard(ModuleType):
    """This package. The import system binds each sub-package as an attribute of it."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PUBLIC and isinstance(value, ModuleType):
            value.__class__ = _CallablePackage
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Regard


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    if name in _PACKAGES:
        return import_module(f"regard.{name}")
    return _public(name)


def __dir__() -> list[str]:
    return sorted(__all__)
