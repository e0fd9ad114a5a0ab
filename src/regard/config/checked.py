"""Immutable, validated configuration classes, with errors of one sentence that names the key."""

import difflib
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from regard.errors import UserError

LONGEST_SHOWN = 200  # characters of an invalid value in an error message

Description = TypeVar("Description", bound="Frozen")
Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(ge=0.0, lt=1.0)]


class Frozen(BaseModel):
    """An immutable configuration that rejects unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


def check(kind: type[Description], values: Any, origin: str) -> Description:
    """Validate values as a configuration class or a union of them; raise UserError that names the key."""
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        parts = (str(part) for part in first["loc"])
        key = ".".join(part for part in parts if not part.startswith("<"))  # <…> is the tag of a union's member
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
    """Return a text that comes from the user, cut to fit an error message."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def _keys(kind: Any, prefix: str = "") -> list[str]:
    """Return the dotted names of all keys of a configuration class, or of all members of a union of them."""
    if not (isinstance(kind, type) and issubclass(kind, Frozen)):
        return [key for member in get_args(kind) for key in _keys(member, prefix)]
    keys: list[str] = []
    for name, field in kind.model_fields.items():
        keys += [prefix + name, *_keys(field.annotation, f"{prefix}{name}.")]
    return keys


def nearest(word: str, known: list[str]) -> str:
    """Return `; did you mean 'x'?` if some known word is similar, else an empty string."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
