"""What the page shows of a translation besides its text, which neither API has a place for: which word came from which,
other translations with their scores, and the model at work."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from regard.documents.placement import Pairs
from regard.errors import UserError
from regard.look.page import page
from regard.serve import ask
from regard.serve.ask import Asked
from regard.serve.described import Operation, Schema, answers, array, body, or_null, record, string, text
from regard.serve.desk import Desk
from regard.serve.fields import fields
from regard.serve.libretranslate import WORK, charged, direction, holder_of, pair
from regard.serve.models import Step
from regard.serve.refused import Refused, busy
from regard.serve.ticket import Ticket
from regard.serve.workshop import identity, through
from regard.translate.translation import Translation
from regard.translate.translator import Options

if TYPE_CHECKING:  # it needs torch, which translations may do without
    from regard.look.look import Look

Result = TypeVar("Result")
ALTERNATIVES = 3
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
PAIRS = array(array(COUNT, minItems=2, maxItems=2))
DETAILS = record(
    {
        "translatedText": string(),
        "score": NUMBER,
        "alignment": or_null({**PAIRS, "description": "Word of the text, word of the translation, from 0"}),
        "alternatives": array(record({"text": string(), "score": NUMBER})),
    }
)
SIDE = record({"text": string(), "tokens": array(string()), "words": array(string()), "word_of": array(COUNT)})
OUTPUT = record({"text": string(), "tokens": array(string()), "score": NUMBER, "log_probability": NUMBER})
BRANCH = record(
    {
        "parent": or_null(COUNT),
        "step": COUNT,
        "token": string(),
        "token_score": NUMBER,
        "log_probability": NUMBER,
        "score": NUMBER,
    }
)
PACKED = record({"shape": array(COUNT), "low": NUMBER, "high": NUMBER, "data": string(contentEncoding="base64")})
SENTENCE = record(
    {
        "source": SIDE,
        "target": SIDE,
        "attention": {
            "type": "object",
            "additionalProperties": {**PACKED, "description": "Weights by layer, head, target and source"},
        },
        "alignment": PAIRS,
        "n_best": array(OUTPUT),
        "greedy": OUTPUT,
        "branches": array({**BRANCH, "description": "A hypothesis of the beam search, as the last of its tokens"}),
        "probable": array(array(array({"anyOf": [string(), NUMBER]}, minItems=2, maxItems=2))),
        "positions": or_null(PACKED),
    }
)
LOOK = record(
    {
        "source": string(),
        "translation": string(),
        "languages": array(string(), minItems=2, maxItems=2),
        "sentences": array(SENTENCE),
    }
)


def operations(desk: Desk) -> list[Operation]:
    def one(most: int) -> Schema:
        return body(record({"q": text(most, least=1), **direction(desk)}, ("q", "source", "target")))

    return [
        Operation(
            "POST", "/details", details, "Which word of a translation came from which, and other translations",
            answers(DETAILS, *WORK), one(desk.settings.characters),
        ),
        Operation(
            "POST", "/look", look, "What the last model on the way did: attention, its search, what else was probable",
            answers(LOOK, *WORK), one(desk.settings.look_characters),
        ),
    ]  # fmt: skip


async def details(desk: Desk, request: Request) -> Response:
    return JSONResponse(await _run(desk, request, desk.settings.characters, _details))


async def look(desk: Desk, request: Request) -> Response:
    content = await _run(desk, request, desk.settings.look_characters, _look)
    return Response(content, media_type="application/json")


async def template(_: Request) -> Response:
    """What the viewer puts a Look into, to save it as one file."""
    return HTMLResponse(page())


async def _run(desk: Desk, request: Request, most: int, work: Callable[[Desk, Asked, Ticket], Result]) -> Result:
    """Work on one text; who asks, and how much, is checked as for a translation."""
    found = await fields(request)
    holder = holder_of(desk, found)
    q = ask.text_field(found, "q")
    if q is None:
        raise ask.missing("q")
    ask.within(len(q), most)
    asked = Asked([q], *pair(desk, found))
    with charged(desk, holder, len(q)):
        return await desk.run(request, lambda ticket: work(desk, asked, ticket), desk.settings.deadline)


def _route(desk: Desk, asked: Asked) -> tuple[Step, ...]:
    (source,) = ask.sources(desk, asked)
    return ask.route(desk, source.language, asked.target)


def _details(desk: Desk, asked: Asked, ticket: Ticket) -> dict[str, Any]:
    """The translation again, which the cache has; its alignment, in words as str.split gives them; and alternatives,
    which are the last step's."""
    text, score = asked.texts[0], 0.0
    pairs: Pairs | None = identity(text)
    others: dict[str, float] = {}
    for step in _route(desk, asked):
        translator = desk.workshop.translator(step, ticket)
        greedy = translator.saved.decode.beam == 1  # and has no scores unless they are asked for
        options = Options(target=step.tag, token_scores=greedy)
        one = translator.window([text], replace(options, alignment=translator.has_weights))[0]
        if step.target == asked.target:
            most = min(ALTERNATIVES, desk.settings.alternatives)
            others = _others(translator.window([text], replace(options, n_best=most + 1))[0], one.text, most)
        text, pairs, score = one.text, through(pairs, one.pairs), one.score
    alternatives = [{"text": other, "score": round(worth, 4)} for other, worth in others.items()]
    return {"translatedText": text, "score": round(score, 4), "alignment": pairs, "alternatives": alternatives}


def _others(found: Translation, best: str, most: int) -> dict[str, float]:
    """Translations that are neither the best nor empty, each once, with their scores."""
    scores: dict[str, float] = {}
    for number in range(found.options):
        scores.setdefault(found.option(number), found.option_score(number))
    return dict(islice(((text, score) for text, score in scores.items() if text not in (best, "")), most))


def _look(desk: Desk, asked: Asked, ticket: Ticket) -> str:
    """One looks at a time, so that the processor is left to translations."""
    if not desk.looking.acquire(blocking=False):
        desk.metrics.refused.labels("look").inc()
        raise busy()
    try:
        return _seen(desk, asked, ticket).to_json()
    except UserError as error:
        raise Refused(400, f"Invalid request: {error}") from None
    finally:
        desk.looking.release()


def _seen(desk: Desk, asked: Asked, ticket: Ticket) -> "Look":
    """Into the last model of the route."""
    route = _route(desk, asked)
    if not route:
        raise Refused(400, "Invalid request: nothing is translated between a language and itself")
    *before, last = route
    (text,) = desk.workshop.translate(before, asked.texts, ticket)
    seen = desk.workshop.translator(last, ticket).look(text.text, Options(target=last.tag))
    return replace(seen, languages=(last.source, last.target))
