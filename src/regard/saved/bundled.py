"""The models bundled with the package; their names are accepted wherever the folder of a model is."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from regard.errors import UserError
from regard.files import read_json
from regard.text.protected.languages import script_of, scripts_of

FOLDER = Path(str(files("regard"))) / "models"
DEFAULT = "en-de"


def bundled() -> dict[str, Path]:
    """Return the folders of the bundled models, by name."""
    return {path.parent.name: path.parent for path in sorted(FOLDER.glob("*/config.json"))}


def located(model: str | Path) -> Path:
    """Return the folder of a model: the path if it exists, otherwise the bundled model of that name."""
    folder = Path(model)
    return folder if folder.exists() else bundled().get(str(model), folder)


def translation_models() -> dict[str, set[str]]:
    """Return the names of the bundled translation models, the default one first, with their languages.

    Each translates both ways.
    """
    names = sorted(bundled(), key=lambda name: name != DEFAULT)
    return {name: languages for name in names if len(languages := _languages(bundled()[name])) == 2}


def default_model(source: str | None = None, target: str | None = None) -> Path:
    """Return the bundled model to use if none is named: one between these languages, else the default one."""
    pairs = translation_models()
    asked = {code for code in (source, target) if code is not None}
    fitting = [name for name, languages in pairs.items() if asked <= languages]
    if fitting:
        return bundled()[fitting[0]]
    known = f"; bundled models translate between {', '.join(' and '.join(sorted(pair)) for pair in pairs.values())}"
    raise UserError(
        "--model is missing; name the folder of a model, such as runs/x/model, or set REGARD_MODEL to it"
        + (known if pairs else "")
    )


def language_by_script(text: str) -> str | None:
    """Return the language of the bundled models that most letters of a text belong to; None for Latin letters."""
    letters = [script_of(letter) for letter in text if letter.isalpha()]
    codes = sorted({code for pair in translation_models().values() for code in pair})
    return next(
        (
            code
            for code in codes
            if (scripts := scripts_of(code)) != ("latin",)
            and 2 * sum(letter in scripts for letter in letters) > len(letters)
        ),
        None,
    )


def _languages(folder: Path) -> set[str]:
    """Return the languages of a translation model; none of another model."""
    description: Any = read_json(folder / "config.json")
    codes = description.get("languages", {}).values() if description.get("task") == "translation" else ()
    return {code for code in codes if isinstance(code, str)}
