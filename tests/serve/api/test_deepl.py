from pathlib import Path
from urllib.parse import urlencode

import pytest
import torch
from tests.serve.running import Answer, Running, gated, running
from tests.support.models import like_trained, sentences
from tests.support.saving import save_built

from regard.config.run import Config
from regard.model.build import build
from regard.saved.folder import LoadedModel
from regard.serve.limits.keys import new_key, read_keys
from regard.text.subwords import Subwords
from regard.translate.load import load
from regard.translate.translator import Options

TEXTS = ["The old woman sees 12 apples. 사과를 봅니다!", "", "A teacher 👩\u200d👧 שלום."]


def test_texts_in_every_form(served: Running, folders: dict[str, str]) -> None:
    wanted = [
        {"detected_source_language": "EN", "text": text, "billed_characters": len(source)}
        for source, text in zip(TEXTS, load(folders["en-de"]).translate(TEXTS), strict=True)
    ]

    def plain(answer: Answer) -> list[dict[str, object]]:
        """What DeepL itself has in its answers."""
        return [{key: one[key] for key in wanted[0]} for one in answer.json["translations"]]

    fields = {"text": TEXTS, "source_lang": "EN", "target_lang": "DE"}
    usual = {"formality": "prefer_more", "glossary_id": None, "show_billed_characters": True, "context": None}
    languages = {key: fields[key] for key in ("source_lang", "target_lang")}
    assert plain(served.post("/v2/translate", {**fields, **usual})) == wanted
    assert plain(served.post_form("/v2/translate", fields)) == wanted
    assert plain(served.post_form("/v2/translate", {"text[]": TEXTS, **languages})) == wanted
    assert plain(served.get(f"/v2/translate?{urlencode(fields, doseq=True)}")) == wanted
    assert plain(served.ask("POST", f"/v2/translate?{urlencode(fields, doseq=True)}")) == wanted


def test_options(served: Running, folders: dict[str, str]) -> None:
    translator, text = load(folders["en-de"]), "The old woman. A teacher finds bicycles!"
    whole = served.post("/v2/translate", {"text": [text], "target_lang": "de", "split_sentences": "0"}).json
    assert whole["translations"][0]["text"] == translator.translate(text, Options(split=False))
    tagged = served.post("/v2/translate", {"text": ["<p>The man.</p>"], "target_lang": "de", "tag_handling": "html"})
    assert tagged.json["translations"][0]["text"] == f"<p>{translator.translate('The man.')}</p>"
    tagged = served.post(
        "/v2/translate",
        {"text": [f"<p>{text}</p>"], "target_lang": "de", "tag_handling": "html", "split_sentences": "0"},
    )
    assert tagged.json["translations"][0]["text"] == f"<p>{translator.translate(text, Options(split=False))}</p>"
    for ignored in (["x", "y"], "x, y", ["x,y"]):
        fields = {"text": ["<x>The man.</x>"], "target_lang": "de", "tag_handling": "xml", "ignore_tags": ignored}
        assert served.post("/v2/translate", fields).json["translations"][0]["text"] == "<x>The man.</x>"
    german = "Das Mädchen sucht große Bücher im Schnee und zählt die Wörter."
    found = served.post("/v2/translate", {"text": [german], "target_lang": "EN-US"}).json["translations"][0]
    assert found["detected_source_language"] == "DE"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"target_lang": "DE"}, "Parameter 'text' not specified."),
        ({"text": ["x"]}, "Parameter 'target_lang' not specified."),
        ({"text": ["x"], "target_lang": "XX"}, "Value for 'target_lang' not supported."),
        ({"text": ["x"], "target_lang": "DE", "source_lang": "??"}, "Value for 'source_lang' not supported."),
        ({"text": ["x"], "target_lang": "DE", "tag_handling": "rtf"}, "Value for 'tag_handling' not supported."),
        ({"text": ["x"], "target_lang": "DE", "ignore_tags": [1]}, "Value for 'ignore_tags' not supported."),
        ({"text": [1], "target_lang": "DE"}, "Invalid request: text parameter is not a string"),
        ({"text": ["x"], "target_lang": "DE", "ignore_tags": "x"}, "Parameter 'ignore_tags' needs 'tag_handling'."),
    ],
)
def test_mistakes_are_told(served: Running, fields: dict[str, object], sentence: str) -> None:
    answer = served.post("/v2/translate", fields)
    assert (answer.status, answer.json) == (400, {"message": sentence})


ASKED = {"text": ["The man."], "source_lang": "EN", "target_lang": "DE"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("formality", "more"),
        ("formality", "less"),
        ("formality", ["default"]),
        ("preserve_formatting", True),
        ("preserve_formatting", "1"),
        ("outline_detection", False),
        ("enable_beta_languages", True),
        ("show_billed_characters", "maybe"),
    ],
)
def test_values_without_effect_are_refused(served: Running, field: str, value: object) -> None:
    wanted = (400, {"message": f"Value for '{field}' not supported."})
    as_json = served.post("/v2/translate", {**ASKED, field: value})
    as_form = served.post_form("/v2/translate", {**ASKED, field: str(value).lower()})
    for answer in (as_json, as_form):
        assert (answer.status, answer.json) == wanted


@pytest.mark.parametrize(
    "field",
    ["glossary_ids", "context", "model_type", "style_id", "custom_instructions", "tag_handling_version",
     "splitting_tags", "non_splitting_tags", "translation_memory_id", "문맥"],
)  # fmt: skip
def test_fields_without_effect_are_refused(served: Running, field: str) -> None:
    refused = served.post("/v2/translate", {**ASKED, field: "x"})
    assert (refused.status, refused.json) == (400, {"message": f"Parameter '{field}' not supported."})
    for path in ("/v2/translate", "/v2/languages", "/v2/usage"):
        assert served.get(f"{path}?{urlencode({field: 'x'})}").json == refused.json
    assert served.post("/v2/translate", {**ASKED, field: None}).status == 200


def test_formality_where_the_model_knows_levels(saved: LoadedModel, tmp_path: Path) -> None:
    tags = ("<2en>", "<2ko>", "<2ko:formal>", "<2ko:polite>", "<2ko:plain>")
    tagged = Subwords.train(sentences(), 400, tags=tags)
    torch.manual_seed(1)
    model = build(saved.config).eval().requires_grad_(False)
    like_trained(model)
    config = Config(model=saved.config, decode=saved.decode)
    save_built(tmp_path / "en-ko", model, config, {"subwords.model": tagged.content}, languages=("en", "ko"))
    translator, text = (
        load(tmp_path / "en-ko"),
        "The old woman sees 12 apples. A teacher finds bicycles! The girl. Words.",
    )
    fields = {"text": [text], "source_lang": "EN", "target_lang": "KO"}
    with running(str(tmp_path / "en-ko")) as server:
        said = {}
        for formality in ("default", "more", "prefer_more", "less", "prefer_less", None):
            answer = server.post("/v2/translate", {**fields, "formality": formality})
            said[formality] = answer.json["translations"][0]["text"]
        wanted = {name: translator.translate(text, Options(formality=name)) for name in ("more", "less")}
        assert len({*wanted.values(), said["default"]}) == 3, "the levels of this model differ"
        assert said["more"] == said["prefer_more"] == wanted["more"]
        assert said["less"] == said["prefer_less"] == wanted["less"]
        assert said["default"] == said[None] == translator.translate(text)
        page = {**fields, "text": [f"<p>{text}</p>"], "tag_handling": "html", "formality": "less"}
        assert server.post("/v2/translate", page).json["translations"][0]["text"] == f"<p>{wanted['less']}</p>"
        back = {"text": ["사과"], "source_lang": "KO", "target_lang": "EN-US"}
        refused = server.post("/v2/translate", {**back, "formality": "more"})
        assert (refused.status, refused.json) == (400, {"message": "Value for 'formality' not supported."})
        assert server.post("/v2/translate", {**back, "formality": "prefer_more"}).status == 200
        supported = {one["language"]: one["supports_formality"] for one in server.get("/v2/languages?type=target").json}
        assert supported == {"KO": True, "EN-GB": False, "EN-US": False}


def test_values_that_are_the_default_change_nothing(served: Running) -> None:
    plain = served.post("/v2/translate", ASKED).json
    for same in ({"formality": "default"}, {"preserve_formatting": False}, {"outline_detection": True}):
        assert served.post("/v2/translate", {**ASKED, **same}).json == plain
    for hidden in (False, 0, "0", "false"):
        (told,) = served.post("/v2/translate", {**ASKED, "show_billed_characters": hidden}).json["translations"]
        assert told == {key: value for key, value in plain["translations"][0].items() if key != "billed_characters"}


@pytest.mark.parametrize("split", ["0", "nonewlines"])
def test_lines_of_a_plain_text_can_not_be_joined(served: Running, split: str) -> None:
    fields = {"text": ["Two lines.\nOne text."], "target_lang": "DE", "split_sentences": split}
    assert served.post("/v2/translate", fields).json == {"message": "Value for 'split_sentences' not supported."}
    assert served.post("/v2/translate", {**fields, "tag_handling": "html"}).status == 200
    assert served.post("/v2/translate", {**fields, "text": ["One line.\n"]}).status == 200


def test_languages(served: Running) -> None:
    assert served.get("/v2/languages").json == [
        {"language": "EN", "name": "English"},
        {"language": "DE", "name": "German"},
    ]
    targets = served.get("/v2/languages?type=target").json
    assert [one["language"] for one in targets] == ["DE", "EN-GB", "EN-US", "FR"]
    assert not any(one["supports_formality"] for one in targets)
    assert served.get("/v2/languages?type=both").status == 400
    assert served.post_form("/v2/languages", {}).json == served.get("/v2/languages").json, "as in Java"
    assert served.post_form("/v2/languages", {"type": "target"}).json == targets
    assert served.post("/v2/languages", {"type": "both"}).status == 400
    assert served.ask("POST", "/v2/usage").json == served.get("/v2/usage").json
    assert served.get("/v2/nothing").json == {"message": "Not Found"}


def test_keys_and_quota(folders: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    mine, theirs = new_key(file, "me"), new_key(file, "them")
    fields = {"text": ["The man."], "target_lang": "DE"}
    with running(folders["en-de"], keys=read_keys(file), quota=20) as served:
        header = {"Authorization": f"DeepL-Auth-Key {mine}"}
        assert served.post("/v2/translate", fields, **header).status == 200
        assert served.post_form("/v2/translate", {**fields, "auth_key": mine}).status == 200
        assert served.get("/v2/usage", **header).json == {"character_count": 16, "character_limit": 20}
        spent = served.post("/v2/translate", fields, **header)
        assert (spent.status, spent.json) == (456, {"message": "Quota exceeded"})
        assert served.get("/v2/usage", Authorization=f"DeepL-Auth-Key {theirs}").json["character_count"] == 0
        for wrong in ({}, {"Authorization": "DeepL-Auth-Key wrong"}, {"Authorization": mine}):
            answer = served.post("/v2/translate", fields, **wrong)
            assert answer.status == 403
            assert "Forbidden" in answer.json["message"]
        libre = {"q": "The man.", "source": "en", "target": "de"}
        assert served.post("/translate", libre).json == {
            "error": "Please contact the server operator to get an API key"
        }
        assert served.post("/translate", libre).status == 400
        assert served.post("/translate", {**libre, "api_key": "wrong"}).json == {"error": "Invalid API key"}
        assert served.post("/translate", {**libre, "api_key": "wrong"}).status == 403
        assert served.post("/translate", {**libre, "api_key": theirs}).status == 200
        assert served.get("/languages").status == 200
        assert served.get("/frontend/settings").json["keyRequired"] is True


def test_only_what_is_translated_is_charged(folders: dict[str, str], tmp_path: Path) -> None:
    header = {"Authorization": f"DeepL-Auth-Key {new_key(tmp_path / 'keys.txt', 'me')}"}
    fields = {"text": ["The man."], "source_lang": "EN", "target_lang": "DE"}
    with running(folders["en-de"], keys=read_keys(tmp_path / "keys.txt"), quota=20, deadline=0.3) as served:
        with gated(served, folders["en-de"]):
            for _ in range(3):
                assert served.post("/v2/translate", fields, **header).status == 503
        served.state.settings = served.state.settings.model_copy(update={"deadline": 600.0})
        assert served.get("/v2/usage", **header).json["character_count"] == 0
        assert served.post("/v2/translate", {**fields, "target_lang": "EN"}, **header).status == 200
        assert served.get("/v2/usage", **header).json["character_count"] == 8
