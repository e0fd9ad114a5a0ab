"""DeepL's glossary API: /v2/glossaries for one language pair, /v3/glossaries for several, and the pairs themselves."""

from collections.abc import Callable
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from regard.errors import UserError
from regard.memory.glossaries import FORMATS, Dictionary, StoredGlossary, entries_of
from regard.serve.api import ask
from regard.serve.api.deepl import LIST, holder_of, language_of, refusal
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
)
from regard.serve.api.fields import Fields, Supported, clean, fields
from regard.serve.refused import Refused
from regard.serve.state import AppState

Result = TypeVar("Result")
LONGEST_NAME = 1024
MOST_DICTIONARIES = 100
TSV = "text/tab-separated-values"
ERRORS = (400, 403, 404, 429, 503)
NONE: Supported = {"auth_key": None}
PAIR: Supported = {"source_lang": None, "target_lang": None, "auth_key": None}
ENTRIES: Supported = {**PAIR, "entries": None, "entries_format": None}
CREATE: Supported = {**ENTRIES, "name": None}
CREATE_3: Supported = {"name": None, "dictionaries": None, "auth_key": None}
COUNT: Schema = {"type": "integer", "minimum": 0}
INFO = record(
    {
        **{name: string() for name in ("glossary_id", "name", "source_lang", "target_lang", "creation_time")},
        "ready": {"type": "boolean"},
        "entry_count": COUNT,
    }
)
DICTIONARY = record({"source_lang": string(), "target_lang": string(), "entry_count": COUNT})
INFO_3 = record(
    {"glossary_id": string(), "name": string(), "creation_time": string(), "dictionaries": array(DICTIONARY)}
)
PAIRS = record({"supported_languages": array(record({"source_lang": string(), "target_lang": string()}))})
LISTED = record({"dictionaries": array(record({**DICTIONARY["properties"], "entries": string()}, ("entries",)))})


def operations(state: AppState) -> list[Operation]:
    """Return the operations of both versions."""
    keyed: Schema = {"security": [{KEY: []}, {}]}
    identified = {"parameters": [parameter("glossary_id", string(), place="path", required=True)], **keyed}
    code = languages(state.models.languages)
    texts = {"source_lang": code, "target_lang": code, "entries": string(minLength=1)}
    format_ = {"entries_format": or_null(string(enum=list(FORMATS)))}
    one = record({"name": string(minLength=1), **texts, **format_}, ("name", *texts))
    several = array(record({**texts, **format_}, tuple(texts)), minItems=1)
    create3 = record({"name": string(minLength=1), "dictionaries": several})
    json_only = ("application/json",)
    pair = [parameter(name, code, required=True) for name in ("source_lang", "target_lang")]
    paired = {"parameters": [*identified["parameters"], *pair], **keyed}
    v2, v3, number = "/v2/glossaries", "/v3/glossaries", "/{glossary_id}"
    change = record({"name": string(), "dictionaries": several}, ())
    return [
        Operation(
            "GET", "/v2/glossary-language-pairs", language_pairs, "Language pairs of glossaries",
            _answers(PAIRS, 400, 403, 429), keyed,
        ),
        Operation("POST", v2, create, "Store a glossary", _answers(INFO, *ERRORS, status=201), {**body(one), **keyed}),
        Operation("GET", v2, list_, "The glossaries", _answers(record({"glossaries": array(INFO)}), *ERRORS), keyed),
        Operation("GET", v2 + number, get, "A glossary", _answers(INFO, *ERRORS), identified),
        Operation("DELETE", v2 + number, delete, "Delete a glossary", _nothing(), identified),
        Operation("GET", f"{v2}{number}/entries", entries, "Its entries", _answers({}, *ERRORS, kind=TSV), identified),
        Operation(
            "POST", v3, create3_, "Store a glossary of several dictionaries",
            _answers(INFO_3, *ERRORS, status=201), {**body(create3, kinds=json_only), **keyed},
        ),
        Operation("GET", v3, list3, "The glossaries", _answers(record({"glossaries": array(INFO_3)}), *ERRORS), keyed),
        Operation("GET", v3 + number, get3, "A glossary", _answers(INFO_3, *ERRORS), identified),
        Operation(
            "PATCH", v3 + number, change3, "Rename a glossary, or add entries to its dictionaries",
            _answers(INFO_3, *ERRORS), {**body(change, kinds=json_only), **identified},
        ),
        Operation("DELETE", v3 + number, delete3, "Delete a glossary", _nothing(), identified),
        Operation(
            "GET", f"{v3}{number}/entries", entries3, "The entries of a dictionary", _answers(LISTED, *ERRORS), paired
        ),
        Operation(
            "PUT", f"{v3}{number}/dictionaries", put3, "Store a dictionary in place of the one before",
            _answers(DICTIONARY, *ERRORS), {**body(record({**texts, **format_}, tuple(texts))), **identified},
        ),
        Operation("DELETE", f"{v3}{number}/dictionaries", drop3, "Delete a dictionary", _nothing(), paired),
    ]  # fmt: skip


async def language_pairs(state: AppState, request: Request) -> Response:
    holder_of(state, request, await fields(request, LIST, refusal))
    pairs = [{"source_lang": source, "target_lang": target} for source, target in state.models.steps]
    return JSONResponse({"supported_languages": pairs})


async def create(state: AppState, request: Request) -> Response:
    found = await fields(request, CREATE, refusal)
    owner, name = _owner(state, request, found), _name(found)
    dictionary = await _work(state, request, lambda: _dictionary(state, found))
    made = await _work(state, request, lambda: state.knowledge.store.create(owner, name, [dictionary]))
    return JSONResponse(_info(made), 201)


async def list_(state: AppState, request: Request) -> Response:
    owner = _owner(state, request, await fields(request, NONE, refusal))
    found = await _work(state, request, lambda: state.knowledge.store.all(owner))
    return JSONResponse({"glossaries": [_info(one) for one in found if not one.multilingual]})


async def get(state: AppState, request: Request) -> Response:
    return JSONResponse(_info(await _stored(state, request, multilingual=False)))


async def delete(state: AppState, request: Request) -> Response:
    return await _delete(state, request, multilingual=False)


async def entries(state: AppState, request: Request) -> Response:
    stored = await _stored(state, request, multilingual=False)
    return Response(stored.dictionaries[0].entries, media_type=TSV)


async def create3_(state: AppState, request: Request) -> Response:
    found = await fields(request, CREATE_3, refusal)
    owner, name = _owner(state, request, found), _name(found)
    dictionaries = await _work(state, request, lambda: _dictionaries(state, found))
    made = await _work(
        state, request, lambda: state.knowledge.store.create(owner, name, dictionaries, multilingual=True)
    )
    return JSONResponse(_info3(made), 201)


async def list3(state: AppState, request: Request) -> Response:
    owner = _owner(state, request, await fields(request, NONE, refusal))
    return JSONResponse(
        {"glossaries": list(map(_info3, await _work(state, request, lambda: state.knowledge.store.all(owner))))}
    )


async def get3(state: AppState, request: Request) -> Response:
    return JSONResponse(_info3(await _stored(state, request)))


async def change3(state: AppState, request: Request) -> Response:
    """Rename a glossary, and add entries to dictionaries; an entry with a known source replaces it."""
    found = await fields(request, CREATE_3, refusal)
    stored = await _found(state, request, _owner(state, request, found))
    given = await _work(state, request, lambda: _dictionaries(state, found)) if "dictionaries" in found else []
    name = _name(found) if "name" in found else None

    def change() -> None:
        if name is not None:
            state.knowledge.store.rename(stored.id, name)
        for one in given:
            before = stored.dictionary(one.source_language, one.target_language)
            state.knowledge.store.put(stored.id, one if before is None else _merged(before, one))

    await _work(state, request, change)
    return JSONResponse(_info3(await _found(state, request, _owner(state, request, found))))


async def delete3(state: AppState, request: Request) -> Response:
    return await _delete(state, request)


async def entries3(state: AppState, request: Request) -> Response:
    _, dictionary = await _asked_dictionary(state, request)
    listed = {**_counted(dictionary), "entries": dictionary.entries, "entries_format": "tsv"}
    return JSONResponse({"dictionaries": [listed]})


async def put3(state: AppState, request: Request) -> Response:
    found = await fields(request, ENTRIES, refusal)
    stored = await _found(state, request, _owner(state, request, found))
    dictionary = await _work(state, request, lambda: _dictionary(state, found))
    await _work(state, request, lambda: state.knowledge.store.put(stored.id, dictionary))
    return JSONResponse(_counted(dictionary))


async def drop3(state: AppState, request: Request) -> Response:
    stored, one = await _asked_dictionary(state, request)
    await _work(
        state,
        request,
        lambda: state.knowledge.store.remove_dictionary(stored.id, one.source_language, one.target_language),
    )
    return Response(status_code=204)


async def _asked_dictionary(state: AppState, request: Request) -> tuple[StoredGlossary, Dictionary]:
    found = await fields(request, PAIR, refusal)
    stored = await _found(state, request, _owner(state, request, found))
    dictionary = stored.dictionary(*_pair(state, found))
    if dictionary is None:
        raise Refused(404, "Dictionary not found")
    return stored, dictionary


async def _stored(state: AppState, request: Request, *, multilingual: bool = True) -> StoredGlossary:
    """Return the glossary that a request names; version 2 sees only those with one language pair."""
    owner = _owner(state, request, await fields(request, NONE, refusal))
    stored = await _found(state, request, owner)
    if stored.multilingual and not multilingual:
        raise Refused(404, "Glossary not found")
    return stored


async def _found(state: AppState, request: Request, owner: str) -> StoredGlossary:
    number = request.path_params["glossary_id"]
    stored = await _work(state, request, lambda: state.knowledge.store.find(owner, number))
    if stored is None:
        raise Refused(404, "Glossary not found")
    return stored


async def _delete(state: AppState, request: Request, *, multilingual: bool = True) -> Response:
    stored = await _stored(state, request, multilingual=multilingual)
    await _work(state, request, lambda: state.knowledge.store.remove(stored.id))
    return Response(status_code=204)


async def _work(state: AppState, request: Request, work: Callable[[], Result]) -> Result:
    """Run work in a thread; a user's mistake is a 400."""
    try:
        return await state.run(request, lambda _: work(), state.settings.deadline)
    except UserError as error:
        raise Refused(400, f"Invalid glossary: {error}") from None


def _owner(state: AppState, request: Request, found: Fields) -> str:
    return holder_of(state, request, found) or ""


def _name(found: Fields) -> str:
    name = ask.text_field(found, "name")
    if name is None or len(name) > LONGEST_NAME:
        raise Refused(400, "Value for 'name' not supported.")
    return name


def _pair(state: AppState, found: Fields) -> tuple[str, str]:
    codes = [language_of(state, found, field) for field in ("source_lang", "target_lang")]
    for field, code in zip(("source_lang", "target_lang"), codes, strict=True):
        if code is None:
            raise Refused(400, f"Parameter '{field}' not specified.")
    if (codes[0], codes[1]) not in state.models.steps:
        raise Refused(400, "Unsupported glossary source and target language pair")
    return str(codes[0]), str(codes[1])


def _dictionary(state: AppState, found: Fields) -> Dictionary:
    kind = ask.text_field(found, "entries_format") or "tsv"
    if kind not in FORMATS:
        raise Refused(400, "Value for 'entries_format' not supported.")
    given = ask.text_field(found, "entries")
    if given is None:
        raise Refused(400, "Parameter 'entries' not specified.")
    return Dictionary(*_pair(state, found), entries_of(clean(given), kind))


def _dictionaries(state: AppState, found: Fields) -> list[Dictionary]:
    given = found.get("dictionaries")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_DICTIONARIES:
        raise Refused(400, "Value for 'dictionaries' not supported.")
    made = []
    for one in given:
        if not isinstance(one, dict) or not one.keys() <= ENTRIES.keys():
            raise Refused(400, "Value for 'dictionaries' not supported.")
        made.append(_dictionary(state, one))
    if len({(one.source_language, one.target_language) for one in made}) < len(made):
        raise Refused(400, "A language pair comes twice in 'dictionaries'.")
    return made


def _merged(before: Dictionary, given: Dictionary) -> Dictionary:
    entries = dict(line.split("\t") for one in (before, given) for line in one.entries.split("\n")[:-1])
    return Dictionary(
        before.source_language, before.target_language, "".join(f"{s}\t{t}\n" for s, t in entries.items())
    )


def _info(stored: StoredGlossary) -> dict[str, Any]:
    (one,) = stored.dictionaries
    return {"glossary_id": stored.id, "name": stored.name, "ready": True, "creation_time": stored.time, **_counted(one)}


def _info3(stored: StoredGlossary) -> dict[str, Any]:
    return {
        "glossary_id": stored.id,
        "name": stored.name,
        "creation_time": stored.time,
        "dictionaries": list(map(_counted, stored.dictionaries)),
    }


def _counted(one: Dictionary) -> dict[str, Any]:
    return {"source_lang": one.source_language, "target_lang": one.target_language, "entry_count": one.count}


def _answers(schema: Schema, *errors: int, status: int = 200, kind: str = "application/json") -> dict[str, Schema]:
    told = answers(schema, *errors, kind=kind, error="message")
    return {str(status) if code == "200" else code: one for code, one in told.items()}


def _nothing() -> dict[str, Schema]:
    told = _answers({}, *ERRORS)
    del told["200"]
    return {"204": {"description": "Done"}, **told}
