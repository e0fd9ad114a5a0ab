"""The folder of a run: its settings, log, checkpoints, and the trained model."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from regard.config.later import EncoderOnlyConfig
from regard.config.model_base import TransformerSettings
from regard.config.presets import parse_config, read
from regard.config.run import Config
from regard.errors import UserError
from regard.files import MANIFEST, check_link, locked, write_bytes

if TYPE_CHECKING:  # `regard runs` does not need arrays
    from regard.data.prepared import Prepared

RUN, LOG, CHECKPOINTS, MODEL = "run.toml", "log.jsonl", "checkpoints", "model"
TENSORBOARD = "tensorboard"
DATA, PLAN = "data", "plan.json"  # of a run that began with pairs of texts: what was made of them, and what was chosen
LOCK = f".{RUN}.lock"

# Settings that may change when a run resumes; the log records the change. Any other change makes it another run.
MAY_CHANGE = {
    "data",
    "train.steps",
    "train.average_last",
    "train.bleu",
    "train.checkpoint_every",
    "train.max_minutes",
    "train.final",
    "train.keep_last",
    "train.log_every",
    "train.patience",
    "train.bad_steps",
    "train.accumulate",
    "train.bucket_mb",
    "train.communication",
    "train.update_batches",
    "train.wait_minutes",
    "train.sharding",
    "train.compile",
    "decode.beam",
    "decode.alpha",
    "decode.extra_length",
    "decode.penalty",
}


def settle(config: Config, data: "Prepared") -> Config:
    """Return the configuration with everything filled in that the data determines."""
    if getattr(config.model, "next_word", False) and data.config.task != "parsing":
        raise UserError("model.next_word is for parsers, whose output has a symbol for each word; leave it out")
    _check_later(config)
    model: dict[str, Any] = {"vocabulary": data.target_subwords.size}
    if data.source_subwords is not data.target_subwords:
        model |= {"source_vocabulary": data.source_subwords.size, "share_embeddings": False}
    if isinstance(config.model, EncoderOnlyConfig):
        model["learns"] = "labels" if data.config.task == "labels" else "masked"
    values = config.model_dump(exclude_unset=True)
    decided = {"data": str(data.directory.resolve()), "task": data.config.task}
    return parse_config({**values, **decided}, "the run", {"model": model})


def _check_later(config: Config) -> None:
    """Reject settings that a model which came after the paper can't be trained with."""
    described = config.model
    heads = isinstance(described, TransformerSettings) and described.blocks > 1 and not described.blocks_tuned
    if heads and config.start is None:
        raise UserError(
            "model.blocks adds heads to a trained model; name it with --from, or set model.blocks_tuned=true"
        )
    if config.train.objective == "reward" and "search" not in described.decodings:
        raise UserError(
            f"train.objective=reward draws samples, which a {described.architecture} model can't; leave it out"
        )


def subword_files(data: "Prepared") -> dict[str, bytes]:
    """Return the subword files of a model's folder, by file name."""
    return data.vocabularies


def fingerprint(folder: Path, terminology: str | None = None) -> str:
    """Return a checksum that identifies prepared data, with a glossary if it is trained with one, or a model."""
    glossary = b"" if terminology is None else Path(terminology).read_bytes()
    return hashlib.sha256((folder / MANIFEST).read_bytes() + glossary).hexdigest()


@contextmanager
def run_writer(run: Path) -> Iterator[None]:
    """Create a run's folder if needed, and reject a second process that would train in it.

    The lock is inside the folder, so that a process that has it mounted elsewhere, such as in another container, finds
    it. A folder created for a run that is then rejected is removed.
    """
    for path in (run, run / CHECKPOINTS, run / MODEL, run / TENSORBOARD):
        check_link(path)
    if run.exists() and not run.is_dir():
        raise UserError(f"{run}: is a file; choose another --out")
    made = not run.exists()
    message = (
        f"{run}: another regard process is training in this folder, maybe in another container or on another machine; "
        "wait until it ends or stop it, or choose another --out"
    )
    run.mkdir(parents=True, exist_ok=True)
    try:
        with locked(run / LOCK, message):
            yield
    finally:
        if made:
            with suppress(OSError):  # it is not empty
                run.rmdir()


def check_run(run: Path) -> None:
    """Reject a folder that holds something else than a run."""
    there = any(path.name not in (DATA, PLAN) and not path.name.startswith(f".{RUN}") for path in run.iterdir())
    if there and not (run / RUN).exists():
        raise UserError(f"{run}: has files in it but is not a run; choose another --out")


def begin(run: Path, config: Config, *, fresh: bool) -> dict[str, tuple[Any, Any]]:
    """Compare the settings with those of an existing run, or start over; return the changes by key: (before, after)."""
    check_run(run)
    if fresh and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":  # a restart after a loss is not a new start
        for name in (CHECKPOINTS, MODEL, TENSORBOARD):
            _remove(run / name)
        for name in (LOG, RUN):  # last: if a removal fails, a run is left, not a folder that looks new
            (run / name).unlink(missing_ok=True)
    if not (run / RUN).exists():
        return {}
    changes = _changes(read(run / RUN), config)
    rejected = sorted(set(changes) - MAY_CHANGE)
    if rejected:
        old, new = changes[rejected[0]]
        raise UserError(
            f"{run}: {rejected[0]} was {old} when this run began and is now {new}; "
            "set it back, choose another --out, or start over with --fresh"
        )
    return changes


def check_own(path: Path, config: Config) -> None:
    """Reject a checkpoint with the settings of another run."""
    changes = _changes(read(path / RUN), config) if (path / RUN).exists() else {}
    for key in sorted(set(changes) - MAY_CHANGE):
        there, here = changes[key]
        raise another_run(path, f"{key} is {there} there and {here} here")


def another_run(path: Path, difference: str) -> UserError:
    return UserError(
        f"{path}: a checkpoint of another run ({difference}); move it out of this folder, or start over with --fresh"
    )


def _changes(before: Config, after: Config) -> dict[str, tuple[Any, Any]]:
    old, new = _flat(before), _flat(after)
    return {key: (old.get(key), new.get(key)) for key in new if old.get(key) != new.get(key)}


def _remove(folder: Path) -> None:
    """Remove a folder; of a symbolic link to one, such as on a larger disk, only the contents."""
    if not folder.is_symlink():
        if folder.exists():
            shutil.rmtree(folder)
        return
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def record(run: Path, config: Config) -> None:
    """Write the run's full configuration to its folder."""
    write_bytes(run / RUN, tomli_w.dumps(_without_none(config.model_dump())).encode())


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop keys that are None, since TOML has no null."""
    kept = {key: value for key, value in values.items() if value is not None}
    return {key: _without_none(value) if isinstance(value, Mapping) else value for key, value in kept.items()}


def _flat(config: Config) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for section, content in config.model_dump().items():
        if isinstance(content, dict):
            values |= {f"{section}.{key}": value for key, value in content.items()}
        else:
            values[section] = content
    return values
