"""Parse a request's fields from JSON, urlencoded or multipart bodies, or from the query string.

Fields that are null count as absent. In a form, a repeated field is a list. Parsing is linear in the body's size, which
was limited before it was read.

Each operation has a table of the fields that it supports; any other field is rejected.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from regard.serve.refused import Refused

MOST_FIELDS = 200
LISTS = ("q", "text", "text[]", "ignore_tags")
_SURROGATES = re.compile("[\ud800-\udfff]")
Fields = dict[str, Any]
Supported = Mapping[str, tuple[str, ...] | None]
"""Fields by name: None for one with an effect, else the only accepted values, which equal the default."""


@dataclass(frozen=True)
class Upload:
    """A file in a form."""

    name: str
    content: bytes


async def fields(request: Request, supported: Supported, unsupported: Callable[[str, bool], Refused]) -> Fields:
    """Return the fields of the body and, for those it lacks, of the query string.

    An unsupported field or value is rejected; `unsupported` makes the error from the field's name and whether that name
    is known.
    """
    found = await _fields(request)
    for name, value in found.items():
        if name not in supported:
            raise unsupported(name[:40], False)
        accepted = supported[name]
        if accepted is not None and value not in ("", []) and _spelt(value) not in accepted:
            raise unsupported(name, True)
    return found


def _spelt(value: Any) -> str:
    """Return a value as a form would encode it."""
    if isinstance(value, int):
        return str(value).lower()
    return value if isinstance(value, str) else ""


async def _fields(request: Request) -> Fields:
    query = _pairs(request.scope["query_string"])
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not body:
        given: Fields = {}
    elif kind == "application/json":
        given = _json(body)
    elif kind == "application/x-www-form-urlencoded":
        given = _pairs(body)
    elif kind == "multipart/form-data":
        given = await _multipart(request, len(body))
    else:
        raise Refused(400, "Invalid request: send JSON, or a form that is urlencoded or multipart/form-data")
    return query | given


def clean(text: str) -> str:
    """Replace surrogates, which can't be encoded as UTF-8."""
    return _SURROGATES.sub("\ufffd", text)


def _json(body: bytes) -> Fields:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):  # invalid JSON or UTF-8, a number with too many digits, or nested too deeply
        raise Refused(400, "Invalid JSON format") from None
    if not isinstance(found, dict):
        raise Refused(400, "Invalid JSON format")
    return {clean(key): _cleaned(value) for key, value in found.items() if value is not None}


def _cleaned(value: Any) -> Any:
    if isinstance(value, list):
        return [clean(one) if isinstance(one, str) else one for one in value]
    return clean(value) if isinstance(value, str) else value


def _pairs(encoded: bytes) -> Fields:
    try:
        pairs = parse_qsl(encoded.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refused(400, "Invalid request: too many fields") from None
    return _gathered(pairs)


async def _multipart(request: Request, largest_part: int) -> Fields:
    _, options = parse_options_header(request.headers["content-type"])
    if options.get(b"charset", b"utf-8").lower() != b"utf-8":  # some of Python's codecs fail or take quadratic time
        raise Refused(400, "Invalid request: send the form in UTF-8")
    try:
        form = await request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=largest_part)
    except HTTPException as error:
        raise Refused(400, f"Invalid request: {error.detail}") from None
    try:
        pairs = [
            (key, Upload(value.filename or "", await value.read()) if isinstance(value, UploadFile) else value)
            for key, value in form.multi_items()
        ]
    finally:
        await form.close()
    return _gathered(pairs)


def _gathered(pairs: list[tuple[str, Any]]) -> Fields:
    found: Fields = {}
    for key, value in pairs:
        one = value if isinstance(value, Upload) else clean(str(value)).replace("\r\n", "\n")
        if key in found and key in LISTS:
            found[key] = [*(found[key] if isinstance(found[key], list) else [found[key]]), one]
        else:
            found.setdefault(key, one)
    return found
