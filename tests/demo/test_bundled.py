"""What is shown of a bundled model."""

from pathlib import Path

from regard.demo.bundled import SENTENCES, formatted_translations


def test_sentences_in_the_language_of_the_model_with_their_alignment(folder: Path) -> None:
    shown = formatted_translations(folder)
    assert [text.split("\n")[0] for text in shown] == list(SENTENCES["en"])
    assert all("●" in text for text in shown)
