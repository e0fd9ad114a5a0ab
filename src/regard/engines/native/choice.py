"""Decide whether the native engine can run a model here, and whether it is the faster one."""

from regard.config.model import ModelConfig
from regard.engines.native.library import Unavailable, isa, library
from regard.engines.native.pack import unsupported

MEASURED: dict[str, float] = {}
"""Speed relative to CTranslate2 by instruction set, in sentences per CPU-second on an idle machine: the least of greedy
and beam 4, float32 and int8, with `small` and the bundled model. `auto` does not choose the native engine for an
instruction set that was not measured."""


def why_unavailable(config: ModelConfig | None = None) -> str | None:
    """Return why the native engine can't be used here, or not for this model; None if it can."""
    try:
        library()
    except Unavailable as error:
        return str(error)
    return None if config is None else unsupported(config)


def why_not_taken(config: ModelConfig | None = None) -> str | None:
    """Return why `auto` does not choose the native engine for a model; None if it does."""
    reason = why_unavailable(config)
    if reason is not None:
        return reason
    ratio = MEASURED.get(isa())
    if ratio is None:
        return f"its speed with {isa()} was not measured yet"
    return None if ratio >= 1 else f"CTranslate2 is faster where there is only {isa()}"
