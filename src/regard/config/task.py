"""The tasks of a model: translation, parsing and labels."""

from typing import Literal

Task = Literal["translation", "parsing", "denoise", "labels"]
SYMBOLIC: tuple[Task, ...] = ("parsing", "labels")
"""The tasks whose targets are symbols, and not text."""
