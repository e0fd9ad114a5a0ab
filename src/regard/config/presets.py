"""Load settings from presets (presets.toml), run files and `--set`."""

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from regard.config.checked import Frozen, check, nearest, similar
from regard.config.run import Config
from regard.errors import UserError
from regard.files import read_text


class Paper(Frozen):
    """The figures that the paper reports for a preset (Table 3)."""

    ppl: float
    bleu: float
    parameters: float | None = None
    """Number of parameters, in millions."""


@cache
def _presets() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files("regard.config") / "presets.toml").read_text(encoding="utf-8"))


def preset_names() -> list[str]:
    return list(_presets())


def paper_figures(name: str) -> Paper | None:
    """Return the figures that the paper reports for a preset; None if the preset is not one of the paper's."""
    row = _row(name).get("paper")
    return None if row is None else Paper(**row)


def _row(name: str) -> dict[str, Any]:
    try:
        return _presets()[name]
    except KeyError:
        near = nearest(name, preset_names())
        raise UserError(f"no preset is called {name!r}{near}; there are {', '.join(preset_names())}") from None


def preset(name: str, **changes: dict[str, Any]) -> Config:
    """Return the configuration of a preset, with changes by section: `preset("base", model={"dropout": 0.3})`."""
    return parse_config(
        {key: section for key, section in _row(name).items() if key != "paper"}, f"preset {name}", changes
    )


def sections(path: Path) -> dict[str, Any]:
    """Return the sections of a run file, unchecked."""
    text = read_text(path, pipe=True)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: invalid TOML, or a number of thousands of digits
        raise UserError(f"{path}: not valid TOML: {error}") from None


def read(path: Path, **changes: dict[str, Any]) -> Config:
    """Read a run file: TOML with the sections of Config, on top of the preset that it may name (`preset = "NAME"`)."""
    values = sections(path)
    name = values.pop("preset", None)
    if name is None:
        return parse_config(values, str(path), changes)
    under = {key: section for key, section in _row(str(name)).items() if key != "paper"}
    return parse_config(under, str(path), values, changes)


def settings(assignments: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Parse assignments such as `train.steps=1000` into sections; values are TOML, and a bare word is a string.

    An empty value unsets an optional key, since TOML has no null: `train.clip=`.
    """
    changes: dict[str, dict[str, Any]] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        section, dot, field = key.strip().partition(".")
        if not (equals and dot and section and field):
            hint = similar(key.strip(), Config) if equals and key.strip() else ""
            raise UserError(
                f"{assignment!r} does not set anything; write SECTION.KEY=VALUE, such as train.steps=1000{hint}"
            )
        try:
            parsed = tomllib.loads(f"value = {value}")["value"] if value.strip() else None
        except (ValueError, RecursionError):
            parsed = value.strip()
        changes.setdefault(section, {})[field] = parsed
    return changes


def parse_config(values: dict[str, Any], origin: str, *changes: dict[str, dict[str, Any]]) -> Config:
    """Validate values, updated in turn by each of `changes`; raise UserError that names the key."""
    merged = {key: dict(value) if isinstance(value, dict) else value for key, value in values.items()}
    for change in changes:
        for section, fields in change.items():
            if isinstance(fields, dict) and isinstance(merged.get(section, {}), dict):
                merged[section] = {**merged.get(section, {}), **fields}
            else:
                merged[section] = fields
    return check(Config, merged, origin)
