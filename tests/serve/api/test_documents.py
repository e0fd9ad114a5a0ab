"""Documents over both APIs: every format, jobs with status and progress, limits, and what is removed when."""

import io
import time
import zipfile
from pathlib import Path
from typing import Any

import deepl
import docx
import pytest
from tests.documents.samples.good import GOOD
from tests.serve.running import Answer, Running, gated, running
from tests.support.waiting import until

from regard.documents.translate import READERS
from regard.serve.api import deepl_documents, documents
from regard.serve.jobs import DocumentJob, DocumentJobs, Status
from regard.serve.limits.keys import new_key, read_keys

TEXT = "The old woman sees 12 apples. 사과를 봅니다! שלום 👩\u200d👧 e\u0301"
FRENCH = "Nous avons vu une vieille femme dans le jardin avec les enfants."
KOREAN = "할머니가 정원에서 사과를 봅니다."
SAMPLES = {Path(name).suffix: content for name, content in GOOD.items()}
SAMPLES |= {
    other: SAMPLES[ending]
    for ending, other in {".html": ".htm", ".md": ".markdown", ".xlf": ".xliff", ".yaml": ".yml"}.items()
}


def word(*paragraphs: str) -> bytes:
    document, out = docx.Document(), io.BytesIO()
    for text in paragraphs:
        document.add_paragraph(text)
    document.save(out)
    return out.getvalue()


def paragraphs(content: bytes) -> list[str]:
    return [one.text for one in docx.Document(io.BytesIO(content)).paragraphs]


def upload(served: Running, name: str, content: bytes, **fields: str) -> Answer:
    return served.post_multipart("/v2/document", {"target_lang": "DE", **fields}, {"file": (name, content)})


def asked(served: Running, handle: Any, what: str = "", **given: str) -> Answer:
    sent = {"document_key": handle["document_key"], **given}
    return served.post(f"/v2/document/{handle['document_id']}{what}", sent)


def ended(served: Running, handle: Any, **given: str) -> Any:
    while (status := asked(served, handle, **given).json)["status"] in ("queued", "translating"):
        pass
    return status


def translated(served: Running, text: str) -> str:
    answer = served.post("/translate", {"q": text, "source": "en", "target": "de"})
    return str(answer.json["translatedText"])


@pytest.mark.parametrize("ending", sorted(READERS))
def test_every_format_by_both_apis(served: Running, ending: str) -> None:
    content = SAMPLES[ending]
    libre = served.post_multipart(
        "/translate_file", {"source": "en", "target": "de"}, {"file": (f"a{ending}", content)}
    )
    assert libre.status == 200, libre.content
    address = libre.json["translatedFileUrl"]
    first = served.get(address[address.index("/download_file") :]).content
    handle = upload(served, f"a{ending}", content, source_lang="EN").json
    assert ended(served, handle)["status"] == "done"
    second = asked(served, handle, "/result")
    assert second.headers["content-disposition"].endswith(f"a.de{ending}")
    if zipfile.is_zipfile(io.BytesIO(content)):
        assert members(first) == members(second.content)
        assert members(first) != members(content)
    else:
        assert first == second.content != content


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_deepl_s_own_client(folders: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl_documents, "STATUS_SECONDS", 60.0)  # a busy machine may need more than the usual second
    key = new_key(tmp_path / "keys", "me")
    (tmp_path / "in.docx").write_bytes(word(TEXT, "The man."))
    with running(folders["en-de"], keys=read_keys(tmp_path / "keys")) as served:
        client = deepl.DeepLClient(key, server_url=served.url, send_platform_info=False)
        status = client.translate_document_from_filepath(
            tmp_path / "in.docx", tmp_path / "out.docx", target_lang="DE", source_lang="EN"
        )
        asked = served.figure('regard_requests_total{route="/v2/document/{document_id}",status="200"}')
        assert asked == 1, "the first status waits for the end; the client would sleep for 5 seconds"
        assert (status.done, status.billed_characters) == (True, len(TEXT) + len("The man."))
        with (tmp_path / "in.docx").open("rb") as source, io.BytesIO() as target:
            client.translate_document(source, target, target_lang="DE", formality="prefer_more")
            assert paragraphs(target.getvalue()) == paragraphs((tmp_path / "out.docx").read_bytes())
        with pytest.raises(deepl.DocumentTranslationException, match="not a whole file"):
            client.translate_document(b"nothing", io.BytesIO(), target_lang="DE", filename="a.docx")
        with pytest.raises(deepl.DeepLException, match="glossary_id"):
            client.translate_document_upload(b"x", filename="a.txt", source_lang="EN", target_lang="DE", glossary="g")
        with pytest.raises(deepl.AuthorizationException):
            wrong = deepl.DeepLClient("wrong", server_url=served.url, send_platform_info=False)
            wrong.translate_document_upload(b"x", filename="a.txt", target_lang="DE")


def test_a_job_from_upload_to_download(served: Running) -> None:
    wanted = [translated(served, text) for text in (TEXT, "The man.")]
    handle = upload(served, "보고서.docx", word(TEXT, "The man."), source_lang="EN").json
    status = ended(served, handle)
    assert status == {
        "document_id": handle["document_id"],
        "status": "done",
        "progress": 1.0,
        "billed_characters": len(TEXT) + len("The man."),
        "report": {
            "texts": 2,
            "translated": 2,
            "unsure": 0,
            "doubtful": 1,
            "kept": {},
            "other_languages": {"he": 1, "ko": 1},
        },
    }
    result = asked(served, handle, "/result")
    assert paragraphs(result.content) == wanted
    assert result.headers["content-disposition"] == ("attachment; filename*=utf-8''%EB%B3%B4%EA%B3%A0%EC%84%9C.de.docx")
    assert asked(served, handle).json["status"] == "downloaded"
    again = asked(served, handle, "/result")
    assert (again.status, again.json) == (503, {"message": "Document already downloaded"})


def test_texts_left_in_another_language_are_reported(served: Running) -> None:
    """By both APIs, with the language; also where the text goes by way of another language."""
    content = word(TEXT, FRENCH, "The man sees it.", KOREAN)
    for target in ("de", "fr"):
        handle = upload(served, "a.docx", content, source_lang="EN", target_lang=target.upper()).json
        report = ended(served, handle)["report"]
        assert report["other_languages"] == {"fr": 1, "he": 1, "ko": 2}
        assert report["texts"] == 4 and report["doubtful"] >= 3
        after = paragraphs(asked(served, handle, "/result").content)
        assert after[1] == FRENCH and after[3] == KOREAN
        libre = served.post_multipart(
            "/translate_file", {"source": "en", "target": target}, {"file": ("a.docx", content)}
        )
        assert libre.json["report"] == report


@pytest.mark.parametrize(
    ("name", "fields", "sentence"),
    [
        ("a.png", {}, "file format not supported"),
        ("///", {}, "empty file"),
        ("a.txt", {"target_lang": "XX"}, "Value for 'target_lang' not supported."),
        ("a.txt", {"source_lang": "XX"}, "Value for 'source_lang' not supported."),
        ("a.txt", {"target_lang": ""}, "Parameter 'target_lang' not specified."),
        ("a.txt", {"output_format": "docx"}, "Value for 'output_format' not supported."),
        ("a.txt", {"formality": "more"}, "Value for 'formality' not supported."),
        ("a.txt", {"glossary_id": "x"}, "Parameter 'glossary_id' not supported."),
    ],
)
def test_bad_uploads_are_refused_in_a_sentence(
    served: Running, name: str, fields: dict[str, str], sentence: str
) -> None:
    answer = upload(served, name, b"The man.", **fields)
    assert answer.status == 400
    assert sentence in answer.json["message"]


def test_an_upload_without_a_file(served: Running) -> None:
    answer = served.post("/v2/document", {"target_lang": "DE"})
    assert (answer.status, answer.json) == (400, {"message": "Parameter 'file' not specified."})
    assert upload(served, "a.txt", b"The man.", output_format="txt").status == 200


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.docx", b"no zip", "not a whole file of its format"),
        ("a.pdf", b"%PDF-1.7", "save it as .docx"),
        ("a.txt", b"caf\xe9", "line 1: not UTF-8 text"),
        ("a.json", b"{", "a.json"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_by_both_apis(
    served: Running, name: str, content: bytes, sentence: str
) -> None:
    status = ended(served, upload(served, name, content).json)
    assert status["status"] == "error"
    assert sentence in status["error_message"]
    fields = {"source": "en", "target": "de"}
    libre = served.post_multipart("/translate_file", fields, {"file": (name, content)})
    assert libre.status == 400
    assert sentence in libre.json["error"]


def test_no_document_without_its_key(served: Running) -> None:
    handle = upload(served, "a.txt", b"The man.").json
    ended(served, handle)
    for what in ("", "/result", "/cancel"):
        for wrong in ({"document_key": "0" * 64}, {"document_id": "0" * 32}):
            assert asked(served, {**handle, **wrong}, what).status == 404
        assert served.post(f"/v2/document/{handle['document_id']}{what}", {}).status == 400
    assert asked(served, handle, "/result").status == 200


def test_status_before_the_end_and_cancelling(folders: dict[str, str]) -> None:
    model = folders["en-de"]
    with running(model, address_documents=1) as served, gated(served, model) as gate:
        handle = upload(served, "a.txt", b"The man.", source_lang="EN").json
        until(lambda: gate.entered == 1)
        began = time.monotonic()
        status = asked(served, handle).json
        assert time.monotonic() - began >= 0.9, "it waits a while for the end"
        assert (status["status"], status["progress"]) == ("translating", 0.0)
        assert status["seconds_remaining"] >= 1
        early = asked(served, handle, "/result")
        assert (early.status, early.json["message"]) == (503, "Document not ready")
        assert upload(served, "b.txt", b"The man.").status == 429, "the first holds the place of its address"
        assert asked(served, handle, "/cancel").status == 200
        assert asked(served, handle).status == 404
        gate.gate.set()
        until(lambda: not served.state.admission.documents and not served.state.at_work)
        assert ended(served, upload(served, "b.txt", b"The man.", source_lang="EN").json)["status"] == "done"


def test_progress_grows(folders: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "\n".join(f"The man sees {number} apples in the garden of the house. " * 30 for number in range(30))
    seen: list[float] = []

    class Watched(DocumentJob):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "progress":
                seen.append(value)

    monkeypatch.setattr(deepl_documents, "DocumentJob", Watched)
    with running(folders["en-de"]) as served:
        handle = upload(served, "a.txt", lines.encode(), source_lang="EN").json
        assert ended(served, handle)["status"] == "done"
    assert len(set(seen) - {0.0, 1.0}) >= 2
    assert seen == sorted(seen) and (seen[0], seen[-1]) == (0.0, 1.0)


def test_the_quota_counts_the_text_of_a_document(folders: dict[str, str], tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys", "me")
    content = word("The man.")
    with running(folders["en-de"], keys=read_keys(tmp_path / "keys"), quota=10) as served:
        sent = {"api_key": key, "source": "en", "target": "de"}
        assert served.post_multipart("/translate_file", sent, {"file": ("a.docx", content)}).status == 200
        assert served.state.used["me"] == len("The man.")
        handle = upload(served, "a.docx", content, auth_key=key).json
        refused = served.post(f"/v2/document/{handle['document_id']}", {**handle, "auth_key": key})
        assert refused.status == 400, "document_id is in the address"
        status = ended(served, handle, auth_key=key)
        assert (status["status"], status["error_message"]) == ("error", "Quota exceeded")
        assert served.state.used["me"] == len("The man.")


def test_what_unpacks_to_too_much_is_refused_unread(folders: dict[str, str]) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", b" " * 2_000_000)
    with running(folders["en-de"], unpacked_bytes=1_000_000) as served:
        status = ended(served, upload(served, "a.docx", out.getvalue()).json)
        assert status["error_message"] == "a.docx: 2000000 bytes when unpacked; 1000000 bytes are allowed"
        libre = served.post_multipart(
            "/translate_file", {"source": "en", "target": "de"}, {"file": ("a.docx", out.getvalue())}
        )
        assert libre.status == 413


def test_a_deadline_ends_a_job(folders: dict[str, str]) -> None:
    model = folders["en-de"]
    with running(model, file_deadline=0.2) as served, gated(served, model):
        status = ended(served, upload(served, "a.txt", b"The man.", source_lang="EN").json)
        assert status["status"] == "error"
        assert "took too long" in status["error_message"]


def test_a_bug_is_logged_and_told(
    folders: dict[str, str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "translate", None)
    with running(folders["en-de"]) as served:
        status = ended(served, upload(served, "a.txt", b"The man.", source_lang="EN").json)
        assert (status["status"], status["error_message"]) == ("error", "The server failed")
    assert "TypeError" in caplog.text


def test_jobs_are_forgotten_after_a_while() -> None:
    now = 0.0
    jobs = DocumentJobs(10.0, lambda: now)
    first, second = DocumentJob("me"), DocumentJob(None)
    jobs.add(first)
    jobs.add(second)
    now = 100.0
    assert jobs.find(first.identifier, first.key, "me") is first, "it is under way"
    assert jobs.find(first.identifier, first.key, None) is None
    jobs.end(first, Status.DONE)
    now = 109.0
    assert jobs.find(first.identifier, first.key, "me") is first
    now = 110.0
    assert jobs.find(first.identifier, first.key, "me") is None
    assert jobs.find(second.identifier, second.key, None) is second


def test_jobs_are_cancelled_when_the_server_stops(folders: dict[str, str]) -> None:
    model = folders["en-de"]
    with running(model) as served, gated(served, model) as gate:
        handle = upload(served, "a.txt", b"The man.", source_lang="EN").json
        until(lambda: gate.entered == 1)
        job = served.state.jobs.find(handle["document_id"], handle["document_key"], None)
        assert job is not None
        served.server.asked = time.monotonic()
        served.state.draining = True
        until(job.ended.is_set)
        assert job.error == "The translation was cancelled"
        gate.gate.set()
