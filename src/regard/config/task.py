"""What a model does with a text."""

from typing import Literal

Task = Literal["translation", "parsing", "labels"]
SYMBOLIC: tuple[Task, ...] = ("parsing", "labels")
"""The tasks whose targets are symbols, and not text."""
