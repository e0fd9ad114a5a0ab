"""Measure how fast this machine trains a model."""

from time import perf_counter

from regard.config.presets import preset
from regard.data.batches import Batches
from regard.data.prepared import Prepared
from regard.recipe.choices import Settings
from regard.train.distributed import join
from regard.train.run import settle
from regard.train.step import Trainer

BATCH = 1024  # tokens a side: neither the smallest nor the largest that is chosen
SECONDS = 3.0
STEPS = 20
FIRST = 1  # steps before the measurement, in which memory is allocated


def tokens_per_second(data: Prepared, name: str, changes: Settings, *, seconds: float = SECONDS) -> float:
    """Return the source and target tokens per second of a few steps with a preset on prepared data; nothing is kept."""
    train = {
        "batch_tokens": BATCH,
        **{key: changes["train"][key] for key in ("precision",) if key in changes.get("train", {})},
    }
    config = settle(preset(name, model=changes.get("model", {}), train=train), data)
    with join() as world:
        trainer = Trainer(config.model, config.train, world)
        batches = Batches(data.train, batch_tokens=BATCH, seed=config.train.seed)
        tokens, started = 0, perf_counter()
        for number, step in enumerate(batches.steps(), start=1):
            trainer.update(step, number)
            if number == FIRST:
                tokens, started = 0, perf_counter()
            tokens += step.source_tokens + step.target_tokens
            if number > FIRST and (number >= FIRST + STEPS or perf_counter() - started > seconds):
                break
        return tokens / (perf_counter() - started)
