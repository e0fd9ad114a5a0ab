from pathlib import Path

import pytest

from regard.translate.card import card_summaries


@pytest.mark.parametrize(
    ("card", "summary"),
    [
        ("# en-ko\n\n**Short** [sentences](https://a.b/c). More.\n", {"en": "Short sentences."}),
        ("# 모델\n\n짧은 문장을 위한 `모델`입니다. 더.\n", {"ko": "짧은 문장을 위한 모델입니다."}),
        ("# x\n\nShort. More.\n\nStill more.\n\n짧은 문장.\n\n## Data\n\nOld.", {"en": "Short.", "ko": "짧은 문장."}),
        ("# x\n\nShort.\n\n## 자료\n\n많은 문장.\n", {"en": "Short."}),
        ("# x\n\n짧은 문장.\n\nShort 🎉.\n", {"ko": "짧은 문장.", "en": "Short 🎉."}),
        ("No heading\nover two lines\n", {"en": "No heading over two lines"}),
        ("# Only a heading\n", {}),
        ("# x\n\nMade by regard 0.2.0.\n", {}),
        ("", {}),
        ("a" * 1000, {"en": "a" * 300}),
    ],
)
def test_the_first_sentence_as_plain_text(card: str, summary: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(card, encoding="utf-8")
    assert card_summaries(tmp_path) == summary


def test_no_card(tmp_path: Path) -> None:
    assert card_summaries(tmp_path) == {}
    assert card_summaries(tmp_path / "nowhere") == {}


def test_the_bundled_models() -> None:
    german, korean = card_summaries("en-de"), card_summaries("en-ko")
    assert german["en"] == "A small Transformer for everyday sentences." and "일상적인 문장" in german["ko"]
    assert list(korean) == ["en", "ko"] and "설명서" in korean["ko"]
