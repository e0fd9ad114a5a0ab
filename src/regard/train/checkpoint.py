"""Checkpoints: a saved model plus all state that the next step depends on, written atomically.

A run resumes from the newest valid checkpoint. `checkpoints/step-00001000/` is a model's folder, which anything can
load, with three more files: `training.safetensors` (Adam's moments, the moving average), `training.json` (the run's
progress; versions, machine and threads) and `run.toml` (all settings). Random states are not saved: the random numbers
of each batch are a function of the run's seed and the batch's position.
"""

import errno
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.config.run import Config
from regard.data.batches import Position
from regard.errors import Failed, UserError
from regard.files import (
    check_manifest,
    read_json,
    remedy,
    replaced_in,
    restore_directory,
    whole_directory,
    write_json,
)
from regard.saved.folder import write_model
from regard.saved.saved_model import WEIGHTS, SavedModel
from regard.train.progress import RunProgress
from regard.train.run import record

SPARE = 16 << 20  # bytes of disk space to leave free beyond the known need
TENSORS, PROGRESS = "training.safetensors", "training.json"
AVERAGE = "average."  # prefix of the names of the moving average's tensors
NAME = re.compile(r"step-(\d{8,})")


@dataclass(frozen=True)
class Checkpoint:
    progress: RunProgress
    weights: dict[str, Tensor]
    tensors: dict[str, Tensor]


def folder(checkpoints: Path, step: int) -> Path:
    return checkpoints / f"step-{step:08d}"


def steps(checkpoints: Path) -> list[int]:
    """Return the steps that have a checkpoint, oldest first."""
    found = (NAME.fullmatch(path.name) for path in checkpoints.iterdir()) if checkpoints.is_dir() else ()
    return sorted(int(match[1]) for match in found if match)


def save(
    checkpoints: Path,
    progress: RunProgress,
    weights: Mapping[str, Tensor],
    tensors: Mapping[str, Tensor],
    saved: SavedModel,
    config: Config,
) -> Path:
    """Write a checkpoint. If the disk is full, existing checkpoints stay, and the error names the remedy."""
    path = folder(checkpoints, progress.step)
    need = sum(tensor.numel() * tensor.element_size() for tensor in (*weights.values(), *tensors.values()))
    with disk_room(path, checkpoints, need):
        checkpoints.mkdir(exist_ok=True)  # but not the run's folder, which may have been removed meanwhile
        with whole_directory(path, replace=True) as temporary:
            write_model(temporary, saved, weights)
            save_file({name: tensor.contiguous().cpu() for name, tensor in tensors.items()}, temporary / TENSORS)
            write_json(temporary / PROGRESS, asdict(progress))
            record(temporary, config)
    return path


@contextmanager
def disk_room(path: Path, checkpoints: Path, need: int = 0) -> Iterator[None]:
    """Require `need` bytes of free disk space, and convert disk errors during the block to a one-sentence failure."""
    try:
        free = shutil.disk_usage(checkpoints if checkpoints.exists() else checkpoints.parent).free
        if free < need + SPARE:
            raise OSError(errno.ENOSPC, f"{need / 2**20:,.0f} MiB needed, {free / 2**20:,.0f} MiB free")
        yield
    except (OSError, SafetensorError) as error:
        last = steps(checkpoints)
        kept = f"the checkpoint of step {last[-1]} is intact" if last else "there is no earlier checkpoint"
        needed = remedy(error) if isinstance(error, OSError) else "make room on the disk"
        raise Failed(
            f"{path}: could not be written ({error}); {kept}; {needed} and run the same command again to go on"
        ) from error


def load(path: Path) -> Checkpoint:
    """Load a checkpoint; raise UserError if a file is changed, missing or unreadable."""
    try:
        check_manifest(path)
        values = read_json(path / PROGRESS)
        progress = RunProgress(**{**values, "position": Position(*values["position"])})
        return Checkpoint(progress, load_file(path / WEIGHTS), load_file(path / TENSORS))
    except OSError as error:
        raise UserError(f"{path}: can't be read ({error}); restore it from a copy, or remove it") from None
    except (TypeError, KeyError, SafetensorError) as error:
        raise UserError(
            f"{path}: not a checkpoint of this version ({error}); remove it or start with --fresh"
        ) from None


def newest(checkpoints: Path, warn: Callable[[str], None]) -> Checkpoint | None:
    """Return the newest valid checkpoint; invalid ones are reported and skipped."""
    present = steps(checkpoints)
    for step in reversed(present):
        try:
            return load(folder(checkpoints, step))
        except UserError as error:
            warn(f"passing over a checkpoint: {error}")
    if present:
        raise UserError(f"{checkpoints}: none of its checkpoints is valid; restore one, or start over with --fresh")
    return None


def prune(checkpoints: Path, keep: set[int]) -> None:
    """Remove all checkpoints but these. An interrupted removal leaves nothing that looks like a checkpoint."""
    for step in set(steps(checkpoints)) - keep:
        path = folder(checkpoints, step)
        path.rename(path.with_name(f".{path.name}.removed"))
    _clear(checkpoints)


def repair(checkpoints: Path) -> None:
    """Restore directories that a killed process had moved aside, and delete those that it left incomplete.

    Call it only with the run's lock held: another process's unfinished work looks the same.
    """
    for path in replaced_in(checkpoints):
        restore_directory(path)
    _clear(checkpoints)


def _clear(checkpoints: Path) -> None:
    if checkpoints.is_dir():
        for path in checkpoints.glob(".step-*"):
            shutil.rmtree(path, ignore_errors=True)


def mean(
    checkpoints: Path, chosen: list[int], warn: Callable[[str], None], *, moving: bool = False
) -> tuple[dict[str, Tensor], list[int]]:
    """Return the mean of the weights of these steps (section 6.1), or of their moving averages, summed in float64.

    Also return the steps that it includes: invalid checkpoints are reported and skipped.
    """
    total: dict[str, Tensor] = {}
    used: list[int] = []
    for step in chosen:
        path = folder(checkpoints, step)
        try:
            check_manifest(path)
        except UserError as error:
            warn(f"left out of the mean: {error}")
            continue
        for name, tensor in (_moving_average(path) if moving else load_file(path / WEIGHTS)).items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
        used.append(step)
    if not used:
        raise UserError(f"{checkpoints}: none of the checkpoints that were asked for is valid; restore one from a copy")
    return {name: (tensor / len(used)).to(torch.float32) for name, tensor in total.items()}, used


def _moving_average(path: Path) -> dict[str, Tensor]:
    tensors = load_file(path / TENSORS)
    return {name.removeprefix(AVERAGE): tensor for name, tensor in tensors.items() if name.startswith(AVERAGE)}


def last_regular(checkpoints: Path, every: int, count: int) -> list[int]:
    """Return the last `count` regular checkpoints of the schedule, and the newest, regular or not.

    The others come from interruptions: how often a run was interrupted does not change the mean at its end.
    """
    present = steps(checkpoints)
    return [step for step in present if step % every == 0 or step == present[-1]][-count:]
