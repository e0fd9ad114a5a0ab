"""The API of LibreTranslate: /translate, /detect, /languages, /translate_file and what its page asks for."""

import asyncio
from pathlib import PurePath
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from regard.documents import html
from regard.documents.formats import FORMATS, beside, is_document, taken
from regard.errors import UserError
from regard.serve import ask
from regard.serve.described import answers, array, body, languages, or_null, record, string, text
from regard.serve.desk import Desk
from regard.serve.detect import SAMPLE, Detected
from regard.serve.fields import Fields, Upload, fields
from regard.serve.kept import safe_name
from regard.serve.languages import name, served
from regard.serve.refused import Refused
from regard.serve.ticket import Ticket
from regard.serve.workshop import Answer, Route

AUTO = "auto"
WORK = (400, 403, 429, 500, 503)  # errors of what asks for work
LANGUAGE = record({"code": string(), "name": string()})
DETECTED = record({"confidence": {"type": "number", "minimum": 0, "maximum": 100}, "language": string()})
TRANSLATED = record(
    {
        "translatedText": {"anyOf": [string(), array(string())]},
        "detectedLanguage": {"anyOf": [DETECTED, array(DETECTED)]},
        "alternatives": {"anyOf": [array(string()), array(array(string()))]},
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


def router(desk: Desk) -> APIRouter:
    """The operations, described with the languages and limits of this server."""
    own = APIRouter(tags=["LibreTranslate"])
    codes, key = desk.models.languages, or_null(string(description="If this server wants a key"))
    one = text(desk, least=1)
    asked = {
        "q": {"anyOf": [one, array(text(desk), minItems=1, maxItems=desk.settings.texts)]},
        "source": languages([AUTO, *codes], examples=[AUTO]),
        "target": languages(codes, examples=codes[:1]),
        "format": or_null(string(enum=["text", "html", ""])),
        "alternatives": or_null({"type": "integer", "maximum": desk.settings.alternatives}),
        "api_key": key,
    }

    @own.post(
        "/translate",
        summary="Translate texts",
        description="Fields may also stand in the query string. Languages are matched in any case.",
        responses=answers(TRANSLATED, *WORK),
        openapi_extra=body(record(asked, ("q", "source", "target")), {"q": one}),
    )
    async def translate(request: Request) -> Response:
        return JSONResponse(await _translate(desk, request))

    @own.post(
        "/detect",
        summary="Detect the language of a text",
        responses=answers(array(DETECTED, minItems=1), *WORK),
        openapi_extra=body(record({"q": asked["q"], "api_key": key}, ("q",)), {"q": one}),
    )
    async def detect(request: Request) -> Response:
        found = await fields(request, desk.settings.body_bytes)
        holder_of(desk, found)
        joined = "\n".join(_q(desk, found)[0])
        candidates = await desk.run(request, lambda _: desk.detector.candidates(joined), desk.settings.deadline)
        return JSONResponse([one.as_dict() for one in candidates])

    @own.post(
        "/translate_file",
        summary="Translate a file, which keeps its structure",
        description=f"A file that ends with {', '.join(FORMATS)}, in UTF-8.",
        responses=answers(record({"translatedFileUrl": string(format="uri")}), *WORK),
        openapi_extra=body(
            record(
                {"file": string(format="binary"), "source": asked["source"], "target": asked["target"], "api_key": key},
                ("file", "source", "target"),
            ),
            kinds=("multipart/form-data",),
        ),
    )
    async def translate_file(request: Request) -> Response:
        return JSONResponse({"translatedFileUrl": await _translate_file(desk, request)})

    @own.get(
        "/download_file/{filename}",
        summary="Fetch a translated file",
        response_class=Response,
        responses={
            **answers({}, 404, 429),
            200: {"description": "The file", "content": {"application/octet-stream": {"schema": {}}}},
        },
    )
    async def download_file(filename: str) -> Response:
        file = desk.kept.get(filename)
        if file is None:
            raise Refused(404, "There is no such file; translated files are kept for a while only")
        return FileResponse(
            file.path,
            media_type="application/octet-stream",
            filename=file.name,
            headers={"Cache-Control": "no-store"},
        )

    @own.get(
        "/languages",
        summary="The languages served",
        responses=answers(array(record({"code": string(), "name": string(), "targets": array(string())})), 429),
    )
    async def all_languages() -> Response:
        return JSONResponse([{"code": c, "name": name(c), "targets": desk.models.targets(c)} for c in codes])

    @own.get("/frontend/settings", summary="What a page must know", responses=answers(SETTINGS, 429))
    async def frontend_settings() -> Response:
        return JSONResponse(_frontend(desk))

    return own


async def _translate(desk: Desk, request: Request) -> dict[str, Any]:
    found = await fields(request, desk.settings.body_bytes)
    holder = holder_of(desk, found)
    texts, several = _q(desk, found)
    source, target = pair(desk, found)
    format_ = ask.text_field(found, "format") or "text"
    if format_ not in ("text", "html"):
        raise Refused(400, f"{format_[:40]} format is not supported")
    alternatives = _alternatives(desk, found)
    if source is not None:
        ask.route(desk, source, target)
    desk.charge(holder, sum(map(len, texts)), Refused(403, "The quota of this API key is used up"))

    def work(ticket: Ticket) -> tuple[list[Detected] | None, list[Answer]]:
        read = None if source is not None else ask.detected(desk, texts, target)
        sources = [source] * len(texts) if source is not None else [one.language for one in read or ()]
        return read, _by_language(
            desk, texts, sources, target, ticket, html=format_ == "html", alternatives=alternatives
        )

    read, done = await desk.run(request, work, desk.settings.deadline)
    answer: dict[str, Any] = {"translatedText": [one.text for one in done] if several else done[0].text}
    if read is not None:
        answer["detectedLanguage"] = [one.as_dict() for one in read] if several else read[0].as_dict()
    if alternatives:
        answer["alternatives"] = [one.alternatives for one in done] if several else done[0].alternatives
    return answer


def _by_language(
    desk: Desk,
    texts: list[str],
    sources: list[str],
    target: str,
    ticket: Ticket,
    *,
    html: bool,
    alternatives: int,
) -> list[Answer]:
    """Translate texts that may be in different languages."""
    done: dict[int, Answer] = {}
    for source in dict.fromkeys(sources):
        numbers = [number for number, code in enumerate(sources) if code == source]
        route = ask.route(desk, source, target)
        own = [texts[number] for number in numbers]
        if html:
            answers = [Answer(page) for page in pages(desk, route, own, ticket)]
        else:
            answers = desk.workshop.translate(route, own, ticket, alternatives=alternatives)
        done |= dict(zip(numbers, answers, strict=True))
    return [done[number] for number in range(len(texts))]


def pages(desk: Desk, route: Route, texts: list[str], ticket: Ticket) -> list[str]:
    """Translate texts that are HTML."""
    return desk.workshop.documents(route, [html.pieces(text) for text in texts], ticket)


async def _translate_file(desk: Desk, request: Request) -> str:
    found = await fields(request, desk.settings.file_bytes)
    holder = holder_of(desk, found)
    file = found.get("file")
    if not isinstance(file, Upload):
        raise ask.missing("file")
    source, target = pair(desk, found)
    title = safe_name(file.name)
    if not title:
        raise Refused(400, "Invalid request: empty file")
    if not is_document(title):
        raise Refused(400, "Invalid request: file format not supported")
    desk.charge(holder, len(file.content), Refused(403, "The quota of this API key is used up"))

    def work(ticket: Ticket) -> tuple[str, str]:
        start = source or ask.detected(desk, [file.content[: 4 * SAMPLE].decode("utf-8", "ignore")], target)[0].language
        route = ask.route(desk, start, target)
        try:
            pieces = taken(file.content, PurePath(title), target)
        except UserError as error:
            raise Refused(400, f"Invalid request: {error}") from None
        return start, desk.workshop.documents(route, [pieces], ticket)[0]

    start, translated = await desk.run(request, work, desk.settings.file_deadline)
    named = beside(PurePath(title), start, target).name
    token = await asyncio.to_thread(desk.kept.put, named, translated.encode())
    return str(request.url_for("download_file", filename=token))


def holder_of(desk: Desk, found: Fields) -> str | None:
    key = ask.text_field(found, "api_key")
    if key is None:
        return desk.holder(None, Refused(400, "Please contact the server operator to get an API key"))
    return desk.holder(key, Refused(403, "Invalid API key"))


def _q(desk: Desk, found: Fields) -> tuple[list[str], bool]:
    """The texts, and whether they came as a list."""
    q = found.get("q")
    if q is None or q in ("", []):
        raise ask.missing("q")
    return ask.texts(desk, q, "q"), isinstance(q, list)


def pair(desk: Desk, found: Fields) -> tuple[str | None, str]:
    """The languages; None as the source if it is to be detected."""
    source, target = ask.text_field(found, "source"), ask.text_field(found, "target")
    if source is None or target is None:
        raise ask.missing("source" if source is None else "target")
    code = None if served(source, [AUTO]) == AUTO else ask.language(desk, source)
    return code, ask.language(desk, target)


def _alternatives(desk: Desk, found: Fields) -> int:
    given = found.get("alternatives", 0)
    try:
        whole = isinstance(given, int | str) or (isinstance(given, float) and given.is_integer())
        if isinstance(given, bool) or not whole:
            raise ValueError(given)
        number = max(0, int(given))
    except ValueError:
        raise Refused(400, "Invalid request: alternatives parameter is not a number") from None
    if number > desk.settings.alternatives:
        raise Refused(400, f"Invalid request: alternatives parameter must be <= {desk.settings.alternatives}")
    return number


def _frontend(desk: Desk) -> dict[str, Any]:
    first = next(iter(desk.models.steps))[1]
    return {
        "charLimit": desk.settings.characters,
        "frontendTimeout": 500,
        "apiKeys": desk.keys is not None,
        "keyRequired": desk.keys is not None,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": list(FORMATS),
        "language": {
            "source": {"code": AUTO, "name": "Auto Detect"},
            "target": {"code": first, "name": name(first)},
        },
    }
