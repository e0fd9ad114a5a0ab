"""CTranslate2, imported when it is first needed, and without torch and transformers.

It imports these in order to convert their models, which we don't need: we pass it numpy arrays. Importing them takes
several times as long as loading a model and translating a sentence.
"""

import sys
from functools import cache
from importlib import import_module
from typing import Any


@cache
def ctranslate2() -> Any:
    """Return the module."""
    hidden = [name for name in ("torch", "transformers") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: what can't be imported
    try:
        import_module("ctranslate2.specs.transformer_spec")
        return import_module("ctranslate2")
    finally:
        for name in hidden:
            del sys.modules[name]
