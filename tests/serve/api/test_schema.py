"""The API's description is true: schemathesis makes requests from it, good and bad ones, and compares the answers."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.schemas import APIOperation, BaseSchema
from tests.serve.running import running

OPERATIONS = [
    "POST /translate",
    "POST /detect",
    "POST /translate_file",
    "GET /download_file/{filename}",
    "GET /languages",
    "GET /frontend/settings",
    "POST /v2/translate",
    "GET /v2/translate",
    "GET /v2/languages",
    "POST /v2/languages",
    "GET /v2/usage",
    "POST /v2/usage",
    "POST /v2/document",
    "POST /v2/document/{document_id}",
    "POST /v2/document/{document_id}/result",
    "POST /v2/document/{document_id}/cancel",
    "GET /v2/glossary-language-pairs",
    "POST /v2/glossaries",
    "GET /v2/glossaries",
    "GET /v2/glossaries/{glossary_id}",
    "DELETE /v2/glossaries/{glossary_id}",
    "GET /v2/glossaries/{glossary_id}/entries",
    "POST /v3/glossaries",
    "GET /v3/glossaries",
    "GET /v3/glossaries/{glossary_id}",
    "PATCH /v3/glossaries/{glossary_id}",
    "DELETE /v3/glossaries/{glossary_id}",
    "GET /v3/glossaries/{glossary_id}/entries",
    "PUT /v3/glossaries/{glossary_id}/dictionaries",
    "DELETE /v3/glossaries/{glossary_id}/dictionaries",
    "POST /suggest",
    "POST /corrections",
    "GET /corrections",
    "DELETE /corrections/{id}",
    "POST /details",
    "POST /look",
    "POST /words",
    "GET /about",
    "GET /health",
    "GET /ready",
    "GET /metrics",
]
TRIES = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
UNSAID = {
    label: [schemathesis.checks.positive_data_acceptance]
    for label in (
        "POST /translate_file",  # which names and contents files have
        "POST /v2/document",
        "POST /v2/translate",  # which options need tag_handling
        "POST /look",  # how many sentences, and that they are translated
        "POST /words",
        "POST /v2/glossaries",  # that entries are lines of two columns, and between two languages
        "POST /v3/glossaries",
        "POST /suggest",  # that the languages are two
        "POST /corrections",
        "GET /corrections",  # that there are both languages, or none
    )
}


@pytest.fixture(scope="module")
def api(folders: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[BaseSchema]:
    """A server on which every language can be translated into every other: which pairs can't be is not described."""
    models, memory = (folders["en-de"], folders["de-en"]), tmp_path_factory.mktemp("memory") / "work.db"
    with running(*models, memory=memory, characters=60, look_characters=60, texts=5) as served:
        yield schemathesis.openapi.from_url(f"{served.url}openapi.json")


def operations(api: BaseSchema) -> dict[str, APIOperation[Any, Any, Any, Any]]:
    return {operation.ok().label: operation.ok() for operation in api.get_all_operations()}


def test_all_are_tried(api: BaseSchema) -> None:
    assert list(operations(api)) == OPERATIONS


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", OPERATIONS)
def test_answers_are_as_described(api: BaseSchema, label: str, mode: GenerationMode) -> None:
    operation = operations(api)[label]
    bare = not operation.body and not operation.query  # any string may be the name of a file
    if bare and mode is GenerationMode.NEGATIVE:
        return  # it takes nothing that could be wrong

    @TRIES
    @given(case=operation.as_strategy(generation_mode=mode))
    def answered(case: Any) -> None:
        case.call_and_validate(excluded_checks=UNSAID.get(label, []), timeout=60)

    answered()
