"""Measure how fast this machine trains a model."""

from collections.abc import Callable
from time import perf_counter

from regard.config.presets import preset
from regard.data.batches import Batches
from regard.data.prepared import Prepared
from regard.recipe.choices import Settings
from regard.train.distributed import join
from regard.train.run import settle
from regard.train.step import Trainer

BATCH = 1024  # tokens a side, before the batch is chosen: neither the smallest nor the largest
SECONDS = 3.0
STEPS = 20
FIRST = 1  # steps before the measurement, in which memory is allocated


def tokens_per_second(
    data: Prepared,
    name: str,
    changes: Settings,
    *,
    batch: int = BATCH,
    seconds: float = SECONDS,
    clock: Callable[[], float] = perf_counter,
) -> float:
    """Return the source and target tokens per second of a few steps with a preset on prepared data; nothing is kept.

    The measurement ends after STEPS steps, or with the step during which the `seconds` have passed. That can be the
    first: with two threads on a busy machine, one of them waits for the other at every barrier.
    """
    train = {
        "batch_tokens": batch,
        **{key: changes["train"][key] for key in ("precision",) if key in changes.get("train", {})},
    }
    config = settle(preset(name, model=changes.get("model", {}), train=train), data)
    with join() as world:
        trainer = Trainer(config.model, config.train, world)
        batches = Batches(data.train, batch_tokens=batch, seed=config.train.seed)
        tokens, started, elapsed = 0, clock(), 0.0
        for number, step in enumerate(batches.steps(), start=1):
            trainer.update(step, number)
            tokens += step.source_tokens + step.target_tokens
            elapsed = clock() - started
            if elapsed > seconds or number >= FIRST + STEPS:
                break
            if number == FIRST:
                tokens, started = 0, clock()
        return tokens / elapsed
