"""Models by name: a folder that is there comes first."""

import json
from pathlib import Path

import pytest

from regard.errors import UserError
from regard.saved import bundled
from regard.saved.folder import load_model


def test_a_name_stands_for_a_bundled_model_unless_there_is_such_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("en-de", "de-en", "notes"):
        (tmp_path / "models" / name).mkdir(parents=True)
    for name in ("en-de", "de-en"):
        (tmp_path / "models" / name / "config.json").write_text("{}")
    monkeypatch.setattr(bundled, "FOLDER", tmp_path / "models")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert list(bundled.bundled()) == ["de-en", "en-de"]
    assert bundled.located("en-de") == tmp_path / "models" / "en-de"
    assert bundled.located("notes") == Path("notes")
    with pytest.raises(UserError, match="notes: no such folder; .* runs/x/model, or de-en, or en-de"):
        load_model("notes")
    Path("en-de").mkdir()
    assert bundled.located("en-de") == Path("en-de")


def described(folder: Path, source: str, target: str, task: str = "translation") -> None:
    folder.mkdir(parents=True)
    description = {"task": task, "languages": {"source": source, "target": target}}
    (folder / "config.json").write_text(json.dumps(description), encoding="utf-8")


def test_without_a_name_the_languages_choose_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("de-nl", "en-de", "en-ko"):
        described(tmp_path / name, *name.split("-"))
    described(tmp_path / "aa-trees", "en", "ko", task="parsing")
    monkeypatch.setattr(bundled, "FOLDER", tmp_path)

    def chosen(source: str | None = None, target: str | None = None) -> str:
        return bundled.default_model(source, target).name

    assert chosen() == chosen("en") == chosen(None, "de") == chosen("de", "en") == "en-de"
    assert chosen(None, "ko") == chosen("ko") == chosen("ko", "en") == "en-ko"
    assert chosen(None, "nl") == "de-nl"
    for asked in (("fr", None), ("de", "ko")):
        with pytest.raises(UserError, match="--model is missing; .* between de and en, de and nl, en and ko$"):
            chosen(*asked)


def test_the_script_of_a_text_tells_its_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("en-de", "en-ko", "ru-ko"):
        described(tmp_path / name, *name.split("-"))
    monkeypatch.setattr(bundled, "FOLDER", tmp_path)
    texts = (
        "안녕하세요.",
        "각",
        "🎉 파일 app.exe를 열 수 없습니다",
        "Где вокзал?",
        "Where is 역?",
        "Grüße",
        "مرحبا",
        "1 + 1",
        "",
    )
    assert [bundled.language_by_script(text) for text in texts] == ["ko", "ko", "ko", "ru", *[None] * 5]


def test_without_bundled_models_one_must_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "FOLDER", tmp_path)
    with pytest.raises(UserError, match="--model is missing; .* set REGARD_MODEL to it$"):
        bundled.default_model()
