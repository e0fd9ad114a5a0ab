"""CTranslate2, imported without torch and transformers.

It imports these in order to convert their models, which we don't need: we pass it numpy arrays. Importing them takes
several times as long as loading a model and translating a sentence.
"""

import sys

_HIDDEN = [name for name in ("torch", "transformers") if name not in sys.modules]
sys.modules.update(dict.fromkeys(_HIDDEN))  # type: ignore[arg-type]  # None: what can't be imported
try:
    import ctranslate2
    from ctranslate2.specs import attention_spec, common_spec, transformer_spec
finally:
    for _name in _HIDDEN:
        del sys.modules[_name]

__all__ = ["attention_spec", "common_spec", "ctranslate2", "transformer_spec"]
