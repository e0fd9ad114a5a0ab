"""Decide whether the native engine can run a model here, and whether it is no slower than CTranslate2."""

from regard.config.model import ModelConfig
from regard.engines.native.library import Unavailable, isa, library

MEASURED: dict[str, float] = {"avx512-vnni": 1.46, "avx2": 1.08}
"""Speed relative to CTranslate2 by instruction set, in sentences per CPU-second of a greedy search: the least of all
starts (benchmarks/README.md). `auto` chooses the native engine where it is not slower, and nowhere that it was not
measured."""


def why_unavailable(config: ModelConfig | None = None) -> str | None:
    """Return why the native engine can't be used here, or not for this model; None if it can."""
    try:
        library()
    except Unavailable as error:
        return str(error)
    if config is None:
        return None
    from regard.engines.native.pack import unsupported  # noqa: PLC0415  # not imported unless the engine is an option

    return unsupported(config)


def why_not_taken(config: ModelConfig | None = None) -> str | None:
    """Return why `auto` does not choose the native engine for a model; None if it does."""
    reason = why_unavailable()
    if reason is not None:
        return reason
    ratio = MEASURED.get(isa())
    if ratio is None:
        return f"its speed with {isa()} was not measured yet"
    return why_unavailable(config) if ratio >= 1 else f"CTranslate2 is faster where there is only {isa()}"
