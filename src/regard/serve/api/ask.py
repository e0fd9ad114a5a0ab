"""Validation and work that both APIs share: check a request's fields first, then translate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from regard.documents import html
from regard.documents.segment import Piece, seen
from regard.serve.api.fields import Fields
from regard.serve.api.languages import served
from regard.serve.batching.cancellation import CancellationToken
from regard.serve.models import Step
from regard.serve.refused import Refused
from regard.serve.service import Answer
from regard.serve.state import AppState
from regard.terms.glossary import Glossary
from regard.text.protected.detect import Detected
from regard.text.protected.languages import name

SHORT = 40  # characters; too few to detect a language from one text alone


@dataclass(frozen=True)
class TranslationRequest:
    """A validated translation request: texts, languages and options."""

    texts: Sequence[str]
    source: str | None
    """None to detect it for each text."""
    target: str
    html: bool = False
    alternatives: int = 0
    split: bool = True
    """Translate sentence by sentence."""
    xml: bool = False
    """True if tags are the writer's own (XML): those that stand beside words are inline and divide no sentence."""
    ignored: tuple[str, ...] = ()
    """Elements whose content is not translated."""
    glossary: Glossary | None = None
    """Terms to use in place of the server's."""
    force: bool = False
    """Also translate texts that are not in the source language."""
    formality: str | None = None
    """The speech level to write in, where the model knows it."""

    def pieces(self, text: str) -> list[Piece]:
        """Split a text with tags into pieces."""
        return html.pieces(
            text, kept=self.ignored, inside=html.beside_words(text) if self.xml else (), attributes=not self.xml
        )

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))


def missing(field: str) -> Refused:
    return Refused(400, f"Invalid request: missing {field} parameter")


def text_field(fields: Fields, field: str) -> str | None:
    """Return a field that is one string; None if it is absent."""
    value = fields.get(field)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise Refused(400, f"Invalid request: {field} parameter is not a string")
    return value


def texts(state: AppState, given: Any, field: str) -> list[str]:
    """Return the texts of a field that is a string or a list of strings, within the limits."""
    found = given if isinstance(given, list) else [given]
    if not all(isinstance(text, str) for text in found):
        raise Refused(400, f"Invalid request: {field} parameter is not a string")
    within(len(found), state.settings.texts)
    within(max(map(len, found), default=0), state.settings.characters)
    return found


def within(size: int, most: int) -> None:
    """Raise Refused if the limit is exceeded."""
    if size > most:
        raise Refused(400, f"Invalid request: request ({size}) exceeds text limit ({most})")


def language(state: AppState, code: str) -> str:
    """Return the served language that a code denotes."""
    found = served(code, state.models.languages)
    if found is None:
        raise Refused(400, f"{code[:40]} is not supported")
    return found


def route(state: AppState, source: str, target: str, formality: str | None = None) -> tuple[Step, ...]:
    """Return the route of models from one language to another; the last one writes in the speech level, if it can."""
    found = state.models.route(source, target)
    if found is None:
        raise Refused(
            400, f"{name(target)} ({target}) is not available as a target language from {name(source)} ({source})"
        )
    if not found or formality not in found[-1].levels:
        return found
    return (*found[:-1], replace(found[-1], tag=f"<2{target}:{formality}>"))


def reached(state: AppState, target: str) -> None:
    """Raise Refused if no model translates into a language."""
    if state.models.sources(target) == [target]:
        raise Refused(400, f"{name(target)} ({target}) is not available as a target language")


def sources(state: AppState, asked: TranslationRequest) -> list[Detected]:
    """Return each text's language, detected among those that can be translated unless it is given. Short texts are
    detected together.
    """
    if asked.source is not None:
        return [Detected(asked.source, 100.0)] * len(asked.texts)
    texts = [seen(asked.pieces(text)) for text in asked.texts] if asked.html else asked.texts
    among, together = state.models.sources(asked.target), "\n".join(texts)
    judged = [text if len(text) > SHORT else together for text in texts]
    found = {text: state.detector.best(text, among) for text in dict.fromkeys(judged)}
    return [found[text] for text in judged]


def translated(
    state: AppState, asked: TranslationRequest, cancellation: CancellationToken
) -> list[tuple[Detected, Answer]]:
    """Return each text's language and translation; texts in one language are translated together."""
    read = sources(state, asked)
    done: dict[int, Answer] = {}
    for code in dict.fromkeys(one.language for one in read):
        numbers = [number for number, one in enumerate(read) if one.language == code]
        own, way = [asked.texts[number] for number in numbers], route(state, code, asked.target, asked.formality)
        if asked.html:
            pages = state.service.documents(
                way, list(map(asked.pieces, own)), cancellation, split=asked.split, glossary=asked.glossary
            )
            answers = list(map(Answer, pages))
        else:
            answers = state.service.translate(
                way,
                own,
                cancellation,
                alternatives=asked.alternatives,
                split=asked.split,
                force=asked.force,
                glossary=asked.glossary,
            )
        done |= zip(numbers, answers, strict=True)
    return [(_told(one, done[number], asked), done[number]) for number, one in enumerate(read)]


def _told(read: Detected, answer: Answer, asked: TranslationRequest) -> Detected:
    """Return the language of a text; if it was detected, that in which the text was left, as /detect returns it."""
    found = None if answer.translation is None else answer.translation.language
    return read if asked.source is not None or found is None else found
