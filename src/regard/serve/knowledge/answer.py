"""The parts of an answer beside its text: the memory's match, missing terms, and confidence."""

from dataclasses import asdict, dataclass
from typing import Any

from regard.serve.api.described import Schema, array, or_null, record, string
from regard.serve.service import Answer
from regard.text.protected.spans import KINDS
from regard.translate.translation import Translation

PERCENT: Schema = {"type": "integer", "minimum": 0, "maximum": 100}
MEMORY = record({"percent": PERCENT, "source": string(), "target": string()})
TERM = record({"source": string(), "targets": array(string()), "placed": {"type": "boolean"}})
CONFIDENCE: Schema = {"type": "number", "minimum": 0, "maximum": 1}


def _either(schema: Schema) -> Schema:
    """Describe a field of an answer to one text, or to several."""
    return {"anyOf": [schema, array(or_null(schema))]}


SPAN = record({"text": string(), "kind": string(enum=list(KINDS)), "how": string(enum=["kept", "placed", "appended"])})
KNOWN_ONE = {
    "memory": MEMORY,
    "terms": array(TERM),
    "confidence": CONFIDENCE,
    "warnings": array(string()),
    "untranslatedLanguage": string(),
    "protected": array(SPAN),
}
KNOWN = {name: _either(schema) for name, schema in KNOWN_ONE.items()}
FIELDS = tuple(KNOWN)


@dataclass(frozen=True)
class AnswerFields:
    """The extra fields of an answer; None for those that it lacks."""

    memory: dict[str, Any] | None = None
    """The pair that is the answer (100 %), or the one most like the text, if alternatives were asked for."""
    terms: list[dict[str, Any]] | None = None
    """The glossary's terms that could not be placed."""
    confidence: float | None = None
    warnings: list[str] | None = None
    """Warnings by name.

    `repeats`, `copied`, `short`: the translation repeats itself, copies the source, is too short. `appended`: the model
    lost protected text. `language`: the text was left as it is, since it is in another language.
    """
    untranslatedLanguage: str | None = None  # as clients read it
    """The language of a text, or of a sentence in it, that was left as it is."""
    protected: list[dict[str, Any]] | None = None
    """The spans that were not translated, with how each was placed."""


def knowledge_of(answer: Answer) -> AnswerFields:
    if answer.memory is not None:
        return AnswerFields({"percent": 100, "source": answer.memory.source, "target": answer.memory.target})
    one = answer.translation
    if one is None:
        return AnswerFields()
    unplaced = [asdict(use) for use in one.unplaced]
    sure = None if one.confidence is None else round(one.confidence, 2)
    other = None if one.language is None else one.language.language
    spans = [asdict(span) for span in one.spans]
    return AnswerFields(_memory(one), unplaced or None, sure, list(one.warnings) or None, other, spans or None)


def _memory(one: Translation) -> dict[str, Any] | None:
    """Return the match for a text that is one sentence."""
    if len(one.sentences) != 1:
        return None
    (sentence,) = one.sentences
    if sentence.memory is not None:
        return {"percent": 100, "source": sentence.memory.source, "target": sentence.memory.target}
    if sentence.fuzzy is not None:
        pair = sentence.fuzzy.pair
        return {"percent": sentence.fuzzy.percent, "source": pair.source, "target": pair.target}
    return None
