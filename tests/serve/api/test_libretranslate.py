import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.serve.running import Answer, Running, running

from regard.documents import html
from regard.documents.segment import Translated, rebuild, segments
from regard.serve.limits.keys import new_key, read_keys
from regard.serve.service import _others
from regard.translate.load import load
from regard.translate.translator import Options

TEXT = "The old woman sees 12 apples. 사과를 봅니다!\n\n  Der junge Mann 👩\u200d👧 שלום e\u0301 "
TOO_LONG = "Invalid request: request"
Post = Callable[[Running, str, dict[str, Any]], Answer]


def as_json(served: Running, path: str, fields: dict[str, Any]) -> Answer:
    return served.post(path, {**fields, "unknown": None, "api_key": None})


def as_form(served: Running, path: str, fields: dict[str, Any]) -> Answer:
    return served.post_form(path, fields)


def as_multipart(served: Running, path: str, fields: dict[str, Any]) -> Answer:
    return served.post_multipart(path, fields, {})


def as_query(served: Running, path: str, fields: dict[str, Any]) -> Answer:
    return served.ask("POST", f"{path}?{urlencode(fields)}")


every_form = pytest.mark.parametrize("post", [as_json, as_form, as_multipart, as_query], ids=lambda post: post.__name__)


@every_form
def test_a_text_is_translated_as_regard_translate_does(served: Running, folders: dict[str, str], post: Post) -> None:
    answer = post(served, "/translate", {"q": TEXT, "source": "EN", "target": "De"})
    assert answer.status == 200
    assert answer.json["translatedText"] == load(folders["en-de"]).translate(TEXT)
    assert answer.json["translatedText"] != TEXT
    assert answer.headers["content-type"] == "application/json"


@every_form
def test_a_language_is_detected(served: Running, post: Post) -> None:
    text = "Das Mädchen sucht große Bücher im Schnee und zählt die Wörter."
    answer = post(served, "/detect", {"q": text}).json
    assert answer[0]["language"] == "de"
    assert answer[0]["confidence"] > 90
    answer = post(served, "/translate", {"q": text, "source": "auto", "target": "en"}).json
    assert answer["detectedLanguage"]["language"] == "de"
    assert (
        answer["translatedText"]
        == post(served, "/translate", {"q": text, "source": "de", "target": "en"}).json["translatedText"]
    )


@every_form
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"source": "en", "target": "de"}, "Invalid request: missing q parameter"),
        ({"q": "", "source": "en", "target": "de"}, "Invalid request: missing q parameter"),
        ({"q": "x", "target": "de"}, "Invalid request: missing source parameter"),
        ({"q": "x", "source": "en"}, "Invalid request: missing target parameter"),
        ({"q": "x", "source": "xx", "target": "de"}, "xx is not supported"),
        ({"q": "x", "source": "en", "target": "tlh"}, "tlh is not supported"),
        (
            {"q": "x", "source": "fr", "target": "de"},
            "German (de) is not available as a target language from French (fr)",
        ),
        ({"q": "x", "source": "en", "target": "de", "format": "pdf"}, "pdf format is not supported"),
        (
            {"q": "x", "source": "en", "target": "de", "alternatives": "many"},
            "Invalid request: alternatives parameter is not a number",
        ),
        (
            {"q": "x", "source": "en", "target": "de", "alternatives": 11},
            "Invalid request: alternatives parameter must be <= 10",
        ),
        (
            {"q": "x" * 5001, "source": "en", "target": "de"},
            "Invalid request: request (5001) exceeds text limit (5000)",
        ),
    ],
)
def test_mistakes_are_told(served: Running, post: Post, fields: dict[str, Any], sentence: str) -> None:
    answer = post(served, "/translate", fields)
    assert (answer.status, answer.json) == (400, {"error": sentence})


def test_several_texts(served: Running, folders: dict[str, str]) -> None:
    texts = ["The old woman.", "", " ", "Das Mädchen zählt die großen Wörter im Schnee am Bahnhof.", "The old woman."]
    answer = served.post("/translate", {"q": texts, "source": "en", "target": "de"})
    assert answer.json["translatedText"] == load(folders["en-de"]).translate(texts)
    answer = served.post("/translate", {"q": texts, "source": "auto", "target": "de"}).json
    assert [one["language"] for one in answer["detectedLanguage"]][3] == "de"
    assert answer["translatedText"][3] == texts[3]
    form = served.post_form("/translate", {"q": ["A teacher.", "im Schnee."], "source": "en", "target": "de"})
    assert form.json["translatedText"] == load(folders["en-de"]).translate(["A teacher.", "im Schnee."])
    too_many = served.post("/translate", {"q": ["x"] * 51, "source": "en", "target": "de"})
    assert (too_many.status, too_many.json["error"]) == (400, "Invalid request: request (51) exceeds text limit (50)")


@pytest.mark.parametrize("number", [1, 3])
def test_alternatives_are_the_n_best(served: Running, folders: dict[str, str], number: int) -> None:
    text = "The old woman sees apples."
    plain = served.post("/translate", {"q": text, "source": "en", "target": "de"}).json["translatedText"]
    answer = served.post("/translate", {"q": text, "source": "en", "target": "de", "alternatives": number}).json
    assert answer["translatedText"] == plain
    found = load(folders["en-de"]).window([text], Options(n_best=number + 1))[0]
    others = [found.option(option) for option in range(found.options) if found.option(option) != plain]
    assert answer["alternatives"] == others[:number]
    assert len(answer["alternatives"]) == number
    several = {"q": [text, text], "source": "en", "target": "de", "alternatives": number}
    assert served.post("/translate", several).json["alternatives"] == [others[:number]] * 2


def test_an_empty_translation_is_no_alternative() -> None:
    assert _others("a", ["a", "", "b", "b", "c", "d"], 2) == ("b", "c")


def test_html_keeps_its_tags(served: Running, folders: dict[str, str]) -> None:
    page = '<p class="a">The <b>old</b> woman.</p><script>var a = "The man";</script><p>A &lt; teacher.'
    answer = served.post("/translate", {"q": page, "source": "en", "target": "de", "format": "html"}).json
    translator, pieces = load(folders["en-de"]), html.pieces(page)
    wanted = [
        Translated(one.text, one.pairs)
        for one in translator.stream([segment.text for segment in segments(pieces)], Options(alignment=True))
    ]
    assert answer["translatedText"] == rebuild(pieces, wanted)
    assert '<script>var a = "The man";</script>' in answer["translatedText"]


def test_by_way_of_another_language(served: Running, folders: dict[str, str]) -> None:
    text = "The old woman sees 12 apples. A teacher!"
    between = load(folders["en-de"]).translate(text)
    answer = served.post("/translate", {"q": text, "source": "en", "target": "fr"}).json
    assert answer["translatedText"] == load(folders["de-fr"]).translate(between)
    assert served.post("/translate", {"q": TEXT, "source": "en", "target": "en"}).json == {"translatedText": TEXT}


def test_languages_and_settings(served: Running) -> None:
    assert served.get("/languages").json == [
        {"code": "de", "name": "German", "targets": ["de", "en", "fr"]},
        {"code": "en", "name": "English", "targets": ["de", "en", "fr"]},
        {"code": "fr", "name": "French", "targets": ["fr"]},
    ]
    settings = served.get("/frontend/settings").json
    assert (settings["charLimit"], settings["keyRequired"], settings["filesTranslation"]) == (5000, False, True)
    assert settings["language"] == {
        "source": {"code": "auto", "name": "Auto Detect"},
        "target": {"code": "de", "name": "German"},
    }
    assert served.get("/health").json == {"status": "ok"}
    assert served.get("/ready").json == {"status": "ready"}
    assert served.get("/spec").json == served.get("/openapi.json").json


def test_a_file_comes_back_translated(served: Running, folders: dict[str, str]) -> None:
    content = "1\n00:00:01,000 --> 00:00:02,000\nThe old woman.\n"
    answer = served.post_multipart(
        "/translate_file", {"source": "en", "target": "de"}, {"file": ("../ein Film.en.srt", content.encode())}
    )
    address = answer.json["translatedFileUrl"]
    assert address.startswith(served.url + "download_file/")
    file = served.get("/" + address.removeprefix(served.url))
    wanted = load(folders["en-de"]).translate("The old woman.")
    assert file.content.decode() == content.replace("The old woman.", wanted)
    assert file.headers["content-disposition"] == "attachment; filename*=utf-8''ein%20Film.de.srt"
    assert file.headers["content-type"] == "application/octet-stream"
    assert served.get("/download_file/guessed.srt").status == 404
    assert served.get("/download_file/..%2f..%2fetc%2fpasswd").status == 404


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.png", b"x", "Invalid request: file format not supported"),
        ("", b"x", "Invalid request: empty file"),
        ("/", b"x", "Invalid request: empty file"),
        (
            "a.txt",
            b"PK\x03\x04\xff\xff",
            "Invalid request: a.txt, line 1: not UTF-8 text; convert the file to UTF-8 first",
        ),
    ],
)
def test_files_that_are_refused(served: Running, name: str, content: bytes, sentence: str) -> None:
    answer = served.post_multipart("/translate_file", {"source": "en", "target": "de"}, {"file": (name, content)})
    assert (answer.status, answer.json) == (400, {"error": sentence})


def test_a_file_is_charged_by_its_characters(folders: dict[str, str], tmp_path: Path) -> None:
    """As a text is, though a Korean letter takes three bytes."""
    key = new_key(tmp_path / "keys.txt", "me")
    with running(folders["en-de"], keys=read_keys(tmp_path / "keys.txt"), quota=20) as served:
        fields, file = {"source": "en", "target": "en", "api_key": key}, ("a.txt", "사과를 봅니다.\n".encode())
        assert served.post_multipart("/translate_file", fields, {"file": file}).status == 200
        assert served.state.used["me"] == len("사과를 봅니다.")
        assert served.post_multipart("/translate_file", fields, {"file": file}).status == 200
        refused = served.post_multipart("/translate_file", fields, {"file": file})
        assert (refused.status, refused.json) == (403, {"error": "The quota of this API key is used up"})


def test_text_that_no_utf_8_can_write(served: Running) -> None:
    body = b'{"q": "\\ud800 The man. \\udfff", "source": "en", "target": "en"}'
    answer = served.ask("POST", "/translate", body, **{"Content-Type": "application/json"})
    assert json.loads(answer.content) == {"translatedText": "\ufffd The man. \ufffd"}


def test_nothing_is_detected_for_a_language_that_nobody_writes(folders: dict[str, str]) -> None:
    """Rather than a text that comes back as it went, as if it had been translated."""
    sentence = "English (en) is not available as a target language"
    with running(folders["en-de"]) as served:
        answer = served.post("/translate", {"q": "Guten Tag!", "source": "auto", "target": "en"})
        assert (answer.status, answer.json) == (400, {"error": sentence})
        answer = served.post("/v2/translate", {"text": ["Guten Tag!"], "target_lang": "EN-US"})
        assert (answer.status, answer.json) == (400, {"message": sentence})
        assert served.post("/translate", {"q": "Guten Tag!", "source": "en", "target": "en"}).status == 200


def test_what_is_seen_tells_the_language_of_a_page(served: Running) -> None:
    page = '<div class="content-wrapper main"><p class="lead text-center">Der Bahnhof ist heute geschlossen.</p></div>'
    for q in (page, "<style>body { color: white; background: black; font-family: sans-serif }</style>" + page):
        answer = served.post("/translate", {"q": q, "source": "auto", "target": "en", "format": "html"}).json
        assert answer["detectedLanguage"]["language"] == "de"


@pytest.mark.parametrize("post", [as_json, as_form, as_multipart, as_query])
@pytest.mark.parametrize("path", ["/translate", "/detect", "/details", "/look"])
def test_fields_without_effect_are_refused(served: Running, post: Post, path: str) -> None:
    asked = {"q": "The man."} if path == "/detect" else {"q": "The man.", "source": "en", "target": "de"}
    for field in ("secret", "formality", "형식"):
        answer = post(served, path, {**asked, field: "x"})
        assert (answer.status, answer.json) == (400, {"error": f"Invalid request: {field} parameter is not supported"})


def test_fields_of_another_operation_are_refused(served: Running) -> None:
    file = {"file": ("a.txt", b"The man.")}
    answer = served.post_multipart("/translate_file", {"source": "en", "target": "de", "format": "html"}, file)
    assert (answer.status, answer.json) == (400, {"error": "Invalid request: format parameter is not supported"})
    assert served.post("/detect", {"q": "The man.", "source": "en"}).status == 400
    assert served.get("/languages?source=en").status == 400
    assert served.get("/languages?api_key=x").status == 200
    assert served.get("/frontend/settings?source=en").status == 400
