"""The document API of DeepL: upload a file to /v2/document, ask for its status, download the result once."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from regard.documents.translate import READERS
from regard.serve.api import ask, documents
from regard.serve.api.deepl import (
    FORMALITY,
    TRANSLATE,
    formality_of,
    holder_of,
    language_of,
    one_of,
    over_quota,
    refusal,
    told,
    unsupported,
)
from regard.serve.api.described import (
    KEY,
    Operation,
    Schema,
    answers,
    body,
    languages,
    or_null,
    parameter,
    record,
    string,
)
from regard.serve.api.documents import REPORT, UploadedDocument
from regard.serve.api.fields import Fields, Supported, Upload, fields
from regard.serve.jobs import DocumentJob, Status
from regard.serve.limits.admission import Lease
from regard.serve.refused import Refused
from regard.serve.state import AppState

BINARY = "application/octet-stream"
PATH = "/v2/document/{document_id}"
STATUS_SECONDS = 1.0  # that a request for the status waits for the end of its job
ERRORS = (400, 403, 404, 429)
UPLOAD: Supported = {
    "file": None,
    "filename": None,
    "source_lang": None,
    "target_lang": None,
    "output_format": None,
    "auth_key": None,
    "formality": None,
    "enable_beta_languages": TRANSLATE["enable_beta_languages"],
}
ASK: Supported = {"document_key": None, "auth_key": None}
HANDLE = record({"document_id": string(), "document_key": string()})
STATUS = record(
    {
        "document_id": string(),
        "status": string(enum=list(Status)),
        "progress": {"type": "number", "minimum": 0, "maximum": 1, "description": "Not in DeepL's API"},
        "seconds_remaining": {"type": "integer", "minimum": 0},
        "billed_characters": {"type": "integer", "minimum": 0},
        "error_message": string(),
        "report": REPORT,
    },
    ("document_id", "status", "progress"),
)

log = logging.getLogger("regard.serve")


def operations(state: AppState) -> list[Operation]:
    """Return the operations, described with the languages of this server."""
    codes = state.models.languages
    values = {name: or_null(one_of(values)) for name, values in UPLOAD.items() if values is not None}
    sent = {
        "file": string(format="binary"),
        "target_lang": languages(codes, examples=[codes[0].upper()]),
        "source_lang": or_null(languages(codes, optional=True)),
        "filename": or_null(string()),
        "output_format": or_null(string(description="The ending of the file itself, if any")),
        "auth_key": or_null(string()),
        "formality": or_null(string(enum=[*FORMALITY, ""])),
        **values,
    }
    keyed: Schema = {"security": [{KEY: []}, {}]}
    endings = {"description": f"A file that ends with {', '.join(READERS)}."}
    upload_body = body(record(sent, ("file", "target_lang")), kinds=("multipart/form-data",))
    asked = {
        "parameters": [parameter("document_id", string(), place="path", required=True)],
        **body(record({"document_key": string(minLength=1), "auth_key": or_null(string())}, ("document_key",))),
        **keyed,
    }
    result = answers({}, *ERRORS, 503, error="message", kind=BINARY)
    return [
        Operation(
            "POST", "/v2/document", upload, "Upload a document, which is then translated",
            told(HANDLE, 400, 403, 413, 429, 500, 503), {**endings, **upload_body, **keyed},
        ),
        Operation("POST", PATH, status, "How far a document is", told(STATUS, *ERRORS), asked),
        Operation("POST", f"{PATH}/result", result_of, "Fetch a document, which is then removed", result, asked),
        Operation(
            "POST", f"{PATH}/cancel", cancel, "Cancel a document (not in DeepL's API)",
            told(record({}), *ERRORS), asked,
        ),
    ]  # fmt: skip


async def upload(state: AppState, request: Request) -> Response:
    found = await fields(request, UPLOAD, refusal)
    holder = holder_of(state, request, found)
    document = _sent(state, found)
    if state.draining:
        raise Refused(503, "The server is about to stop", retry_after=1)
    job = DocumentJob(holder)
    lease: Lease = request.scope["regard.lease"]
    lease.hold()
    state.jobs.add(job)
    job.task = asyncio.create_task(_perform(state, job, document, lease))
    return JSONResponse({"document_id": job.identifier, "document_key": job.key})


async def status(state: AppState, request: Request) -> Response:
    job = await _job(state, request)
    with suppress(TimeoutError):
        await asyncio.wait_for(job.ended.wait(), STATUS_SECONDS)
    said: dict[str, Any] = {"document_id": job.identifier, "status": job.status, "progress": round(job.progress, 4)}
    if job.status is Status.TRANSLATING:
        said["seconds_remaining"] = job.seconds_remaining
    if job.status in (Status.DONE, Status.DOWNLOADED):
        said |= {"billed_characters": job.characters, "report": job.report}
    if job.error is not None:
        said["error_message"] = job.error
    return JSONResponse(said)


async def result_of(state: AppState, request: Request) -> Response:
    job = await _job(state, request)
    if job.status is Status.DOWNLOADED:
        raise Refused(503, "Document already downloaded")
    if job.status is Status.ERROR:
        raise Refused(400, f"The document was not translated: {job.error}")
    if job.token is None:
        raise Refused(503, "Document not ready", retry_after=1)
    file = state.downloads.take(job.token)
    if file is None:
        raise Refused(404, "Document not found; translated documents are kept for a while only")
    job.status = Status.DOWNLOADED
    disposition = f"attachment; filename*=utf-8''{quote(file.name, safe='')}"
    return Response(file.content, media_type=BINARY, headers={"Content-Disposition": disposition})


async def cancel(state: AppState, request: Request) -> Response:
    job = await _job(state, request)
    state.jobs.remove(job)
    if job.token is not None:
        state.downloads.take(job.token)
    return JSONResponse({})


async def _perform(state: AppState, job: DocumentJob, document: UploadedDocument, lease: Lease) -> None:
    """Translate a document, and store the result or why there is none."""
    try:
        read = await state.run_document(lease, lambda cancellation: documents.read(state, document, cancellation))
        job.status, job.characters = Status.TRANSLATING, read.characters

        def progress(share: float) -> None:
            job.progress = share

        with state.charged(job.holder, read.characters, over_quota()):
            done = await state.run_document(
                lease, lambda cancellation: documents.translate(state, read, cancellation, progress)
            )
            job.token, job.report = state.downloads.put(read.name, done.content), done.report.figures
        job.progress = 1.0
        state.jobs.end(job, Status.DONE)
    except Refused as refused:
        state.jobs.end(job, Status.ERROR, refused.sentence)
    except asyncio.CancelledError:
        state.jobs.end(job, Status.ERROR, "The translation was cancelled")
    except Exception:
        log.exception("a document was not translated")
        state.jobs.end(job, Status.ERROR, "The server failed")
    finally:
        lease.release()


async def _job(state: AppState, request: Request) -> DocumentJob:
    """Return the job that a request asks about."""
    found = await fields(request, ASK, refusal)
    holder = holder_of(state, request, found)
    key = ask.text_field(found, "document_key")
    if key is None:
        raise Refused(400, "Parameter 'document_key' not specified.")
    job = state.jobs.find(request.path_params["document_id"], key, holder)
    if job is None:
        raise Refused(404, "Document not found; the identifier or the key is wrong, or it is no longer kept")
    return job


def _sent(state: AppState, found: Fields) -> UploadedDocument:
    file = found.get("file")
    if not isinstance(file, Upload):
        raise Refused(400, "Parameter 'file' not specified.")
    target = language_of(state, found, "target_lang")
    if target is None:
        raise Refused(400, "Parameter 'target_lang' not specified.")
    source = language_of(state, found, "source_lang")
    if source is not None:
        ask.route(state, source, target)
    else:
        ask.reached(state, target)
    document = documents.sent(file, ask.text_field(found, "filename") or file.name, source, target)
    document = replace(document, formality=formality_of(state, found, target))
    wanted = ask.text_field(found, "output_format")
    if wanted is not None and f".{wanted.lower().removeprefix('.')}" != PurePath(document.name).suffix.lower():
        raise unsupported("output_format")
    return document
