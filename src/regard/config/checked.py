"""Immutable, validated configuration classes, with errors of one sentence that names the key."""

import difflib
import inspect
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from regard.config.other_names import key_of_other_name, other_names
from regard.errors import UserError

TYPO = 0.78  # least similarity of a misspelt name to the right one: `stpes` to `steps` has 0.8
TYPO_OF_OTHERS = 0.85  # the same, to another toolkit's name
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
            raise UserError(f"{origin}: unknown key {_short(repr(key))}{similar(key, kind)}") from None
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


def similar(key: str, kind: Any) -> str:
    """Return `; did you mean 'x'?` for a key that is in another section, has another toolkit's name, or is misspelt.

    For any other key, return where the keys of its section are described.
    """
    known, (section, _, name) = keys(kind), key.rpartition(".")
    elsewhere = next((other for other in known if _bare(other) == name), None)
    found = elsewhere or key_of_other_name(name, known) or _misspelt(section, name, known)
    return f"; did you mean {found!r}?" if found else f"; the keys are described in {_described(kind, section)}"


def _bare(key: str) -> str:
    return key.rpartition(".")[2]


def _misspelt(section: str, name: str, known: list[str]) -> str | None:
    """Return the key with nearly this name, ours or another toolkit's; of equals, that of the section."""
    close = difflib.get_close_matches(name, {_bare(key) for key in known}, n=1, cutoff=TYPO)
    same = sorted((key for key in known if _bare(key) in close), key=lambda key: key.rpartition(".")[0] != section)
    others = difflib.get_close_matches(name, other_names(), n=1, cutoff=TYPO_OF_OTHERS)
    return next(iter(same), None) or (key_of_other_name(others[0], known) if others else None)


def _described(kind: Any, section: str) -> str:
    """Return the file of the class whose keys a section has; if it may be one of several, their folder."""
    if not isinstance(kind, type):
        return str(Path(__file__).parent)
    field = kind.model_fields.get(section) if issubclass(kind, Frozen) else None
    return inspect.getfile(kind) if field is None else _described(field.annotation, "")


def nearest(word: str, known: list[str]) -> str:
    """Return `; did you mean 'x'?` if some known word is similar, else an empty string."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
