"""The tasks of a model: translation and parsing."""

from typing import Literal

Task = Literal["translation", "parsing", "denoise"]
