"""The training loop, with checkpoints from which an interrupted run resumes exactly."""

import math
import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Protocol

import torch
from torch import Tensor

from regard.code_version import code_version
from regard.config.run import Config
from regard.data.batches import Batches, Step
from regard.data.prepared import Prepared
from regard.errors import Failed, Interrupted, UserError
from regard.files import disk_mistakes, whole_directory
from regard.model.later.next_word import NextWordTransformer
from regard.saved.folder import write_model
from regard.saved.saved_model import SavedModel
from regard.train import checkpoint
from regard.train.averaging import final_count
from regard.train.card import card
from regard.train.checkpoint import Progress
from regard.train.distributed import World, join
from regard.train.environment import differences, environment
from regard.train.interrupt import Asked, listening
from regard.train.lengths import check_lengths, longest, tell
from regard.train.log import Log, Record
from regard.train.run import (
    CHECKPOINTS,
    LOG,
    MODEL,
    RUN,
    another_run,
    begin,
    check_own,
    fingerprint,
    record,
    run_writer,
    subword_files,
)
from regard.train.step import Trainer, Update, knows_bf16
from regard.train.validation import Validator, check_validation, validation_losses

DIVERGED = 10  # times the loss of a uniform guess, far above that of any model that can still learn


class Observer(Protocol):
    """Receives the progress of a run, such as a terminal or a test."""

    def step(self, number: int, update: Update) -> None:
        """Called after every step."""

    def record(self, record: Record) -> None:
        """Called with every line of the log."""

    def warn(self, sentence: str) -> None:
        """Called with a warning; the run continues."""


class Silence:
    """An observer that does nothing."""

    def step(self, number: int, update: Update) -> None: ...
    def record(self, record: Record) -> None: ...
    def warn(self, sentence: str) -> None: ...


def train(
    config: Config,
    data: Prepared,
    out: Path,
    *,
    weights: Mapping[str, Tensor] | None = None,
    validator: Validator | None = None,
    observer: Observer | None = None,
    fresh: bool = False,
) -> Path:
    """Train the model that `config` describes (see run.settle) until its last step; return the folder of the model.

    A run that was stopped or killed resumes from its newest valid checkpoint and ends with the same bits as one that
    was not. `weights` are those of an existing model to fine-tune. `validator` returns figures of the model at every
    checkpoint; they are logged beside loss and perplexity.
    """
    with join() as world:  # a call of its own, so that no local keeps the run alive
        return _trained(world, config, data, out, weights, validator, observer or Silence(), fresh=fresh)


def _trained(
    world: World,
    config: Config,
    data: Prepared,
    out: Path,
    weights: Mapping[str, Tensor] | None,
    validator: Validator | None,
    observer: Observer,
    *,
    fresh: bool,
) -> Path:
    with listening() as asked, ExitStack() as held:
        run = _Run(config, data, out, world, asked, validator, observer)
        if weights is not None:
            run.trainer.check(weights)

        def claim() -> Mapping[str, object]:
            with disk_mistakes(out):
                held.enter_context(run_writer(out))
                if (out / RUN).exists():
                    checkpoint.mend(out / CHECKPOINTS)
                if weights is None and config.start and (fresh or not checkpoint.steps(out / CHECKPOINTS)):
                    raise UserError(f"{out}: this run fine-tunes a model ({config.start}); give it with --from")
                return begin(out, config, fresh=fresh)

        changes = _agree(world, claim)
        with closing(run), run.lost_others_told():
            run.resume(weights, changes)
            run.go()
            return run.finish()


def _agree(world: World, claim: Callable[[], Mapping[str, object]]) -> Mapping[str, object]:
    """Run `claim` on the first process; if it fails, all processes stop, and only the first reports why."""
    changes: Mapping[str, object] = {}
    refusal: Exception | None = None
    if world.first:
        try:
            changes = claim()
        except (UserError, OSError) as error:
            refusal = error
    if world.total([float(refusal is not None)])[0]:
        raise refusal or UserError("the first process refused the run; its sentence says why")
    return changes


class _Run:
    """A run in progress on one process."""

    def __init__(
        self,
        config: Config,
        data: Prepared,
        out: Path,
        world: World,
        asked: Asked,
        validator: Validator | None,
        observer: Observer,
    ) -> None:
        self.config, self.data, self.out, self.world, self.asked = config, data, out, world, asked
        self.validator, self.observer = validator, observer
        check_validation(config, data, validator)
        self.checkpoints = out / CHECKPOINTS
        self.saved = SavedModel.of_run(config, subword_files(data), data.languages, data.config.form)
        self.trainer = Trainer(config.model, config.train, world)
        if isinstance(self.trainer.model, NextWordTransformer):
            self.trainer.assign(self.trainer.model.word_flags(*data.word_beginnings))
        self.longest = longest(config.model)
        settings = config.train
        self.batches = Batches(data.train, batch_tokens=settings.batch_tokens, seed=settings.seed, longest=self.longest)
        self.too_long = check_lengths(config, data, self.batches)
        self.progress = Progress(data=fingerprint(data.directory), environment=environment(world))
        self.log: Log | None = None

    def resume(self, weights: Mapping[str, Tensor] | None, changes: Mapping[str, object]) -> None:
        """Resume from the newest valid checkpoint, or start the run."""
        if self.config.train.precision == "bf16" and not knows_bf16(self.world.device):
            self.observer.warn(
                "train.precision=bf16: this processor has no bfloat16 instructions, so steps take many times as long "
                "as in float32; a new run without it would end sooner"
            )
        found = checkpoint.newest(self.checkpoints, self.observer.warn)
        if found is not None:
            changes = {**changes, **self._restore(found)}
        elif weights is not None:
            self.trainer.begin_with(weights)
        if self.world.total([float(self.progress.step)])[0] != self.progress.step * self.world.size:
            raise UserError(
                f"{self.checkpoints}: not the same for all processes; keep --out on a disk that all of them see"
            )
        if self.world.first:
            with checkpoint.disk_room(self.out, self.checkpoints):
                record(self.out, self.config)
                self.log = Log(self.out / LOG, self.progress.step, owed=self.progress.owed)
        tell(self.too_long, self.config, self.observer.warn)
        event = "begin" if found is None else "resume"
        left_out = {"too_long": {name: left.pairs for name, left in self.too_long.items()}} if self.too_long else {}
        made_by = {"processes": self.world.size, "code": code_version()}
        started = {"event": event, "steps": self.config.train.steps, **made_by}
        self._record({**started, **left_out, **changes})

    def _restore(self, found: checkpoint.Checkpoint) -> Mapping[str, object]:
        """Restore a checkpoint of this run; warn of, and return, what changed in the environment since."""
        path = checkpoint.folder(self.checkpoints, found.progress.step)
        check_own(path, self.config)
        if found.progress.data != self.progress.data:
            raise UserError(
                f"{self.data.directory}: not the data that {self.out} was trained on; "
                "give that data, choose another --out, or start over with --fresh"
            )
        if difference := self.trainer.mismatch(found.weights, found.tensors):
            raise another_run(path, difference)
        self.trainer.restore(found.weights, found.tensors, found.progress.updates)
        here = self.progress.environment
        self.progress = replace(found.progress, environment=here)
        changes = differences(found.progress.environment, here)
        if changes and self.progress.step < self.config.train.steps:
            told = ", ".join(f"{name} was {before} and is {now}" for name, (before, now) in changes.items())
            self.observer.warn(
                f"{self.out}: {told}; the run goes on, but may not end with the same bits as without that"
            )
        return {f"environment.{name}": change for name, change in changes.items()}

    def go(self) -> None:
        """Run the training loop."""
        settings, world = self.config.train, self.world
        group = settings.accumulate * world.size
        steps = self.batches.steps(self.progress.position, group=group, rank=world.rank, world=world.size)
        if self.progress.owed:
            self._validate()
            self._save()
        while self.progress.step < settings.steps and not self._stale():
            started = perf_counter()
            step, number = next(steps), self.progress.step + 1
            update = self.trainer.update(step, number, self.asked.__bool__)
            self._account(step, update, perf_counter() - started)
            self.observer.step(number, update)
            last = number == settings.steps
            if number % settings.log_every == 0 or last:
                self._log_window()
            regular, stop = number % settings.checkpoint_every == 0 or last, update.stop and not last
            if regular and not stop:
                self._validate()
            if regular or stop:
                self.progress = replace(self.progress, owed=regular and stop)
                self._save()
            if stop:
                raise Interrupted(
                    f"{self.out}: stopped after step {number} with everything saved; "
                    "run the same command again to go on",
                    self.asked.code,
                )
        if self.progress.step < settings.steps:
            self._record({"event": "early stop", "stale": self.progress.stale, "best_step": self.progress.best_step})

    def finish(self) -> Path:
        """Write the final model: the mean of the last checkpoints (section 6.1), the moving average or the best one."""
        path, settings = self.out / MODEL, self.config.train
        moving = settings.moving_average is not None
        if self.world.first:
            last = checkpoint.last_regular(self.checkpoints, settings.checkpoint_every, final_count(self.config))
            best = self.progress.best_step if settings.final == "best" else None
            chosen = [best] if best is not None else last
            weights, used = checkpoint.mean(self.checkpoints, chosen, self.observer.warn, moving=moving)
            text = card(self.config, self.data, used, self.out / LOG)
            with checkpoint.disk_room(path, self.checkpoints), whole_directory(path, replace=True) as temporary:
                write_model(temporary, self.saved, weights, card=text)
            self._record({"event": "model", "mean_of": used})
        self.world.wait()
        return path

    def close(self) -> None:
        if self.log is not None:
            self.log.close()

    @contextmanager
    def lost_others_told(self) -> Iterator[None]:
        """Convert an error of gloo or NCCL about a lost process to a one-sentence failure."""
        try:
            yield
        except RuntimeError as error:
            words = ("gloo", "Connection", "NCCL", "peer")
            if isinstance(error, Failed) or self.world.size == 1 or not any(word in str(error) for word in words):
                raise
            raise Failed(
                f"{self.out}: another process of this run was lost after step {self.progress.step} "
                f"({str(error).splitlines()[0]}); start the run again, and it goes on from its newest checkpoint"
            ) from error

    def _account(self, step: Step, update: Update, seconds: float) -> None:
        """Add a step's figures to the progress; stop the run after too many steps in a row that were not finite."""
        now, taken = self.progress, update.taken
        sums = {"steps": 1.0, "seconds": seconds, "seen": float(step.source_tokens + step.target_tokens)}
        if taken:
            sums |= {"taken": 1.0, "loss": update.loss, "nll": update.nll, "norm": update.norm}
            sums |= {"expected": float(step.target_tokens)}
        self.progress = replace(
            now,
            step=now.step + 1,
            updates=now.updates + taken,
            position=step.after,
            tokens=now.tokens + step.source_tokens + step.target_tokens,
            seconds=now.seconds + seconds,
            bad=0 if taken else now.bad + 1,
            window={key: now.window.get(key, 0.0) + sums.get(key, 0.0) for key in now.window.keys() | sums.keys()},
        )
        if not taken:
            numbers = self.world.joined([number for batch in step.batches for pair in batch.pairs for number in pair])
            pairs = list(zip(numbers[::2], numbers[1::2], strict=True))  # (corpus, number) of all processes
            skipped = {"event": "skipped", "loss": str(update.loss), "norm": str(update.norm)}
            self._record({**skipped, "position": step.position, "pairs": pairs})
            self.observer.warn(f"step {now.step + 1}: loss or gradient is not finite; the batch is skipped")
            if self.progress.bad >= self.config.train.bad_steps:
                raise Failed(
                    f"{self.out}: {self.progress.bad} steps in a row were not finite; the last checkpoint is intact; "
                    "begin a new run --from it with a lower learning rate, a longer warmup or train.clip=1"
                )

    def _log_window(self) -> None:
        sums = self.progress.window
        expected, taken = sums.get("expected", 0.0), sums.get("taken", 0.0)
        record: Record = {"event": "train", "epoch": self.progress.position.epoch}
        if taken:
            nll = sums["nll"] / expected
            record |= {"loss": sums["loss"] / expected, "nll": nll, "perplexity": math.exp(min(nll, 700.0))}
            record |= {"gradient_norm": sums["norm"] / taken}
        record |= {
            "rate": self.trainer.rate(self.progress.step),
            "tokens_per_second": round(sums["seen"] / sums["seconds"], 1),
            "tokens": self.progress.tokens,
            "seconds": round(self.progress.seconds, 3),
            "memory_mb": _memory_mb(self.world.device),
        }
        self._record(record)
        self.progress = replace(self.progress, window={})
        if taken:
            self._check_divergence("training loss", nll)

    def _check_divergence(self, what: str, nll: float) -> None:
        """Stop a run whose loss is far above that of a uniform distribution over the vocabulary."""
        uniform = math.log(self.config.model.vocabulary)
        if not nll <= DIVERGED * uniform:  # also true of NaN
            last = checkpoint.steps(self.checkpoints)
            kept = f"the checkpoint of step {last[-1]} is intact" if last else "there is no checkpoint yet"
            raise Failed(
                f"{self.out}: diverged: at step {self.progress.step} the {what} is {nll:.4g} nats a token, where a "
                f"model that has learned nothing has {uniform:.2f}; {kept}; begin a new run, or start over with "
                "--fresh, with a lower learning rate (train.peak_rate), a longer warmup or train.clip=1"
            )

    def _validate(self) -> None:
        """Compute and log loss and perplexity on the validation set, and the figures of the validator."""
        if self.data.valid is None or len(self.data.valid) == 0:
            return
        settings, now = self.config.train, self.progress
        objective = self.trainer.scored(undivided=self.validator is not None)
        loss, nll = validation_losses(
            objective, self.data.valid, settings.batch_tokens, self.world.device, self.longest
        )
        figures: dict[str, float | str] = {}
        if self.validator is not None and self.world.first:
            figures = dict(self.validator(objective.model))
        found = (loss, nll, float(figures.get("bleu", 0.0)))
        # The other processes wait here for the first one's figures, so that all agree on the best and on when to stop.
        loss, nll, bleu = self.world.total([value if self.world.first else 0.0 for value in found])
        if settings.best == "bleu":
            better = now.best_bleu is None or bleu > now.best_bleu
        else:
            better = math.isfinite(nll) and (now.best_loss is None or nll < now.best_loss)
        if better:
            best_bleu = bleu if settings.bleu else None
            now = replace(now, best_step=now.step, best_loss=nll, best_bleu=best_bleu, stale=0)
        else:
            now = replace(now, stale=now.stale + 1)
        self.progress = replace(now, owed=False)
        perplexity = math.exp(min(nll, 700.0))
        record = {"event": "validation", "loss": loss, "nll": nll, "perplexity": perplexity, "best": better}
        self._record({**record, **figures})
        if now.step >= settings.steps:  # a bad validation may pass on the way, but not at the end
            self._check_divergence("validation loss", nll)

    def _stale(self) -> bool:
        patience = self.config.train.patience
        return patience is not None and self.progress.stale >= patience

    def _save(self) -> None:
        """Write a checkpoint, then remove older ones."""
        weights, tensors = self.trainer.weights(), self.trainer.tensors()
        if self.log is not None:
            self.log.sync()
            checkpoint.save(self.checkpoints, self.progress, weights, tensors, self.saved, self.config)
            settings = self.config.train
            kept = checkpoint.last_regular(
                self.checkpoints, settings.checkpoint_every, max(settings.keep_last, settings.average_last)
            )
            best = {self.progress.best_step} if self.progress.best_step is not None else set()
            checkpoint.prune(self.checkpoints, {*kept, *best, self.progress.step})
        self.world.wait()

    def _record(self, record: Record) -> None:
        record = {"step": self.progress.step, **record}
        if self.log is not None:
            self.log.append(record)
            self.observer.record(record)


def _memory_mb(device: torch.device) -> float:
    """Return the peak memory of this process in MiB."""
    if device.type == "cuda":
        return round(torch.cuda.max_memory_allocated(device) / 2**20, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
