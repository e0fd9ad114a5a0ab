"""The models that the package carries, by name: a name stands wherever the folder of a model may."""

from importlib.resources import files
from pathlib import Path

FOLDER = Path(str(files("regard"))) / "models"
DEFAULT = "en-de"


def bundled() -> dict[str, Path]:
    """Their folders, by name."""
    return {path.parent.name: path.parent for path in sorted(FOLDER.glob("*/config.json"))}


def located(model: str | Path) -> Path:
    """The folder that is meant: the one that is there or, if there is none, a bundled model of that name."""
    folder = Path(model)
    return folder if folder.exists() else bundled().get(str(model), folder)
