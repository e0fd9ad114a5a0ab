"""What the page shows of a translation besides its text, which neither API has a place for: which word came from which,
other translations with their scores, and the model at work."""

from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from regard.decode.translation import Translation
from regard.decode.translator import Options
from regard.documents.placement import Pairs
from regard.errors import UserError
from regard.look.page import page
from regard.serve import ask
from regard.serve.desk import Desk
from regard.serve.fields import fields
from regard.serve.libretranslate import holder_of, pair
from regard.serve.refused import Refused, busy
from regard.serve.ticket import Ticket
from regard.serve.workshop import Route, identity, through

if TYPE_CHECKING:  # it needs torch, which translations may do without
    from regard.look.look import Look

ALTERNATIVES = 3


@dataclass(frozen=True)
class Asked:
    text: str
    source: str | None
    """None if it is to be detected."""
    target: str

    def route(self, desk: Desk) -> Route:
        source = self.source or ask.detected(desk, [self.text], self.target)[0].language
        return ask.route(desk, source, self.target)


def router(desk: Desk) -> APIRouter:
    own = APIRouter(include_in_schema=False)
    turn = Lock()

    @own.post("/details")
    async def details(request: Request) -> Response:
        asked = await _asked(desk, request, desk.settings.characters)

        def work(ticket: Ticket) -> dict[str, Any]:
            return _details(desk, asked, ticket)

        return JSONResponse(await desk.run(request, work, desk.settings.deadline))

    @own.post("/look")
    async def inside(request: Request) -> Response:
        """One at a time, so that the processor is left to translations."""
        asked = await _asked(desk, request, desk.settings.look_characters)

        def work(ticket: Ticket) -> str:
            if not turn.acquire(blocking=False):
                desk.metrics.refused.labels("look").inc()
                raise busy()
            try:
                return _look(desk, asked, ticket).to_json()
            except UserError as error:
                raise Refused(400, f"Invalid request: {error}") from None
            finally:
                turn.release()

        content = await desk.run(request, work, desk.settings.deadline)
        return Response(content, media_type="application/json")

    @own.get("/look/page.html")
    async def template() -> Response:
        """What the viewer puts a Look into, to save it as one file."""
        return HTMLResponse(page())

    return own


async def _asked(desk: Desk, request: Request, most: int) -> Asked:
    """The fields of a request; who asks, and how much, is checked as for a translation."""
    found = await fields(request, desk.settings.body_bytes)
    holder = holder_of(desk, found)
    text = ask.text_field(found, "q")
    if text is None:
        raise ask.missing("q")
    if len(text) > most:
        raise Refused(400, f"Invalid request: request ({len(text)}) exceeds text limit ({most})")
    source, target = pair(desk, found)
    if source is not None:
        ask.route(desk, source, target)
    desk.charge(holder, len(text), Refused(403, "The quota of this API key is used up"))
    return Asked(text, source, target)


def _details(desk: Desk, asked: Asked, ticket: Ticket) -> dict[str, Any]:
    """The translation again, which the cache has; its alignment, in words as str.split gives them; and alternatives,
    which are the last step's."""
    text, score = asked.text, 0.0
    pairs: Pairs | None = identity(text)
    others: dict[str, float] = {}
    for step in asked.route(desk):
        translator, options = desk.workshop.translator(step, ticket), Options(target=step.tag)
        one = translator.window([text], replace(options, alignment=translator.has_weights))[0]
        if step.target == asked.target:
            most = min(ALTERNATIVES, desk.settings.alternatives)
            others = _others(translator.window([text], replace(options, n_best=most + 1))[0], one.text, most)
        text, pairs, score = one.text, through(pairs, one.pairs), one.score
    alternatives = [{"text": other, "score": round(worth, 4)} for other, worth in others.items()]
    return {"translatedText": text, "score": round(score, 4), "alignment": pairs, "alternatives": alternatives}


def _others(found: Translation, best: str, most: int) -> dict[str, float]:
    """Translations that are not the best, each once, with their scores."""
    scores: dict[str, float] = {}
    for number in range(found.options):
        scores.setdefault(found.option(number), found.option_score(number))
    scores.pop(best, None)
    return dict(islice(scores.items(), most))


def _look(desk: Desk, asked: Asked, ticket: Ticket) -> "Look":
    """Into the last model of the route."""
    route = asked.route(desk)
    if not route:
        raise Refused(400, "Invalid request: nothing is translated between a language and itself")
    *before, last = route
    (text,) = desk.workshop.translate(before, [asked.text], ticket)
    seen = desk.workshop.translator(last, ticket).look(text.text, Options(target=last.tag))
    return replace(seen, languages=(last.source, last.target))
