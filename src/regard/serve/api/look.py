"""Endpoints of the page that neither API has: alignment, other translations and words, attention, and the models."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from regard.documents.placement import Pairs
from regard.errors import UserError
from regard.look.page import page
from regard.serve.api import ask
from regard.serve.api.ask import TranslationRequest
from regard.serve.api.described import Operation, Schema, answers, array, body, or_null, record, string, text
from regard.serve.api.fields import Fields, fields
from regard.serve.api.libretranslate import FORCE, FORCED, WORK, charged, direction, forced, holder_of, pair, refusal
from regard.serve.batching.cancellation import CancellationToken
from regard.serve.knowledge.answer import KNOWN_ONE, knowledge_of
from regard.serve.models import Step
from regard.serve.refused import Refused, busy
from regard.serve.service import Answer, identity, through
from regard.serve.state import AppState
from regard.translate.next_words import next_words
from regard.translate.translation import Translation
from regard.translate.translator import Options

if TYPE_CHECKING:  # needs torch, which a fast engine does without
    from regard.look.inspection import Look

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
        "weak": array(
            record({"word": COUNT, "probability": NUMBER}),
            description="Words of the translation, from 0, that the model held improbable",
        ),
        **KNOWN_ONE,
    },
    ("translatedText", "score", "alignment", "alternatives", "weak"),
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
        "active": or_null({**PACKED, "description": "Share of active feed-forward units by encoder layer and token"}),
    }
)
WORDS = record({"words": array(record({"word": string(), "probability": NUMBER, "text": string()}))})
ABOUT = record(
    {
        "models": array(
            record(
                {
                    "source": string(),
                    "target": string(),
                    "summary": or_null(string()),
                    "summaries": {"type": "object", "additionalProperties": string()},
                }
            ),
            description="What each direction's model says of itself, also in each language that its card has",
        )
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


def operations(state: AppState) -> list[Operation]:
    def one(most: int, **more: Schema) -> Schema:
        asked = {"q": text(most, least=1), "force": FORCE, **more, **direction(state)}
        return body(record(asked, ("q", "source", "target")))

    return [
        Operation(
            "POST", "/details", details, "Which word of a translation came from which, and other translations",
            answers(DETAILS, *WORK), one(state.settings.characters),
        ),
        Operation(
            "POST", "/look", look, "What the last model on the way did: attention, its search, what else was probable",
            answers(LOOK, *WORK), one(state.settings.look_characters),
        ),
        Operation(
            "POST", "/words", words, "Words that may follow the beginning of a translation, and what then follows",
            answers(WORDS, *WORK),
            one(state.settings.look_characters, beginning=or_null(text(state.settings.characters))),
        ),
        Operation("GET", "/about", about, "What the models say of themselves", answers(ABOUT, 400, 429)),
    ]  # fmt: skip


async def details(state: AppState, request: Request) -> Response:
    return JSONResponse(await _run(state, request, state.settings.characters, _details))


async def look(state: AppState, request: Request) -> Response:
    content = await _run(state, request, state.settings.look_characters, _look)
    return Response(content, media_type="application/json")


async def words(state: AppState, request: Request) -> Response:
    found = await fields(request, {**FORCED, "beginning": None}, refusal)
    beginning = ask.text_field(found, "beginning") or ""
    ask.within(len(beginning), state.settings.characters)
    return JSONResponse(
        await _run(
            state,
            request,
            state.settings.look_characters,
            lambda state, asked, cancellation: _words(state, asked, cancellation, beginning),
            found=found,
        )
    )


async def about(state: AppState, request: Request) -> Response:
    await fields(request, {}, refusal)
    models = []
    for step in state.models.steps.values():
        summaries = state.models.summaries(step.model)
        first = next(iter(summaries.values()), None)
        models.append({"source": step.source, "target": step.target, "summary": first, "summaries": summaries})
    return JSONResponse({"models": models})


async def template(_: Request) -> Response:
    """Return the empty viewer page, which the viewer fills to save a Look as one file."""
    return HTMLResponse(page())


async def _run(
    state: AppState,
    request: Request,
    most: int,
    work: Callable[[AppState, TranslationRequest, CancellationToken], Result],
    found: Fields | None = None,
) -> Result:
    """Run work on one text, with the checks of key, rate and quota of a translation."""
    found = await fields(request, FORCED, refusal) if found is None else found
    holder = holder_of(state, found)
    q = ask.text_field(found, "q")
    if q is None:
        raise ask.missing("q")
    ask.within(len(q), most)
    asked = TranslationRequest([q], *pair(state, found), force=forced(found))
    with charged(state, holder, len(q)):
        return await state.run(
            request, lambda cancellation: work(state, asked, cancellation), state.settings.deadline, characters=len(q)
        )


def _route(state: AppState, asked: TranslationRequest) -> tuple[Step, ...]:
    (source,) = ask.sources(state, asked)
    return ask.route(state, source.language, asked.target)


def _details(state: AppState, asked: TranslationRequest, cancellation: CancellationToken) -> dict[str, Any]:
    """Return the (cached) translation, its alignment in words by str.split, and alternatives of the last model of the
    route."""
    text, score = asked.texts[0], 0.0
    pairs: Pairs | None = identity(text)
    others: dict[str, float] = {}
    weak: dict[int, float] = {}
    known: dict[str, Any] = {}
    for step in _route(state, asked):
        translator = state.service.translator(step, cancellation)
        greedy = translator.saved.decode.beam == 1  # greedy search has no scores unless requested
        options = replace(state.service.options(step), token_scores=greedy, force=asked.force)
        last = step.target == asked.target
        one = translator.window([text], replace(options, alignment=translator.has_weights, fuzzy=last))[0]
        if last:
            most = min(ALTERNATIVES, state.settings.alternatives)
            (several,) = translator.window([text], replace(options, n_best=most + 1, memory=None, token_scores=True))
            others = _others(several, one.text, most)
            weak = several.weak_words if several.text == one.text else {}
            known = vars(knowledge_of(Answer(one.text, translation=one)))
        text, pairs, score = one.text, through(pairs, one.pairs), one.score
    alternatives = [{"text": other, "score": round(worth, 4)} for other, worth in others.items()]
    told = {"translatedText": text, "score": round(score, 4), "alignment": pairs, "alternatives": alternatives}
    told["weak"] = [{"word": number, "probability": round(worth, 5)} for number, worth in weak.items()]
    return {**told, **{field: value for field, value in known.items() if value is not None}}


def _others(found: Translation, best: str, most: int) -> dict[str, float]:
    """Return the alternatives with their scores, without the best, empty ones and duplicates."""
    scores: dict[str, float] = {}
    for number in range(found.options):
        scores.setdefault(found.option(number), found.option_score(number))
    return dict(islice(((text, score) for text, score in scores.items() if text not in (best, "")), most))


def _words(
    state: AppState, asked: TranslationRequest, cancellation: CancellationToken, beginning: str
) -> dict[str, Any]:
    """Return the words that may follow in the translation by the last model of the route."""
    text, last = _before_last(state, asked, cancellation)
    translator = state.service.translator(last, cancellation)
    try:
        found = next_words(translator, text, beginning, Options(target=last.tag, force=asked.force))
    except UserError as error:
        raise Refused(400, f"Invalid request: {error}") from None
    return {"words": [{"word": one.word, "probability": round(one.probability, 5), "text": one.text} for one in found]}


def _look(state: AppState, asked: TranslationRequest, cancellation: CancellationToken) -> str:
    """Compute one Look at a time, so that translations keep the CPU."""
    if not state.looking.acquire(blocking=False):
        state.metrics.refused.labels("look").inc()
        raise busy()
    try:
        return _seen(state, asked, cancellation).to_json()
    except UserError as error:
        raise Refused(400, f"Invalid request: {error}") from None
    finally:
        state.looking.release()


def _seen(state: AppState, asked: TranslationRequest, cancellation: CancellationToken) -> "Look":
    """Compute the Look of the last model of the route."""
    text, last = _before_last(state, asked, cancellation)
    seen = state.service.translator(last, cancellation).look(text, Options(target=last.tag))
    return replace(seen, languages=(last.source, last.target))


def _before_last(state: AppState, asked: TranslationRequest, cancellation: CancellationToken) -> tuple[str, Step]:
    """Return the text that the last model of the route translates, and that step."""
    route = _route(state, asked)
    if not route:
        raise Refused(400, "Invalid request: nothing is translated between a language and itself")
    *before, last = route
    (text,) = state.service.translate(before, asked.texts, cancellation, force=asked.force)
    return text.text, last
