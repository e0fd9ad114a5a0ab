"""The log of a run: one JSON object per line, from which tables and plots are made; and its observers."""

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from regard.config.presets import read
from regard.config.run import Config
from regard.errors import Failed, UserError
from regard.files import is_open_as, write_bytes
from regard.train.run import LOG, RUN

if TYPE_CHECKING:
    from regard.train.step import Update

Record = dict[str, Any]
NEEDED = {"nll", "loss", "epoch", "tokens", "tokens_per_second", "memory_mb", "seconds"}


class Observer(Protocol):
    """Receives the progress of a run, such as a terminal or a test."""

    def step(self, number: int, update: "Update") -> None:
        """Called after every step."""

    def phase(self, name: str) -> None:
        """Called when the run begins to train, validate, save or write the model."""

    def record(self, record: Record) -> None:
        """Called with every line of the log."""

    def warn(self, sentence: str) -> None:
        """Called with a warning; the run continues."""


class Silence:
    """An observer that does nothing."""

    def step(self, number: int, update: "Update") -> None: ...
    def phase(self, name: str) -> None: ...
    def record(self, record: Record) -> None: ...
    def warn(self, sentence: str) -> None: ...


class Log:
    """Append records to log.jsonl. Each belongs to a step; a resumed run removes those after its checkpoint."""

    def __init__(self, path: Path, step: int, *, owed: bool = False) -> None:
        """Open the log at `step`; remove later records, and a validation that is `owed`, which will be logged again."""
        if path.exists():
            again = (step, "validation") if owed else None
            kept = [
                json.dumps(record, ensure_ascii=False)
                for record in records(path)
                if record["step"] <= step and (record["step"], record.get("event")) != again
            ]
            write_bytes(path, "".join(line + "\n" for line in kept).encode())
        self._path, self._file = path, path.open("a", encoding="utf-8")

    def append(self, record: Record) -> None:
        if not is_open_as(self._file.fileno(), self._path):
            raise Failed(
                f"{self._path}: was removed, moved or replaced while its run was under way; "
                "put the run's folder back and run the same command again to go on from its newest checkpoint"
            )
        plain = {key: None if _is_no_number(value) else value for key, value in record.items()}  # JSON has no NaN
        with self._disk():
            self._file.write(json.dumps(plain, ensure_ascii=False) + "\n")
            self._file.flush()

    def sync(self) -> None:
        """Flush the log to disk, so that it survives a power cut."""
        with self._disk():
            os.fsync(self._file.fileno())

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Failed(f"{self._file.name}: {error.strerror}; make room, and run the same command again") from error

    def close(self) -> None:
        with suppress(OSError):  # an error of a full disk was reported already
            self._file.close()


def _is_no_number(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def records(path: Path) -> Iterator[Record]:
    """Yield the records of a log; a last line that a killed process left incomplete is skipped."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(record, dict) and isinstance(record.get("step"), int):
                yield record


def read_history(run: Path) -> dict[str, Any]:
    """Return the `summary` (figures), `training`, `validation` (steps and losses) and `bleu` of a run, to plot."""
    if not (run / LOG).is_file():
        raise UserError(f"{run}: not the folder of a training run (no {LOG})")
    config = read(run / RUN)
    summary: dict[str, Any] = {"step": 0, "steps": config.train.steps, "differs": _differences(config)}
    training: tuple[list[int], list[float]] = ([], [])
    validation: tuple[list[int], list[float]] = ([], [])
    bleu: tuple[list[int], list[float]] = ([], [])
    speeds: list[float] = []
    last: Record = {}
    for record in records(run / LOG):
        if record.get("event") == "train" and record.keys() >= NEEDED:
            training[0].append(record["step"])
            training[1].append(record["nll"])
            speeds.append(record["tokens_per_second"])
            last = record
        elif record.get("event") == "validation" and record.keys() >= {"nll", "perplexity"}:
            validation[0].append(record["step"])
            validation[1].append(record["nll"])
            summary |= validation_figures(record)
            if record.get("bleu") is not None:
                bleu[0].append(record["step"])
                bleu[1].append(record["bleu"])
            if record.get("best"):
                summary |= {"best_step": record["step"], "best_perplexity": record["perplexity"]}
                summary |= {f"best_{key}": record[key] for key in ("bleu", "chrf") if key in record}
    if (model := written(run)) is not None:
        summary |= {key: model[key] for key in ("final", "mean_of") if key in model}
        summary |= {f"model_{key}": value for key, value in scores(model).items()}
    if last:
        summary |= {key: last[key] for key in ("step", "epoch", "loss", "tokens", "memory_mb")}
        summary["hours"] = last["seconds"] / 3600
        summary["tokens_per_second"] = sorted(speeds)[len(speeds) // 2]
    return {"run": str(run), "summary": summary, "training": training, "validation": validation, "bleu": bleu}


def events(run: Path, event: str) -> list[Record]:
    """Return the records of a kind, the newest first."""
    log = records(run / LOG) if (run / LOG).is_file() else ()
    return [record for record in log if record.get("event") == event][::-1]


def written(run: Path) -> Record | None:
    """Return the last record of a written model in a run's log."""
    return next(iter(events(run, "model")), None)


def validation_figures(record: Record) -> dict[str, Any]:
    """Return the figures of a validation, with the signatures of scores."""
    return {f"validation_{key}": value for key, value in scores(record).items()}


def scores(record: Record) -> Record:
    """Return only the scores of a record, with their signatures."""
    kept = (key for key in record if key.endswith("_signature") or (isinstance(record[key], float) and key != "pauses"))
    return {key: record[key] for key in kept}


def _differences(config: Config) -> list[str]:
    """Return the settings in which a run differs from the paper's base, briefly."""
    base, given = Config(), list[str]()
    for section in ("model", "train"):
        theirs, ours = getattr(base, section).model_dump(), getattr(config, section).model_dump()
        given += [f"{key}={ours[key]}" for key in ours if ours[key] != theirs[key] and key != "vocabulary"]
    return given
