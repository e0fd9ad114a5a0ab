"""What both APIs check of a request's fields before any work is done, and the work that both ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.documents import html
from regard.documents.segment import Piece, seen
from regard.serve.cancellation import CancellationToken
from regard.serve.detect import Detected
from regard.serve.fields import Fields
from regard.serve.languages import name, served
from regard.serve.models import Step
from regard.serve.refused import Refused
from regard.serve.service import Answer
from regard.serve.state import AppState

SHORT = 40  # characters, which don't tell much alone


@dataclass(frozen=True)
class Asked:
    """Texts, and what is to become of them."""

    texts: Sequence[str]
    source: str | None
    """None if it is to be detected, for each text."""
    target: str
    html: bool = False
    alternatives: int = 0
    split: bool = True
    """Translate sentence by sentence."""
    xml: bool = False
    """Of a text with tags: they are its writer's own, and those that stand beside words divide no sentence."""
    ignored: tuple[str, ...] = ()
    """Elements whose content stays as it is."""

    def pieces(self, text: str) -> list[Piece]:
        """A text with tags as pieces."""
        return html.pieces(text, kept=self.ignored, inside=html.beside_words(text) if self.xml else ())

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))


def missing(field: str) -> Refused:
    return Refused(400, f"Invalid request: missing {field} parameter")


def text_field(fields: Fields, field: str) -> str | None:
    """A field that is one string, if it is there."""
    value = fields.get(field)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise Refused(400, f"Invalid request: {field} parameter is not a string")
    return value


def texts(state: AppState, given: Any, field: str) -> list[str]:
    """The texts of a field that is a string or several, within the limits."""
    found = given if isinstance(given, list) else [given]
    if not all(isinstance(text, str) for text in found):
        raise Refused(400, f"Invalid request: {field} parameter is not a string")
    within(len(found), state.settings.texts)
    within(max(map(len, found), default=0), state.settings.characters)
    return found


def within(size: int, most: int) -> None:
    """Refused if it is more."""
    if size > most:
        raise Refused(400, f"Invalid request: request ({size}) exceeds text limit ({most})")


def language(state: AppState, code: str) -> str:
    """The served language that is meant."""
    found = served(code, state.models.languages)
    if found is None:
        raise Refused(400, f"{code[:40]} is not supported")
    return found


def route(state: AppState, source: str, target: str) -> tuple[Step, ...]:
    """How to get from one served language to another."""
    found = state.models.route(source, target)
    if found is None:
        raise Refused(
            400, f"{name(target)} ({target}) is not available as a target language from {name(source)} ({source})"
        )
    return found


def reached(state: AppState, target: str) -> None:
    """Refused if nothing is translated into a served language."""
    if state.models.sources(target) == [target]:
        raise Refused(400, f"{name(target)} ({target}) is not available as a target language")


def sources(state: AppState, asked: Asked) -> list[Detected]:
    """The language of each text; if it is not given, one that can be translated. Short texts are judged together."""
    if asked.source is not None:
        return [Detected(asked.source, 100.0)] * len(asked.texts)
    texts = [seen(asked.pieces(text)) for text in asked.texts] if asked.html else asked.texts
    among, together = state.models.sources(asked.target), "\n".join(texts)
    judged = [text if len(text) > SHORT else together for text in texts]
    found = {text: state.detector.best(text, among) for text in dict.fromkeys(judged)}
    return [found[text] for text in judged]


def translated(state: AppState, asked: Asked, cancellation: CancellationToken) -> list[tuple[Detected, Answer]]:
    """Each text's language and translation; those in one language are translated together."""
    read = sources(state, asked)
    done: dict[int, Answer] = {}
    for code in dict.fromkeys(one.language for one in read):
        numbers = [number for number, one in enumerate(read) if one.language == code]
        own, way = [asked.texts[number] for number in numbers], route(state, code, asked.target)
        if asked.html:
            pages = state.service.documents(way, list(map(asked.pieces, own)), cancellation, split=asked.split)
            answers = list(map(Answer, pages))
        else:
            answers = state.service.translate(
                way, own, cancellation, alternatives=asked.alternatives, split=asked.split
            )
        done |= zip(numbers, answers, strict=True)
    return [(one, done[number]) for number, one in enumerate(read)]
