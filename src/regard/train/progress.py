"""The progress of a run: how far it is, its sums since the last line of the log, and its best validation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from regard.config.train import TrainConfig
from regard.data.batches import START, Position, StepBatches
from regard.train.log import Record
from regard.train.step import Update
from regard.train.validation import badness

MOST_NATS = 700.0  # whose exponential is still a float


@dataclass(frozen=True)
class RunProgress:
    """The progress of a run, as plain numbers."""

    step: int = 0
    updates: int = 0
    """Number of steps with a finite gradient, which updated the weights."""
    position: Position = START
    tokens: int = 0
    """Number of source and target tokens seen."""
    seconds: float = 0.0
    """Training time, summed over all processes that resumed the run in turn."""
    cpu_seconds: float = 0.0
    """Processor time of the first process in training steps, all its threads together."""
    pauses: float = 0.0
    """Time of validations and checkpoints, summed in the same way."""
    bad: int = 0
    """Number of skipped steps in a row."""
    best_step: int | None = None
    """Step of the checkpoint that was the best at its validation."""
    best_loss: float | None = None
    best_bleu: float | None = None
    best_chrf: float | None = None
    stale: int = 0
    """Number of validations in a row without a new best."""
    owed: bool = False
    """True if this step's validation is still due; a stopped run defers it, so that stopping is quick."""
    window: dict[str, float] = field(default_factory=dict)
    """Sums since the last line of the log."""
    data: str = ""
    """Checksum of the data's manifest."""
    environment: dict[str, str | int] = field(default_factory=dict)
    """Everything else that determines the bits of the result; see environment.py."""

    def after(self, step: StepBatches, update: Update, seconds: float, cpu_seconds: float = 0.0) -> "RunProgress":
        """Return the progress after a step, which took so many seconds, and of processor time."""
        taken = update.taken
        sums = {"steps": 1.0, "seconds": seconds, "seen": float(step.source_tokens + step.target_tokens)}
        if taken:
            sums |= {"taken": 1.0, "loss": update.loss, "nll": update.nll, "norm": update.norm}
            sums |= {"expected": float(step.target_tokens)}
            if update.reward is not None:
                sums |= {"reward": update.reward}
        return replace(
            self,
            step=self.step + 1,
            updates=self.updates + taken,
            position=step.after,
            tokens=self.tokens + step.source_tokens + step.target_tokens,
            seconds=self.seconds + seconds,
            cpu_seconds=self.cpu_seconds + cpu_seconds,
            bad=0 if taken else self.bad + 1,
            window={key: self.window.get(key, 0.0) + sums.get(key, 0.0) for key in self.window.keys() | sums.keys()},
        )

    def window_figures(self) -> Record:
        """Return the mean figures since the last line of the log; those of the loss only if a step was taken."""
        sums, figures = self.window, {"epoch": self.position.epoch}
        if sums.get("taken"):
            nll = sums["nll"] / sums["expected"]
            losses = {"loss": sums["loss"] / sums["expected"], "nll": nll, "perplexity": perplexity(nll)}
            rewards = {"reward": sums["reward"] / sums["taken"]} if "reward" in sums else {}
            return {**figures, **losses, "gradient_norm": sums["norm"] / sums["taken"], **rewards}
        return {**figures}

    def validated(self, settings: TrainConfig, found: Mapping[str, float]) -> tuple["RunProgress", bool]:
        """Return the progress after a validation that found `nll`, `bleu` and `chrf`, and whether it is the best."""
        best = {"nll": self.best_loss, "bleu": self.best_bleu, "chrf": self.best_chrf}
        if settings.best == "loss":
            better = math.isfinite(found["nll"]) and badness(found, None) < badness(best, None)
        else:
            better = best[settings.best] is None or badness(found, settings.best) < badness(best, settings.best)
        if not better:
            return replace(self, stale=self.stale + 1, owed=False), False
        bleu, chrf = (found["bleu"], found["chrf"]) if settings.bleu else (None, None)
        best_now = replace(self, best_step=self.step, best_loss=found["nll"], best_bleu=bleu, best_chrf=chrf)
        return replace(best_now, stale=0, owed=False), True


def perplexity(nll: float) -> float:
    return math.exp(min(nll, MOST_NATS))
