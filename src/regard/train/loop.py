"""The training loop, with checkpoints from which an interrupted run resumes exactly."""

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

from torch import Tensor

from regard.code_version import training_version
from regard.config.run import Config
from regard.data.batches import Batches, StepBatches
from regard.data.prepared import Prepared
from regard.data.redraw import Redraw
from regard.errors import Failed, Interrupted, UserError
from regard.files import disk_mistakes, whole_directory
from regard.model.later.next_word import NextWordTransformer
from regard.saved.folder import write_model
from regard.saved.saved_model import SavedModel
from regard.train import checkpoint
from regard.train.card import card
from regard.train.distributed import World, join, reporting_lost_processes
from regard.train.environment import differences, environment, peak_memory_mb
from regard.train.final import MEAN, final_model, measured_mean
from regard.train.interrupt import StopRequest, listening
from regard.train.lengths import check_lengths, longest, warn_of_left_out
from regard.train.log import Log, Observer, Record, Silence
from regard.train.objective.loss import Objective
from regard.train.progress import RunProgress, perplexity
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
from regard.train.terminology import with_terms
from regard.train.validation import Validator, check_validation, score_of, validation_losses

COMPARED = ("loss", "nll", "bleu", "chrf")  # figures of a validation that all processes know
DIVERGED = 10  # times the loss of a uniform guess: no model recovers from that


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
    with join(config.train.wait_minutes) as world:  # a call of its own, so that no local keeps the run alive
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
                    checkpoint.repair(out / CHECKPOINTS)
                if weights is None and config.start and (fresh or not checkpoint.steps(out / CHECKPOINTS)):
                    raise UserError(f"{out}: this run fine-tunes a model ({config.start}); give it with --from")
                return begin(out, config, fresh=fresh)

        changes = world.first_alone(claim)
        with closing(run), reporting_lost_processes(world, run.lost):
            run.resume(weights, changes or {})
            run.go()
            return run.finish()


class _Run:
    """A run in progress on one process."""

    def __init__(
        self,
        config: Config,
        data: Prepared,
        out: Path,
        world: World,
        asked: StopRequest,
        validator: Validator | None,
        observer: Observer,
    ) -> None:
        self.config, self.data, self.out, self.world, self.asked = config, data, out, world, asked
        self.validator, self.observer = validator, observer
        check_validation(config, data, validator)
        if config.train.max_minutes is not None and world.size > 1:
            raise UserError("train.max_minutes is for a run of one process; set train.steps instead")
        if config.train.update_batches is not None and config.train.update_batches % world.size:
            raise UserError(
                f"train.update_batches={config.train.update_batches} can't be shared evenly by {world.size} processes; "
                "set it to a multiple of that"
            )
        self.checkpoints = out / CHECKPOINTS
        self.saved = SavedModel.of_run(config, subword_files(data), data.languages, data.config.form)
        self.trainer = Trainer(config.model, config.train, world)
        if isinstance(self.trainer.model, NextWordTransformer):
            self.trainer.assign(self.trainer.model.word_flags(*data.word_beginnings))
        self.longest = longest(config.model)
        settings = config.train
        tokens, seed = settings.batch_tokens, settings.seed
        most = tokens if self.longest is None else min(tokens, self.longest)
        redraw = Redraw.of(data, seed, settings.subword_sampling, most)
        splits = with_terms(data, settings.terminology)
        self.batches = Batches(splits, batch_tokens=tokens, seed=seed, longest=self.longest, redraw=redraw)
        self.too_long = check_lengths(config, data, self.batches)
        self.progress = RunProgress(
            data=fingerprint(data.directory, settings.terminology), environment=environment(world)
        )
        self.log: Log | None = None

    def resume(self, weights: Mapping[str, Tensor] | None, changes: Mapping[str, object]) -> None:
        """Resume from the newest valid checkpoint, or start the run."""
        if self.config.train.precision == "bf16" and not knows_bf16(self.world.device):
            self.observer.warn(
                "train.precision=bf16: this processor has no bfloat16 instructions, so steps take many times as long "
                "as in float32; a new run without it would end sooner"
            )
        if not self.world.agrees(self.progress.data):
            raise UserError(f"{self.data.directory}: not the same on all hosts; copy the same prepared data to each")
        found = checkpoint.newest(self.checkpoints, self.observer.warn)
        if found is not None:
            changes = {**changes, **self._restore(found)}
        elif weights is not None:
            self.trainer.assign(weights)
        if self.world.total([float(self.progress.step)])[0] != self.progress.step * self.world.size:
            raise UserError(
                f"{self.checkpoints}: not the same for all processes; keep --out on a disk that all of them see"
            )
        if self.world.first:
            with checkpoint.disk_room(self.out, self.checkpoints):
                record(self.out, self.config)
                self.log = Log(self.out / LOG, self.progress.step, owed=self.progress.owed)
        warn_of_left_out(self.too_long, self.config, self.observer.warn)
        event = "begin" if found is None else "resume"
        left_out = {"too_long": {name: left.pairs for name, left in self.too_long.items()}} if self.too_long else {}
        made_by = {"processes": self.world.size, "code": training_version(self.config.train.objective)}
        started = {"event": event, "steps": self.config.train.steps, **made_by}
        self._record({**started, **left_out, **changes})

    def _restore(self, found: checkpoint.Checkpoint) -> Mapping[str, object]:
        """Restore a checkpoint of this run; warn of changes in the environment since, and return them."""
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
        group = settings.update_batches or settings.accumulate * world.size
        steps = self.batches.steps(self.progress.position, group=group, rank=world.rank, world=world.size)
        if self.progress.owed:
            self._pause(self._validate, self._save)
        late = self._late()
        while self.progress.step < settings.steps and not self._stale() and not late:
            started, started_cpu = perf_counter(), process_time()
            step, number = next(steps), self.progress.step + 1
            update = self.trainer.update(step, number, self.asked.__bool__, time=self._time())
            self._account(step, update, perf_counter() - started, process_time() - started_cpu)
            self.observer.step(number, update)
            late = self._late()  # before a checkpoint takes time, so that a run that is over stays over on resuming
            last = number == settings.steps or late
            if number % settings.log_every == 0 or last:
                self._log_window()
            regular, stop = number % settings.checkpoint_every == 0 or last, update.stop and not last
            if stop:
                self.progress = replace(self.progress, owed=regular)
                self._pause(self._save)
            elif regular:
                self._pause(self._validate, self._save)
            if stop:
                raise Interrupted(
                    f"{self.out}: stopped after step {number} with everything saved; "
                    "run the same command again to go on",
                    self.asked.code,
                )
        if self.progress.step < settings.steps:
            event = "early stop" if self._stale() else "time is up"
            self._record({"event": event, "stale": self.progress.stale, "best_step": self.progress.best_step})

    def _pause(self, *work: Callable[[], None]) -> None:
        """Do work between two steps, and count its time as a pause."""
        started = perf_counter()
        for part in work:
            part()
        self.progress = replace(self.progress, pauses=self.progress.pauses + perf_counter() - started)
        self.observer.phase("training")

    def _time(self) -> float:
        """Return the share of train.max_minutes that has passed; 0 without such a limit."""
        limit = self.config.train.max_minutes
        return 0.0 if limit is None else (self.progress.seconds + self.progress.pauses) / (60 * limit)

    def _late(self) -> bool:
        return self._time() >= 1.0

    def finish(self) -> Path:
        """Write the final model: the best of mean, best and last, or the one that train.final names."""
        path = self.out / MODEL
        if self.world.first:
            self.observer.phase("choosing and writing the model")
            started = perf_counter()
            measure = self._mean_figures if self.data.valid is not None and len(self.data.valid) else None
            final = final_model(self.out, self.config, self.progress.best_step, measure, self.observer.warn)
            text = card(self.config, self.data, final, self.out / LOG)
            with checkpoint.disk_room(path, self.checkpoints), whole_directory(path, replace=True) as temporary:
                write_model(temporary, self.saved, final.weights, card=text)
            model = {"event": "model", "final": final.name, "mean_of": final.steps, **final.figures}
            self._record({**model, "pauses": round(self.progress.pauses + perf_counter() - started, 3)})
        self.world.wait()
        return path

    def _mean_figures(self, weights: Mapping[str, Tensor], mean_of: list[int]) -> Record:
        """Validate and log the mean of these checkpoints, unless this was done before at this step."""
        known = measured_mean(self.out, self.progress.step, mean_of)
        if known is not None and (self.validator is None or score_of(self.config.train) in {None, *known}):
            return known
        figures = self._figures(self.trainer.with_weights(weights))
        self._record({"event": MEAN, "mean_of": mean_of, **figures})
        return figures

    def lost(self) -> str:
        """Return the beginning of the message about a lost process."""
        return f"{self.out}: another process of this run was lost after step {self.progress.step}"

    def close(self) -> None:
        if self.log is not None:
            self.log.close()

    def _account(self, step: StepBatches, update: Update, seconds: float, cpu_seconds: float) -> None:
        """Add a step's figures to the progress; stop the run after too many steps in a row that were not finite."""
        self.progress = self.progress.after(step, update, seconds, cpu_seconds)
        if update.taken:
            return
        numbers = self.world.joined([number for batch in step.batches for pair in batch.pairs for number in pair])
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))  # (corpus, number) of all processes
        skipped = {"event": "skipped", "loss": str(update.loss), "norm": str(update.norm)}
        self._record({**skipped, "position": step.position, "pairs": pairs})
        self.observer.warn(f"step {self.progress.step}: loss or gradient is not finite; the batch is skipped")
        if self.progress.bad >= self.config.train.bad_steps:
            raise Failed(
                f"{self.out}: {self.progress.bad} steps in a row were not finite; the last checkpoint is intact; "
                "begin a new run --from it with a lower learning rate, a longer warmup or train.clip=1"
            )

    def _log_window(self) -> None:
        now, figures = self.progress, self.progress.window_figures()
        self._record(
            {
                "event": "train",
                **figures,
                "rate": self.trainer.rate(now.step, self._time()),
                "tokens_per_second": round(now.window["seen"] / now.window["seconds"], 1),
                "tokens": now.tokens,
                "seconds": round(now.seconds, 3),
                "cpu_seconds": round(now.cpu_seconds, 3),
                "pauses": round(now.pauses, 3),
                "memory_mb": peak_memory_mb(self.world.device),
            }
        )
        self.progress = replace(now, window={})
        if "nll" in figures:
            self._check_divergence("training loss", figures["nll"])

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
        self.observer.phase("validating")
        settings = self.config.train
        figures = self._figures(self.trainer.scored(undivided=self.validator is not None))
        found = [float(figures.get(name, 0.0)) for name in COMPARED]
        # The other processes wait here for the first one's figures, so that all agree on the best and on when to stop.
        total = self.world.total([value if self.world.first else 0.0 for value in found])
        agreed = dict(zip(COMPARED, total, strict=True))
        self.progress, better = self.progress.validated(settings, agreed)
        nll = agreed["nll"]
        figures |= {"loss": agreed["loss"], "nll": nll, "perplexity": perplexity(nll)}
        self._record({"event": "validation", **figures, "best": better})
        if self.progress.step >= settings.steps:  # a bad validation may pass on the way, but not at the end
            self._check_divergence("validation loss", nll)

    def _figures(self, objective: Objective) -> Record:
        """Return loss and perplexity on the validation set, and in the first process the validator's figures."""
        assert self.data.valid is not None
        batch_tokens, device = self.config.train.batch_tokens, self.world.device
        loss, nll = validation_losses(objective, self.data, batch_tokens, device, self.longest)
        figures: Record = {"loss": loss, "nll": nll, "perplexity": perplexity(nll)}
        if self.validator is not None and self.world.first:
            self.observer.phase("translating the validation set")
            figures |= self.validator(objective.model)
        return figures

    def _stale(self) -> bool:
        patience = self.config.train.patience
        return patience is not None and self.progress.stale >= patience

    def _save(self) -> None:
        """Write a checkpoint, then remove older ones."""
        self.observer.phase("saving")
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
