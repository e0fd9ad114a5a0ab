"""The API of DeepL, version 2: /v2/translate, /v2/languages and /v2/usage. Options that regard has nothing for, such as
formality, are ignored."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from regard.serve import ask
from regard.serve.described import answers, array, body, languages, or_null, record, string, text
from regard.serve.desk import Desk
from regard.serve.fields import Fields, fields
from regard.serve.languages import base, name
from regard.serve.libretranslate import pages
from regard.serve.refused import Refused
from regard.serve.ticket import Ticket

SCHEME = "deepl-auth-key"
UNLIMITED = 1_000_000_000_000  # what DeepL says to those who may have any number of characters
WORK = (400, 403, 429, 456, 500, 503)
VARIANTS = {  # DeepL's clients refuse the plain code of these as a target
    "en": (("EN-GB", "English (British)"), ("EN-US", "English (American)")),
    "pt": (("PT-BR", "Portuguese (Brazilian)"), ("PT-PT", "Portuguese (European)")),
}
LANGUAGE = record(
    {"language": string(), "name": string(), "supports_formality": {"type": "boolean"}}, ("language", "name")
)
COUNT = {"type": "integer", "minimum": 0}
TRANSLATED = record(
    {
        "translations": array(
            record({"detected_source_language": string(), "text": string(), "billed_characters": COUNT}), minItems=1
        )
    }
)


def router(desk: Desk) -> APIRouter:
    """The operations, described with the languages and limits of this server."""
    own = APIRouter(prefix="/v2", tags=["DeepL"])
    codes = desk.models.languages
    one, targets = text(desk), languages(codes, examples=[codes[0].upper()])
    several = array(one, minItems=1, maxItems=desk.settings.texts)
    asked = {
        "text": {"anyOf": [several, one]},
        "target_lang": targets,
        "source_lang": or_null(languages(codes, optional=True)),
        "tag_handling": or_null(string(enum=["html", "xml", ""])),
        "split_sentences": or_null({"enum": ["0", "1", "nonewlines", 0, 1]}),
    }
    security: dict[str, Any] = {"security": [{"DeepL-Auth-Key": []}, {}]}

    @own.post(
        "/translate",
        summary="Translate texts",
        description="`auth_key` and other fields may also stand in the form or the query string.",
        responses=answers(TRANSLATED, *WORK, error="message"),
        openapi_extra={**body(record(asked, ("text", "target_lang"))), **security},
    )
    async def translate(request: Request) -> Response:
        return JSONResponse(await _translate(desk, request))

    @own.get(
        "/translate",
        summary="Translate texts that stand in the query string",
        responses=answers(TRANSLATED, *WORK, error="message"),
        openapi_extra={
            "parameters": [
                _parameter("text", several, required=True),
                _parameter("target_lang", targets, required=True),
                _parameter("source_lang", languages(codes, optional=True)),
            ],
            **security,
        },
    )
    async def translate_query(request: Request) -> Response:
        return JSONResponse(await _translate(desk, request))

    @own.get(
        "/languages",
        summary="The languages served",
        responses=answers(array(LANGUAGE), 400, 403, 429, error="message"),
        openapi_extra={"parameters": [_parameter("type", string(enum=["source", "target"]))], **security},
    )
    async def all_languages(request: Request) -> Response:
        found = await fields(request, desk.settings.body_bytes)
        _holder(desk, request, found)
        kind = found.get("type", "source")
        if kind not in ("source", "target"):
            raise Refused(400, "Value for 'type' not supported.")
        return JSONResponse(_sources(desk) if kind == "source" else _targets(desk))

    @own.get(
        "/usage",
        summary="How much was translated since the server started",
        responses=answers(record({"character_count": COUNT, "character_limit": COUNT}), 403, 429, error="message"),
        openapi_extra=security,
    )
    async def usage(request: Request) -> Response:
        holder = _holder(desk, request, await fields(request, desk.settings.body_bytes))
        limit = desk.settings.quota if holder is not None else 0
        return JSONResponse({"character_count": desk.used(holder), "character_limit": limit or UNLIMITED})

    return own


async def _translate(desk: Desk, request: Request) -> dict[str, Any]:
    found = await fields(request, desk.settings.body_bytes)
    holder = _holder(desk, request, found)
    given = found.get("text", found.get("text[]"))
    if given is None or given == []:
        raise Refused(400, "Parameter 'text' not specified.")
    texts = ask.texts(desk, given, "text")
    target = _language(desk, found, "target_lang")
    if target is None:
        raise Refused(400, "Parameter 'target_lang' not specified.")
    source = _language(desk, found, "source_lang")
    tags = ask.text_field(found, "tag_handling")
    if tags not in (None, "html", "xml"):
        raise Refused(400, "Value for 'tag_handling' not supported.")
    given_split = found.get("split_sentences", "1")
    split = str(given_split) if isinstance(given_split, str | int) else None
    if split not in ("0", "1", "nonewlines"):
        raise Refused(400, "Value for 'split_sentences' not supported.")
    if source is not None:
        ask.route(desk, source, target)
    desk.charge(holder, sum(map(len, texts)), Refused(456, "Quota exceeded"))

    def work(ticket: Ticket) -> list[dict[str, Any]]:
        sources = [source] * len(texts) if source else [one.language for one in ask.detected(desk, texts, target)]
        done = {}
        for code in dict.fromkeys(sources):
            route = ask.route(desk, code, target)
            own = [text for text, theirs in zip(texts, sources, strict=True) if theirs == code]
            if tags is not None:
                done[code] = iter(pages(desk, route, own, ticket))
            else:
                answers = desk.workshop.translate(route, own, ticket, split=split != "0")
                done[code] = iter([answer.text for answer in answers])
        return [
            {"detected_source_language": base(code).upper(), "text": next(done[code]), "billed_characters": len(text)}
            for text, code in zip(texts, sources, strict=True)
        ]

    return {"translations": await desk.run(request, work, desk.settings.deadline)}


def _holder(desk: Desk, request: Request, found: Fields) -> str | None:
    """Whose key stands in the header or the form."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    given = key.strip() if scheme.lower() == SCHEME else ask.text_field(found, "auth_key")
    return desk.holder(given, Refused(403, "Forbidden: the authentication key is missing or not valid"))


def _language(desk: Desk, found: Fields, field: str) -> str | None:
    code = ask.text_field(found, field)
    if code is None:
        return None
    try:
        return ask.language(desk, code)
    except Refused:
        raise Refused(400, f"Value for '{field}' not supported.") from None


def _sources(desk: Desk) -> list[dict[str, Any]]:
    sources = dict.fromkeys(source for source, _ in desk.models.steps)
    return [{"language": code.upper(), "name": name(code)} for code in sources]


def _targets(desk: Desk) -> list[dict[str, Any]]:
    targets = dict.fromkeys(target for _, target in desk.models.steps)
    named = [one for code in targets for one in VARIANTS.get(code, ((code.upper(), name(code)),))]
    return [{"language": code, "name": called, "supports_formality": False} for code, called in named]


def _parameter(called: str, schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"name": called, "in": "query", "required": required, "schema": schema}
