"""Corrections over HTTP: /corrections for the page and for programs, and LibreTranslate's /suggest."""

from collections.abc import Callable
from dataclasses import asdict
from itertools import islice
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from regard.errors import Failed, UserError
from regard.memory.pair import CORRECTIONS, Pair
from regard.memory.store import Memory
from regard.serve.api import ask
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
from regard.serve.api.fields import Fields, Supported, fields
from regard.serve.api.libretranslate import holder_of, refusal
from regard.serve.refused import Refused
from regard.serve.state import AppState

Result = TypeVar("Result")
MOST_LISTED = 100
ERRORS = (400, 403, 404, 429, 500, 503)
SUGGEST: Supported = dict.fromkeys(("q", "s", "source", "target", "api_key"))
CORRECT: Supported = dict.fromkeys(("q", "translation", "source", "target", "author", "api_key"))
LIST: Supported = dict.fromkeys(("source", "target", "after", "limit", "api_key"))
ONE: Supported = {"api_key": None}
INTEGER: Schema = {"type": "integer"}
STORED = record(
    {
        "id": INTEGER,
        **{
            name: string()
            for name in ("source_language", "target_language", "source", "target", "origin", "author", "time")
        },
    }
)


def operations(state: AppState) -> list[Operation]:
    """Return the operations, described with the languages and limits of this server."""
    one, key = text(state.settings.characters, least=1), {"api_key": or_null(string())}
    code = languages(state.models.languages)
    pair = {"source": code, "target": code}
    suggested = record({"q": one, "s": one, **pair, **key}, ("q", "s", "source", "target"))
    wanted = ("q", "translation", "source", "target")
    corrected = record({"q": one, "translation": one, **pair, "author": or_null(string()), **key}, wanted)
    listed = {
        "parameters": [
            *(parameter(name, string()) for name in ("source", "target", "api_key")),
            *(parameter(name, {**INTEGER, "minimum": 0}) for name in ("after", "limit")),
        ]
    }
    identified = {"parameters": [parameter("id", INTEGER, place="path", required=True), parameter("api_key", string())]}
    removed = answers({}, *ERRORS)
    del removed["200"]
    return [
        Operation(
            "POST", "/suggest", suggest, "Store a better translation",
            answers(record({"success": {"type": "boolean"}}), *ERRORS), body(suggested),
        ),
        Operation("POST", "/corrections", correct, "Store a correction", answers(STORED, *ERRORS), body(corrected)),
        Operation(
            "GET", "/corrections", list_, "What was corrected, oldest first; the next are after the last id",
            answers(record({"corrections": array(STORED)}), *ERRORS), listed,
        ),
        Operation(
            "DELETE", "/corrections/{id}", remove, "Remove a correction",
            {"204": {"description": "Done"}, **removed}, identified,
        ),
    ]  # fmt: skip


async def suggest(state: AppState, request: Request) -> Response:
    found = await fields(request, SUGGEST, refusal)
    await _store(state, request, found, "s", "suggestion")
    return JSONResponse({"success": True})


async def correct(state: AppState, request: Request) -> Response:
    found = await fields(request, CORRECT, refusal)
    return JSONResponse(asdict(await _store(state, request, found, "translation", "correction")))


async def list_(state: AppState, request: Request) -> Response:
    found = await fields(request, LIST, refusal)
    memory, _ = _writer(state, found)
    source, target = (ask.text_field(found, name) for name in ("source", "target"))
    if (source is None) != (target is None):
        raise ask.missing("target" if target is None else "source")
    direction = None if source is None or target is None else (source, target)
    after, limit = _number(found, "after", 0), min(MOST_LISTED, _number(found, "limit", MOST_LISTED))
    pairs = await _work(
        state,
        request,
        lambda: list(islice(memory.entries(after=after, origins=CORRECTIONS, languages=direction), limit)),
    )
    return JSONResponse({"corrections": list(map(asdict, pairs))})


async def remove(state: AppState, request: Request) -> Response:
    found = await fields(request, ONE, refusal)
    memory, _ = _writer(state, found)
    given = request.path_params["id"]
    number = int(given) if given.isascii() and given.isdecimal() and len(given) < 19 else 0

    def work() -> bool:
        known = [pair for pair in memory.get([number]) if pair.origin in CORRECTIONS]
        return bool(known and memory.remove([number]))

    if not await _work(state, request, work):
        raise Refused(404, "There is no such correction")
    return Response(status_code=204)


async def _store(state: AppState, request: Request, found: Fields, field: str, origin: str) -> Pair:
    """Store a correction between two served languages."""
    memory, holder = _writer(state, found)
    texts = []
    for name in ("q", field):
        given = ask.text_field(found, name)
        if given is None or not given.strip():
            raise ask.missing(name)
        ask.within(len(given), state.settings.characters)
        texts.append(given.strip())
    codes = [ask.text_field(found, name) for name in ("source", "target")]
    if None in codes:
        raise ask.missing("source" if codes[0] is None else "target")
    source, target = (ask.language(state, str(code)) for code in codes)
    if not ask.route(state, source, target):
        raise Refused(400, "Invalid request: nothing is translated between a language and itself")
    author = holder or ask.text_field(found, "author") or ""
    return await _work(state, request, lambda: memory.add(Pair(source, target, texts[0], texts[1], origin, author)))


def _writer(state: AppState, found: Fields) -> tuple[Memory, str | None]:
    """Return the memory and the holder of the key; raise Refused without a memory or the right to write it."""
    holder = holder_of(state, found)
    memory = state.knowledge.memory
    if memory is None:
        raise Refused(403, "Suggestions are disabled on this server.")
    if state.keys is not None and holder not in state.keys.writers:
        raise Refused(403, "This API key has no right to write or read corrections")
    return memory, holder


def _number(found: Fields, name: str, default: int) -> int:
    given = str(found.get(name, default))
    if not given.isascii() or not given.isdecimal() or len(given) > 18:
        raise Refused(400, f"Invalid request: {name} parameter is not a number")
    return int(given)


async def _work(state: AppState, request: Request, work: Callable[[], Result]) -> Result:
    """Run work on the memory in a thread; a user's mistake is a 400, a full disk a 503."""
    try:
        return await state.run(request, lambda _: work(), state.settings.deadline)
    except UserError as error:
        raise Refused(400, f"Invalid request: {error}") from None
    except Failed as error:
        raise Refused(503, f"The memory can't be written: {error}", retry_after=10) from None
