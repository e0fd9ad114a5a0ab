from pathlib import Path

import pytest

from regard.translate.card import card_summary


@pytest.mark.parametrize(
    ("card", "summary"),
    [
        ("# en-ko\n\n**Short** [sentences](https://a.b/c). More.\n", "Short sentences."),
        ("# 모델\n\n짧은 문장을 위한 `모델`입니다. 더.\n", "짧은 문장을 위한 모델입니다."),
        ("No heading\nover two lines\n", "No heading over two lines"),
        ("# Only a heading\n", None),
        ("# x\n\nMade by regard 0.2.0.\n", None),
        ("", None),
        ("a" * 1000, "a" * 300),
    ],
)
def test_the_first_sentence_as_plain_text(card: str, summary: str | None, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(card, encoding="utf-8")
    assert card_summary(tmp_path) == summary


def test_no_card(tmp_path: Path) -> None:
    assert card_summary(tmp_path) is None
    assert card_summary(tmp_path / "nowhere") is None


def test_the_bundled_model() -> None:
    assert card_summary("en-de") == "A small Transformer for everyday sentences."
