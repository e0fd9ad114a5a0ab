"""Leave out pairs that are too long to train on; count and report them by corpus."""

from collections.abc import Callable

from regard.config.model import ModelConfig
from regard.config.run import Config
from regard.data.batches import Batches, TooLong, too_long
from regard.data.prepared import Prepared
from regard.errors import UserError


def longest(model: ModelConfig) -> int | None:
    """Return how many tokens, EOS included, a model with learned positions can read; None if there is no limit."""
    return model.position_limit


def check_lengths(config: Config, data: Prepared, batches: Batches) -> dict[str, TooLong]:
    """Return the pairs left out, by corpus; raise UserError if no pair of the validation set is left."""
    limit = longest(config.model)
    names = [*(split.name for split in data.report.train), "train.terminology"]  # which may be missing
    found = dict(zip(names, batches.too_long, strict=False))
    if data.valid is not None and limit is not None:
        found["valid"] = too_long(data.valid, limit)
        if len(data.valid) and found["valid"].pairs == len(data.valid):
            raise UserError(
                f"{data.directory}: all {len(data.valid):,} validation pairs are longer than model.max_length={limit}; "
                f"set it to {found['valid'].longest}, or prepare the data with shorter ones"
            )
    return {name: left for name, left in found.items() if left.pairs}


def warn_of_left_out(found: dict[str, TooLong], config: Config, warn: Callable[[str], None]) -> None:
    """Warn of pairs that are left out, in one sentence for each corpus."""
    limit = longest(config.model)
    for name, left in found.items():
        keys = [("train.batch_tokens", config.train.batch_tokens)] * (name != "valid")
        keys += [] if limit is None else [("model.max_length", limit)]
        key, allowed = min(keys, key=lambda pair: pair[1])
        warn(
            f"{name}: {left.pairs:,} {'pair is' if left.pairs == 1 else 'pairs are'} left out, with more tokens than "
            f"{key}={allowed} allows; the longest has {left.longest:,}"
        )
