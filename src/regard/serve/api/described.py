"""The OpenAPI description: a table of operations, and the schemas that several of them share."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from regard import __version__
from regard.serve.api.languages import pattern
from regard.serve.state import AppState

Schema = dict[str, Any]
Handler = Callable[[AppState, Request], Awaitable[Response]]
ALWAYS = (408, 413, 421)  # statuses that the middleware may answer to any request
FORMS = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
KEY = "DeepL-Auth-Key"
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


@dataclass(frozen=True)
class Operation:
    """An operation: path, method, description and handler."""

    method: str
    path: str
    handler: Handler
    summary: str
    answers: dict[str, Schema]
    asked: Schema = field(default_factory=dict)
    """OpenAPI fields of the request: body, parameters and others."""


def description(apis: Mapping[str, Iterable[Operation]]) -> Schema:
    """Return the OpenAPI document of some operations."""
    paths: dict[str, Schema] = {}
    for api, operations in apis.items():
        for one in operations:
            paths.setdefault(one.path, {})[one.method.lower()] = {
                "tags": [api],
                "summary": one.summary,
                "operationId": re.sub(r"\W+", "_", f"{one.method.lower()}{one.path}").strip("_"),
                "responses": one.answers,
                **one.asked,
            }
    summary = "Translation with models of your own, in the APIs of LibreTranslate and DeepL"
    return {
        "openapi": "3.1.0",
        "info": {"title": "regard", "summary": summary, "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": {KEY: {"type": "apiKey", "in": "header", "name": "Authorization"}}},
    }


def string(**more: Any) -> Schema:
    return {"type": "string", **more}


def array(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def record(properties: Mapping[str, Schema], required: tuple[str, ...] | None = None) -> Schema:
    """Return the schema of an object; by default all its properties are required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
    }


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def text(most: int, *, least: int = 0) -> Schema:
    """Return the schema of a text with at most so many characters."""
    return string(minLength=least, maxLength=most)


def languages(codes: list[str], *, optional: bool = False, **more: Any) -> Schema:
    """Return the schema of a language code; an empty string may count as absent."""
    return string(pattern=pattern(codes) + ("|^$" if optional else ""), **more)


def parameter(name: str, schema: Schema, *, place: str = "query", required: bool = False) -> Schema:
    return {"name": name, "in": place, "required": required, "schema": schema}


def body(schema: Schema, forms: Mapping[str, Schema] | None = None, kinds: tuple[str, ...] = FORMS) -> Schema:
    """Return a request body in every content type. Forms have no null and no empty list; `forms` has what differs."""
    schema = {**schema, "additionalProperties": {"type": "null"}}  # null counts as absent
    as_form = {
        **schema,
        "additionalProperties": False,
        "properties": {key: _unnull(value) for key, value in {**schema["properties"], **(forms or {})}.items()},
    }
    content = {kind: {"schema": schema if kind == FORMS[0] else as_form} for kind in kinds}
    return {"requestBody": {"required": True, "content": content}}


def answers(schema: Schema, *errors: int, kind: str = FORMS[0], error: str = "error") -> dict[str, Schema]:
    """Return the responses of an operation: success, and its errors in the shape of its API."""
    found: dict[str, Schema] = {"200": {"description": "Done", "content": {kind: {"schema": schema}}}}
    for status in sorted({*ALWAYS, *errors}):
        told = found[str(status)] = {
            "description": REASONS[status],
            "content": {FORMS[0]: {"schema": record({error: string()})}},
        }
        if status in (429, 503):
            told["headers"] = {"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}}
    return found


def _unnull(schema: Schema) -> Schema:
    return schema["anyOf"][0] if {"type": "null"} in schema.get("anyOf", ()) else schema
