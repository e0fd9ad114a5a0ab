"""The models that the package carries: their place, and what is shown of one."""

from pathlib import Path

from tests.cli.command import folder, saved, sentences, subwords  # noqa: F401

from regard.demo.bundled import SENTENCES, bundled, translated


def test_folders_with_a_model_are_found(tmp_path: Path) -> None:
    for name in ("en-de", "de-en", "notes"):
        (tmp_path / name).mkdir()
    for name in ("en-de", "de-en"):
        (tmp_path / name / "config.json").write_text("{}")
    assert bundled(tmp_path) == [tmp_path / "de-en", tmp_path / "en-de"]
    assert bundled(tmp_path / "none") == []


def test_sentences_in_the_language_of_the_model_with_their_alignment(folder: Path) -> None:  # noqa: F811
    shown = translated(folder)
    assert [text.split("\n")[0] for text in shown] == list(SENTENCES["en"])
    assert all("●" in text for text in shown)
