"""Whether the native engine can compute a model here, and whether it is the faster one."""

from regard.config import ModelConfig
from regard.engines.native.library import Unavailable, isa, library
from regard.engines.native.pack import unsupported

MEASURED: dict[str, float] = {"avx2": 1.1}
"""By instruction set, sentences for each CPU-second over those of CTranslate2: the least of greedy and beam 4, float32
and int8, with `small` and the bundled model (Zen 3, on a busy machine). What was not measured is not taken unasked."""


def why_unavailable(config: ModelConfig | None = None) -> str | None:
    """Why the native engine can't be used here, or not for this model; None if it can."""
    try:
        library()
    except Unavailable as error:
        return str(error)
    return None if config is None else unsupported(config)


def why_not_taken(config: ModelConfig | None = None) -> str | None:
    """Why `auto` leaves a model to another engine; None if it takes the native one."""
    reason = why_unavailable(config)
    if reason is not None:
        return reason
    ratio = MEASURED.get(isa())
    if ratio is None:
        return f"its speed with {isa()} was not measured yet"
    return None if ratio >= 1 else f"CTranslate2 is faster where there is only {isa()}"
