"""The API of DeepL, version 2: /v2/translate, /v2/languages and /v2/usage; `deepl_documents` has /v2/document."""

import json
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from regard.serve.api import ask
from regard.serve.api.ask import TranslationRequest
from regard.serve.api.described import (
    KEY,
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
from regard.serve.knowledge.answer import KNOWN_ONE, knowledge_of
from regard.serve.refused import Refused
from regard.serve.state import AppState
from regard.text.protected.languages import base, name
from regard.translate.translator import FORMALITY as LEVELS

UNLIMITED = 1_000_000_000_000  # DeepL's value for an unlimited quota
WORK = (400, 403, 404, 429, 456, 500, 503)
VARIANTS = {  # DeepL's clients reject the plain code of these as a target
    "en": (("EN-GB", "English (British)"), ("EN-US", "English (American)")),
    "pt": (("PT-BR", "Portuguese (Brazilian)"), ("PT-PT", "Portuguese (European)")),
}
NO, YES = ("0", "false"), ("1", "true")
FORMALITY = ("default", "more", "less", "prefer_more", "prefer_less")
TRANSLATE: Supported = {
    "text": None,
    "text[]": None,
    "source_lang": None,
    "target_lang": None,
    "auth_key": None,
    "split_sentences": None,
    "tag_handling": None,
    "ignore_tags": None,
    "show_billed_characters": (*NO, *YES),
    "formality": None,
    "preserve_formatting": NO,
    "outline_detection": YES,
    "enable_beta_languages": NO,
    "glossary_id": None,
}  # all others, such as context, would have no effect
LIST: Supported = {"type": None, "auth_key": None}
USE: Supported = {"auth_key": None}
LANGUAGES = array(
    record({"language": string(), "name": string(), "supports_formality": {"type": "boolean"}}, ("language", "name"))
)
COUNT = {"type": "integer", "minimum": 0}
TRANSLATED = record(
    {
        "translations": array(
            record(
                {"detected_source_language": string(), "text": string(), "billed_characters": COUNT, **KNOWN_ONE},
                ("detected_source_language", "text"),
            ),
            minItems=1,
        )
    }
)
USAGE = record({"character_count": COUNT, "character_limit": COUNT})


def operations(state: AppState) -> list[Operation]:
    """Return the operations, described with the languages and limits of this server."""
    codes = state.models.languages
    one, target = text(state.settings.characters), languages(codes, examples=[codes[0].upper()])
    source = languages(codes, optional=True)
    several = array(one, minItems=1, maxItems=state.settings.texts)
    asked = {
        "text": {"anyOf": [several, one]},
        "target_lang": target,
        "source_lang": or_null(source),
        "tag_handling": or_null(string(enum=["html", "xml", ""])),
        "ignore_tags": or_null({"anyOf": [string(), {"type": "array", "items": string()}]}),
        "split_sentences": or_null({"enum": ["0", "1", "nonewlines", 0, 1]}),
        "auth_key": or_null(string()),
        "glossary_id": or_null(string()),
        "formality": or_null(string(enum=[*FORMALITY, ""])),
        **{name: or_null(one_of(values)) for name, values in TRANSLATE.items() if values is not None},
    }
    query = [
        parameter("text", several, required=True),
        parameter("target_lang", target, required=True),
        parameter("source_lang", source),
    ]
    kind = string(enum=["source", "target"])
    keyed: Schema = {"security": [{KEY: []}, {}]}
    anywhere = {"description": "`auth_key` and other fields may also stand in the form or the query string."}
    return [
        Operation(
            "POST", "/v2/translate", translate, "Translate texts",
            told(TRANSLATED, *WORK), {**anywhere, **body(record(asked, ("text", "target_lang"))), **keyed},
        ),
        Operation(
            "GET", "/v2/translate", translate, "Translate texts that stand in the query string",
            told(TRANSLATED, *WORK), {"parameters": query, **keyed},
        ),
        Operation(
            "GET", "/v2/languages", list_languages, "The languages served",
            told(LANGUAGES, 400, 403, 429), {"parameters": [parameter("type", kind)], **keyed},
        ),
        Operation(
            "POST", "/v2/languages", list_languages, "The languages served",
            told(LANGUAGES, 400, 403, 429),
            {**body(record({"type": or_null(kind), "auth_key": or_null(string())}, ())), **keyed},
        ),
        *(
            Operation(
                method, "/v2/usage", usage, "How much was translated since the server started",
                told(USAGE, 400, 403, 429), keyed,
            )
            for method in ("GET", "POST")
        ),
    ]  # fmt: skip


async def translate(state: AppState, request: Request) -> Response:
    found = await fields(request, TRANSLATE, refusal)
    holder = holder_of(state, request, found)
    asked = _asked(state, found)
    glossary_id = ask.text_field(found, "glossary_id")
    billed = str(found.get("show_billed_characters")).lower() not in NO
    with state.charged(holder, asked.characters, over_quota()):
        done = await state.run(
            request,
            lambda cancellation: ask.translated(state, _with_terms(state, asked, holder, glossary_id), cancellation),
            state.settings.deadline,
            characters=asked.characters,
        )
    translations = [
        {
            "detected_source_language": base(language.language).upper(),
            "text": answer.text,
            **({"billed_characters": len(given)} if billed else {}),
            **{field: value for field, value in vars(knowledge_of(answer)).items() if value is not None},
        }
        for given, (language, answer) in zip(asked.texts, done, strict=True)
    ]
    return JSONResponse({"translations": translations})


async def list_languages(state: AppState, request: Request) -> Response:
    found = await fields(request, LIST, refusal)
    holder_of(state, request, found)
    kind = found.get("type", "source")
    if kind not in ("source", "target"):
        raise unsupported("type")
    return JSONResponse(_sources(state) if kind == "source" else _targets(state))


async def usage(state: AppState, request: Request) -> Response:
    holder = holder_of(state, request, await fields(request, USE, refusal))
    limit = state.settings.quota if holder is not None else 0
    return JSONResponse({"character_count": state.used[holder], "character_limit": limit or UNLIMITED})


def _asked(state: AppState, found: Fields) -> TranslationRequest:
    given = found.get("text", found.get("text[]"))
    if given is None or given == []:
        raise Refused(400, "Parameter 'text' not specified.")
    texts = ask.texts(state, given, "text")
    target = language_of(state, found, "target_lang")
    if target is None:
        raise Refused(400, "Parameter 'target_lang' not specified.")
    source = language_of(state, found, "source_lang")
    tags = ask.text_field(found, "tag_handling")
    if tags not in (None, "html", "xml"):
        raise unsupported("tag_handling")
    split = found.get("split_sentences", "1")
    if not isinstance(split, str | int) or str(split) not in ("0", "1", "nonewlines"):
        raise unsupported("split_sentences")
    if tags is None and str(split) != "1" and any("\n" in text.strip() for text in texts):
        raise unsupported("split_sentences")  # the lines of a plain text are translated one by one
    if tags is None and _ignored(found):
        raise Refused(400, "Parameter 'ignore_tags' needs 'tag_handling'.")
    if source is not None:
        ask.route(state, source, target)
    else:
        ask.reached(state, target)
    return TranslationRequest(
        texts,
        source,
        target,
        html=tags is not None,
        split=str(split) != "0",
        xml=tags == "xml",
        ignored=_ignored(found),
        formality=formality_of(state, found, target),
    )


def _with_terms(
    state: AppState, asked: TranslationRequest, holder: str | None, glossary_id: str | None
) -> TranslationRequest:
    """Return a request with the glossary that it names, which must be of its languages."""
    if glossary_id is None:
        return asked
    stored = state.knowledge.store.find(holder or "", glossary_id)
    if stored is None:
        raise Refused(404, "Glossary not found")
    if asked.source is None:
        raise Refused(400, "Parameter 'source_lang' not specified, which a glossary needs.")
    dictionary = stored.dictionary(asked.source, asked.target)
    if dictionary is None:
        raise Refused(400, "The glossary has no dictionary for source_lang and target_lang.")
    return replace(asked, glossary=dictionary.glossary)


def _ignored(found: Fields) -> tuple[str, ...]:
    """Return the elements of `ignore_tags`: a list of names, or a comma-separated string."""
    given = found.get("ignore_tags") or []
    names = given if isinstance(given, list) else [given]
    if not all(isinstance(name, str) for name in names):
        raise unsupported("ignore_tags")
    return tuple(name.strip().lower() for several in names for name in several.split(",") if name.strip())


def holder_of(state: AppState, request: Request, found: Fields) -> str | None:
    """Return the holder of the key in the header or the form."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    given = key.strip() if scheme.lower() == KEY.lower() else ask.text_field(found, "auth_key")
    return state.holder(given, Refused(403, "Forbidden: the authentication key is missing or not valid"))


def language_of(state: AppState, found: Fields, field: str) -> str | None:
    code = ask.text_field(found, field)
    if code is None:
        return None
    try:
        return ask.language(state, code)
    except Refused:
        raise unsupported(field) from None


def formality_of(state: AppState, found: Fields, target: str) -> str | None:
    """Return the speech level to write in; `prefer_more` and `prefer_less` apply only if a model knows it."""
    given = found.get("formality") or "default"
    if given not in FORMALITY:
        raise unsupported("formality")
    level = LEVELS.get(given.removeprefix("prefer_"))
    known = level in state.models.levels(target)
    if level is not None and not known and not given.startswith("prefer_"):
        raise unsupported("formality")
    return level if known else None


def over_quota() -> Refused:
    return Refused(456, "Quota exceeded")


def unsupported(field: str) -> Refused:
    return Refused(400, f"Value for '{field}' not supported.")


def refusal(field: str, known: bool) -> Refused:
    return unsupported(field) if known else Refused(400, f"Parameter '{field}' not supported.")


def _sources(state: AppState) -> list[dict[str, Any]]:
    sources = dict.fromkeys(source for source, _ in state.models.steps)
    return [{"language": code.upper(), "name": name(code)} for code in sources]


def _targets(state: AppState) -> list[dict[str, Any]]:
    targets = dict.fromkeys(target for _, target in state.models.steps)
    return [
        {"language": shown, "name": called, "supports_formality": bool(state.models.levels(code))}
        for code in targets
        for shown, called in VARIANTS.get(code, ((code.upper(), name(code)),))
    ]


def one_of(values: tuple[str, ...]) -> Schema:
    """Describe a field with a fixed set of values; 0, 1, false and true may also be unquoted JSON."""
    bare = [json.loads(value) for value in values if value in NO + YES]
    return {"enum": [*values, *bare, ""]}


def told(schema: Schema, *errors: int) -> dict[str, Schema]:
    return answers(schema, *errors, error="message")
