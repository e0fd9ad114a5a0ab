"""The learning rate at each step: warmup, then decay (section 5.3)."""

import math

from regard.config.train import TrainConfig


def rate(step: int, config: TrainConfig, d_model: int, time: float = 0.0) -> float:
    """Return the learning rate of a step, counted from 1.

    `time` is the share of train.max_minutes that has passed. If it is more than the share of the steps, the cosine
    follows it, so that a run on a machine that became slower also ends with a small rate.
    """
    warmup = max(config.warmup, 1)
    if config.schedule == "paper":  # equation 3
        return math.pow(d_model, -0.5) * min(math.pow(step, -0.5), step * math.pow(warmup, -1.5))
    assert config.peak_rate is not None
    if step < warmup:
        return config.peak_rate * step / warmup
    if config.schedule == "inverse-sqrt":
        return config.peak_rate * math.sqrt(warmup / step)
    if config.schedule == "cosine":
        passed = min(1.0, max(time, (step - warmup) / max(1, config.steps - warmup)))
        return config.peak_rate * 0.5 * (1.0 + math.cos(math.pi * passed))
    return config.peak_rate
