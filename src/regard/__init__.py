"""regard: the Transformer of "Attention Is All You Need" as one complete system.

The public names load what they need when first used, so that `import regard` does not pay for torch.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Config": "regard.config",
    "UserError": "regard.errors",
    "preset": "regard.presets",
    "build": "regard.model.build",
    "Subwords": "regard.text.subwords",
    "normalise": "regard.text.normalise",
    "Prepared": "regard.data.prepared",
    "prepare": "regard.data.prepare",
    "load": "regard.decode.load",
    "load_parser": "regard.decode.load",
    "translate_file": "regard.decode.document",
    "Options": "regard.decode.translator",
    "ParseOptions": "regard.decode.parser",
    "Sampling": "regard.decode.sampling",
    "load_model": "regard.model.saved",
    "save_model": "regard.model.saved",
}

__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
