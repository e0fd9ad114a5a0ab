"""What both APIs check of a request's fields before any work is done."""

from typing import Any

from regard.serve.desk import Desk
from regard.serve.detect import Detected
from regard.serve.fields import Fields
from regard.serve.languages import name, served
from regard.serve.models import Step
from regard.serve.refused import Refused

SHORT = 40  # characters, which don't tell much alone


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


def texts(desk: Desk, given: Any, field: str) -> list[str]:
    """The texts of a field that is a string or several, within the limits."""
    found = given if isinstance(given, list) else [given]
    if not all(isinstance(text, str) for text in found):
        raise Refused(400, f"Invalid request: {field} parameter is not a string")
    if len(found) > desk.settings.texts:
        raise Refused(400, f"Invalid request: request ({len(found)}) exceeds text limit ({desk.settings.texts})")
    longest = max(map(len, found), default=0)
    if longest > desk.settings.characters:
        raise Refused(400, f"Invalid request: request ({longest}) exceeds text limit ({desk.settings.characters})")
    return found


def language(desk: Desk, code: str) -> str:
    """The served language that is meant."""
    found = served(code, desk.models.languages)
    if found is None:
        raise Refused(400, f"{code[:40]} is not supported")
    return found


def route(desk: Desk, source: str, target: str) -> tuple[Step, ...]:
    """How to get from one served language to another."""
    found = desk.models.route(source, target)
    if found is None:
        raise Refused(
            400, f"{name(target)} ({target}) is not available as a target language from {name(source)} ({source})"
        )
    return found


def detected(desk: Desk, texts: list[str], target: str) -> list[Detected]:
    """The language of each text, among those that can be translated; short texts are judged by all together."""
    among = desk.models.sources(target)
    together = desk.detector.best("\n".join(texts), among)
    return [desk.detector.best(text, among) if len(text) > SHORT else together for text in texts]
