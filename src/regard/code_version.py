"""Identify the code that made a model or a figure, so that results of different code are never mixed."""

import hashlib
from functools import cache
from pathlib import Path

from regard import __version__

SOURCE = Path(__file__).parent
TRAINING = ("config", "text", "data", "model", "train")
"""The packages that determine the weights of a trained model; see training_version."""
MEASURING = (*TRAINING, "saved", "search", "engines", "translate", "evaluate")
"""The packages that determine the figures measured on it."""


@cache
def code_version(parts: tuple[str, ...] = TRAINING) -> str:
    """Return the package's version and a checksum of these source files, such as 0.1.0+3f2a9c01b4d5."""
    digest = hashlib.sha256()
    for path in _files(parts):
        digest.update(f"{path.relative_to(SOURCE).as_posix()}\n{len(path.read_bytes())}\n".encode() + path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:12]}"


def training_version(objective: str) -> str:
    """Return the version of the code that determines the weights of a model trained with an objective.

    Expected reward draws its samples by search. Other objectives never run it: a change there leaves their runs valid.
    """
    return code_version((*TRAINING, "search")) if objective == "reward" else code_version()


def _files(parts: tuple[str, ...]) -> list[Path]:
    found = []
    for part in parts:
        path = SOURCE / part
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        assert files, f"{part} has no source files"
        found += files
    return found
