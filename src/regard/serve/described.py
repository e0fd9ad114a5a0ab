"""The API's description (OpenAPI): the parts that several operations share."""

from collections.abc import Mapping
from typing import Any

from regard.serve.desk import Desk
from regard.serve.languages import pattern

Schema = dict[str, Any]
ALWAYS = (408, 413, 421)  # what the guard may say to any request
FORMS = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
REASONS = {
    400: "The request can't be understood or asks for what is not served",
    403: "The key is not valid",
    404: "There is no such thing here",
    408: "The request did not come in time",
    413: "The request is too large",
    421: "The server does not go by the name that it was called by",
    429: "Too many requests",
    456: "The quota is used up",
    500: "The translation failed",
    503: "The server is busy, or the translation took too long",
}


def string(**more: Any) -> Schema:
    return {"type": "string", **more}


def array(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def record(properties: Mapping[str, Schema], required: tuple[str, ...] | None = None) -> Schema:
    """An object; by default everything in it is always there."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
    }


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def text(desk: Desk, *, least: int = 0) -> Schema:
    return string(minLength=least, maxLength=desk.settings.characters)


def languages(codes: list[str], *, optional: bool = False, **more: Any) -> Schema:
    """What stands for a language; an empty string may be as good as none."""
    return string(pattern=pattern(codes) + ("|^$" if optional else ""), **more)


def body(schema: Schema, forms: Mapping[str, Schema] | None = None, kinds: tuple[str, ...] = FORMS) -> Schema:
    """A request body in every form. A form can't say null, nor an empty list; `forms` has what differs for that."""
    as_form = {
        **schema,
        "properties": {key: _unnull(value) for key, value in {**schema["properties"], **(forms or {})}.items()},
    }
    content = {kind: {"schema": schema if kind == FORMS[0] else as_form} for kind in kinds}
    return {"requestBody": {"required": True, "content": content}}


def answers(schema: Schema, *errors: int, error: str = "error", description: str = "Done") -> dict[int | str, Schema]:
    """The answers of an operation: a good one, and its errors, besides those of all, in its API's shape."""
    found: dict[int | str, Schema] = {200: {"description": description, "content": {FORMS[0]: {"schema": schema}}}}
    for status in sorted({*ALWAYS, *errors}):
        found[status] = {
            "description": REASONS[status],
            "content": {FORMS[0]: {"schema": record({error: string()})}},
        }
        if status in (429, 503):
            found[status]["headers"] = {"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}}
    return found


def _unnull(schema: Schema) -> Schema:
    return schema["anyOf"][0] if {"type": "null"} in schema.get("anyOf", ()) else schema
