"""Read the history of a run from its folder: a summary and its curves."""

from pathlib import Path
from typing import Any

from regard.config.presets import read
from regard.config.run import Config
from regard.errors import UserError
from regard.train.log import Record, records
from regard.train.run import LOG, RUN

NEEDED = {"nll", "loss", "epoch", "tokens", "tokens_per_second", "memory_mb", "seconds"}


def read_history(run: Path) -> dict[str, Any]:
    """Return the `summary` (figures), `training` and `validation` (steps and losses to plot) of a run."""
    if not (run / LOG).is_file():
        raise UserError(f"{run}: not the folder of a training run (no {LOG})")
    config = read(run / RUN)
    summary: dict[str, Any] = {"step": 0, "steps": config.train.steps, "differs": _differences(config)}
    training: tuple[list[int], list[float]] = ([], [])
    validation: tuple[list[int], list[float]] = ([], [])
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
            if record.get("best"):
                summary |= {"best_step": record["step"], "best_perplexity": record["perplexity"]}
                summary |= {f"best_{key}": record[key] for key in ("bleu",) if key in record}
    if last:
        summary |= {key: last[key] for key in ("step", "epoch", "loss", "tokens", "memory_mb")}
        summary["hours"] = last["seconds"] / 3600
        summary["tokens_per_second"] = sorted(speeds)[len(speeds) // 2]
    return {"run": str(run), "summary": summary, "training": training, "validation": validation}


def validation_figures(record: Record) -> dict[str, Any]:
    """Return the figures of a validation, with the signatures of scores."""
    kept = {key: value for key, value in record.items() if isinstance(value, float) or key.endswith("_signature")}
    return {f"validation_{key}": value for key, value in kept.items()}


def _differences(config: Config) -> list[str]:
    """Return the settings in which a run differs from the paper's base, briefly."""
    base, given = Config(), list[str]()
    for section in ("model", "train"):
        theirs, ours = getattr(base, section).model_dump(), getattr(config, section).model_dump()
        given += [f"{key}={ours[key]}" for key in ours if ours[key] != theirs[key] and key != "vocabulary"]
    return given
