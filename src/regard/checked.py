"""Descriptions that can't be changed and are checked: a mistake is one sentence that names the key."""

import difflib
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from regard.errors import UserError

LONGEST_SHOWN = 200  # characters of what was given

Description = TypeVar("Description", bound="Frozen")


class Frozen(BaseModel):
    """A description that can't be changed and refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


def check(kind: type[Description], values: Any, origin: str) -> Description:
    """Validate, and turn pydantic's report into one sentence: where, which key, what was expected, the nearest key."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = _keys(kind)
            elsewhere = (other for other in known if other.rpartition(".")[2] == key.rpartition(".")[2])
            raise UserError(
                f"{origin}: unknown key {_short(repr(key))}{nearest(next(elsewhere, key), known)}"
            ) from None
        reason = first["msg"].removeprefix("Value error, ")
        given = first["input"]
        shown = f", not {_short(repr(given))}" if isinstance(given, str | int | float | bool) else ""
        raise UserError(f"{origin}: {key + ': ' if key else ''}{reason}{shown}") from None


def _short(text: str) -> str:
    """A text that somebody else chose, fit for a sentence."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def _keys(kind: type[Frozen], prefix: str = "") -> list[str]:
    keys: list[str] = []
    for name, field in kind.model_fields.items():
        inner = field.annotation
        keys.append(prefix + name)
        if isinstance(inner, type) and issubclass(inner, Frozen):
            keys += _keys(inner, f"{prefix}{name}.")
    return keys


def nearest(word: str, known: list[str]) -> str:
    """`; did you mean 'x'?` when some known word is near, else nothing."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
