"""What a model does with a text."""

from typing import Literal

Task = Literal["translation", "parsing", "denoise"]
