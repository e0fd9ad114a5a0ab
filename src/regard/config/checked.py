"""Immutable, validated configuration classes, with errors of one sentence that names the key."""

import difflib
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from regard.config.other_names import meant
from regard.errors import UserError

LONGEST_SHOWN = 200  # characters of an invalid value in an error message

Validated = TypeVar("Validated", bound="Frozen")
Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(ge=0.0, lt=1.0)]


class Frozen(BaseModel):
    """An immutable configuration that rejects unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def check(kind: type[Validated], values: Any, origin: str) -> Validated:
    """Validate values as a configuration class or a union of them; raise UserError that names the key."""
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        parts = (str(part) for part in first["loc"])
        key = ".".join(part for part in parts if not part.startswith("<"))  # <…> is the tag of a union's member
        if first["type"] == "extra_forbidden":
            raise UserError(f"{origin}: unknown key {_short(repr(key))}{similar(key, keys(kind))}") from None
        reason = first["msg"].removeprefix("Value error, ")
        given = first["input"]
        shown = f", not {_short(repr(given))}" if isinstance(given, str | int | float | bool) else ""
        raise UserError(f"{origin}: {key + ': ' if key else ''}{reason}{shown}") from None


def _short(text: str) -> str:
    """Return a text that comes from the user, cut to fit an error message."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def keys(kind: Any, prefix: str = "") -> list[str]:
    """Return the dotted names of all keys of a configuration class, or of all members of a union of them."""
    if not (isinstance(kind, type) and issubclass(kind, Frozen)):
        return [key for member in get_args(kind) for key in keys(member, prefix)]
    found: list[str] = []
    for name, field in kind.model_fields.items():
        found += [prefix + name, *keys(field.annotation, f"{prefix}{name}.")]
    return found


def similar(key: str, known: list[str]) -> str:
    """Return `; did you mean 'x'?` for a key that is in another section, has another toolkit's name, or is misspelt."""
    elsewhere = (other for other in known if other.rpartition(".")[2] == key.rpartition(".")[2])
    return nearest(next(elsewhere, None) or meant(key, known) or key, known)


def nearest(word: str, known: list[str]) -> str:
    """Return `; did you mean 'x'?` if some known word is similar, else an empty string."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
