"""The API of LibreTranslate: /translate, /detect, /languages, /translate_file and the settings for its page."""

from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from regard.documents.translate import READERS, Result
from regard.serve.api import ask, documents
from regard.serve.api.ask import TranslationRequest
from regard.serve.api.described import (
    Operation,
    Schema,
    answers,
    array,
    body,
    languages,
    or_null,
    parameter,
    record,
    string,
    text,
)
from regard.serve.api.documents import REPORT, ParsedDocument
from regard.serve.api.fields import Fields, Supported, Upload, fields
from regard.serve.api.languages import served
from regard.serve.batching.cancellation import CancellationToken
from regard.serve.knowledge.answer import FIELDS, KNOWN, knowledge_of
from regard.serve.refused import Refused
from regard.serve.state import AppState
from regard.text.protected.languages import name

AUTO = "auto"
DOWNLOAD = "/download_file/{filename}"
BINARY = "application/octet-stream"
WORK = (400, 403, 429, 500, 503)  # error statuses of operations that translate
ALONE: Supported = {"q": None, "api_key": None}
PAIR: Supported = {"source": None, "target": None, "api_key": None}
TEXT: Supported = {**PAIR, "q": None}
FORCED: Supported = {**TEXT, "force": None}
TRANSLATE: Supported = {**FORCED, "format": None, "alternatives": None}
FILE: Supported = {**PAIR, "file": None}
LIST: Supported = {"api_key": None}
LANGUAGE = record({"code": string(), "name": string()})
LANGUAGES = array(record({"code": string(), "name": string(), "targets": array(string())}))
FORCE = or_null({"type": "boolean", "description": "Translate text that is not in the source language, too"})
DETECTED = record({"confidence": {"type": "number", "minimum": 0, "maximum": 100}, "language": string()})
TRANSLATED = record(
    {
        "translatedText": {"anyOf": [string(), array(string())]},
        "detectedLanguage": {"anyOf": [DETECTED, array(DETECTED)]},
        "alternatives": {"anyOf": [array(string()), array(array(string()))]},
        **KNOWN,
    },
    ("translatedText",),
)
SETTINGS = record(
    {
        "charLimit": {"type": "integer"},
        "frontendTimeout": {"type": "integer"},
        "apiKeys": {"type": "boolean"},
        "keyRequired": {"type": "boolean"},
        "suggestions": {"type": "boolean"},
        "filesTranslation": {"type": "boolean"},
        "supportedFilesFormat": array(string()),
        "language": record({"source": LANGUAGE, "target": LANGUAGE}),
    }
)


def operations(state: AppState) -> list[Operation]:
    """Return the operations, described with the languages and limits of this server."""
    one, several = text(state.settings.characters, least=1), array(text(state.settings.characters), minItems=1)
    q = {"anyOf": [one, {**several, "maxItems": state.settings.texts}]}
    options = {
        "format": or_null(string(enum=["text", "html", ""])),
        "alternatives": or_null({"type": "integer", "maximum": state.settings.alternatives}),
        "force": FORCE,
    }
    pair = direction(state)
    texts = record({"q": q, **pair, **options}, ("q", "source", "target"))
    file = record({"file": string(format="binary"), **pair}, ("file", "source", "target"))
    alone = record({"q": q, "api_key": pair["api_key"]}, ("q",))
    spelling = {"description": "Fields may also stand in the query string. Languages are matched in any case."}
    endings = {"description": f"A file that ends with {', '.join(READERS)}."}
    named = {"parameters": [parameter("filename", string(), place="path", required=True)]}
    link = record({"translatedFileUrl": string(format="uri"), "report": REPORT})
    candidates = array(DETECTED, minItems=1)
    return [
        Operation(
            "POST", "/translate", translate, "Translate texts",
            answers(TRANSLATED, *WORK), {**spelling, **body(texts, {"q": one})},
        ),
        Operation(
            "POST", "/detect", detect, "Detect the language of a text",
            answers(candidates, *WORK), body(alone, {"q": one}),
        ),
        Operation(
            "POST", "/translate_file", translate_file, "Translate a file, which keeps its structure",
            answers(link, *WORK), {**endings, **body(file, kinds=("multipart/form-data",))},
        ),
        Operation(
            "GET", DOWNLOAD, download_file, "Fetch a translated file", answers({}, 404, 429, kind=BINARY), named
        ),
        Operation("GET", "/languages", list_languages, "The languages served", answers(LANGUAGES, 400, 429)),
        Operation("GET", "/frontend/settings", frontend_settings, "What a page must know", answers(SETTINGS, 400, 429)),
    ]  # fmt: skip


def direction(state: AppState) -> dict[str, Schema]:
    """Return the schema of the fields that every translation request has besides the text."""
    codes = state.models.languages
    return {
        "source": languages([AUTO, *codes], examples=[AUTO]),
        "target": languages(codes, examples=codes[:1]),
        "api_key": or_null(string(description="If this server wants a key")),
    }


async def translate(state: AppState, request: Request) -> Response:
    found = await fields(request, TRANSLATE, refusal)
    holder = holder_of(state, found)
    texts, several = _q(state, found)
    source, target = pair(state, found)
    format_ = ask.text_field(found, "format") or "text"
    if format_ not in ("text", "html"):
        raise Refused(400, f"{format_[:40]} format is not supported")
    asked = TranslationRequest(
        texts,
        source,
        target,
        html=format_ == "html",
        alternatives=_alternatives(state, found),
        force=forced(found, format_),
    )
    with charged(state, holder, asked.characters):
        done = await state.run(
            request,
            lambda cancellation: ask.translated(state, asked, cancellation),
            state.settings.deadline,
            characters=asked.characters,
        )
    told: dict[str, list[Any]] = {"translatedText": [answer.text for _, answer in done]}
    if source is None:
        told["detectedLanguage"] = [language.as_dict() for language, _ in done]
    if asked.alternatives:
        told["alternatives"] = [answer.alternatives for _, answer in done]
    known = [knowledge_of(answer) for _, answer in done]
    for field in FIELDS:
        values = [getattr(one, field) for one in known]
        if any(value is not None for value in values):
            told[field] = values
    return JSONResponse(told if several else {field: values[0] for field, values in told.items()})


async def detect(state: AppState, request: Request) -> Response:
    found = await fields(request, ALONE, refusal)
    holder_of(state, found)
    joined = "\n".join(_q(state, found)[0])
    candidates = await state.run(request, lambda _: state.detector.candidates(joined), state.settings.deadline)
    return JSONResponse([one.as_dict() for one in candidates])


async def translate_file(state: AppState, request: Request) -> Response:
    found = await fields(request, FILE, refusal)
    holder = holder_of(state, found)
    file = found.get("file")
    if not isinstance(file, Upload):
        raise ask.missing("file")
    source, target = pair(state, found)
    document, seconds = documents.sent(file, file.name, source, target), state.settings.file_deadline

    def reading(cancellation: CancellationToken) -> ParsedDocument:
        return documents.read(state, document, cancellation)

    read = await state.run(request, reading, seconds, document=True)

    def translating(cancellation: CancellationToken) -> Result:
        return documents.translate(state, read, cancellation)

    with charged(state, holder, read.characters):
        translated = await state.run(request, translating, seconds, document=True)
    token = state.downloads.put(read.name, translated.content)
    address = str(request.url_for(DOWNLOAD, filename=token))
    return JSONResponse({"translatedFileUrl": address, "report": translated.report.figures})


async def download_file(state: AppState, request: Request) -> Response:
    file = state.downloads.get(request.path_params["filename"])
    if file is None:
        raise Refused(404, "There is no such file; translated files are kept for a while only")
    disposition = f"attachment; filename*=utf-8''{quote(file.name, safe='')}"
    return Response(file.content, media_type=BINARY, headers={"Content-Disposition": disposition})


async def list_languages(state: AppState, request: Request) -> Response:
    await fields(request, LIST, refusal)
    codes = state.models.languages
    return JSONResponse([{"code": code, "name": name(code), "targets": state.models.targets(code)} for code in codes])


async def frontend_settings(state: AppState, request: Request) -> Response:
    await fields(request, {}, refusal)
    first = next(iter(state.models.steps))[1]
    told = {
        "charLimit": state.settings.characters,
        "frontendTimeout": 500,
        "apiKeys": state.keys is not None,
        "keyRequired": state.keys is not None,
        "suggestions": state.knowledge.memory is not None,
        "filesTranslation": True,
        "supportedFilesFormat": list(READERS),
        "language": {
            "source": {"code": AUTO, "name": "Auto Detect"},
            "target": {"code": first, "name": name(first)},
        },
    }
    return JSONResponse(told)


def refusal(field: str, _: bool) -> Refused:
    return Refused(400, f"Invalid request: {field} parameter is not supported")


def holder_of(state: AppState, found: Fields) -> str | None:
    """Return the holder of a request's key."""
    key = ask.text_field(found, "api_key")
    if key is None:
        return state.holder(None, Refused(400, "Please contact the server operator to get an API key"))
    return state.holder(key, Refused(403, "Invalid API key"))


def charged(state: AppState, holder: str | None, characters: int) -> AbstractContextManager[None]:
    return state.charged(holder, characters, Refused(403, "The quota of this API key is used up"))


def pair(state: AppState, found: Fields) -> tuple[str | None, str]:
    """Return source and target, between which there is a route; None as the source to detect it."""
    source, target = ask.text_field(found, "source"), ask.text_field(found, "target")
    if source is None or target is None:
        raise ask.missing("source" if source is None else "target")
    code, into = None if served(source, [AUTO]) == AUTO else ask.language(state, source), ask.language(state, target)
    if code is not None:
        ask.route(state, code, into)
    else:
        ask.reached(state, into)
    return code, into


def _q(state: AppState, found: Fields) -> tuple[list[str], bool]:
    """Return the texts, and whether they came as a list."""
    q = found.get("q")
    if q is None or q in ("", []):
        raise ask.missing("q")
    return ask.texts(state, q, "q"), isinstance(q, list)


def forced(found: Fields, format_: str = "text") -> bool:
    """Return whether texts in other languages are translated, too; in pages the field would have no effect."""
    given = found.get("force")
    if given in (None, "", False, "false", "0", 0):
        return False
    if given not in (True, "true", "1", 1) or format_ == "html":
        raise Refused(400, "Invalid request: force parameter is true or false, and for text only")
    return True


def _alternatives(state: AppState, found: Fields) -> int:
    given = found.get("alternatives", 0)
    try:
        whole = isinstance(given, int | str) or (isinstance(given, float) and given.is_integer())
        if isinstance(given, bool) or not whole:
            raise ValueError(given)
        number = max(0, int(given))
    except ValueError:
        raise Refused(400, "Invalid request: alternatives parameter is not a number") from None
    if number > state.settings.alternatives:
        raise Refused(400, f"Invalid request: alternatives parameter must be <= {state.settings.alternatives}")
    return number
