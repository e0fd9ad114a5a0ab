"""The models bundled with the package; their names are accepted wherever the folder of a model is."""

from importlib.resources import files
from pathlib import Path

FOLDER = Path(str(files("regard"))) / "models"
DEFAULT = "en-de"


def bundled() -> dict[str, Path]:
    """Return the folders of the bundled models, by name."""
    return {path.parent.name: path.parent for path in sorted(FOLDER.glob("*/config.json"))}


def located(model: str | Path) -> Path:
    """Return the folder of a model: the path if it exists, otherwise the bundled model of that name."""
    folder = Path(model)
    return folder if folder.exists() else bundled().get(str(model), folder)
