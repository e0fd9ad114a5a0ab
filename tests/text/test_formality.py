"""Speech levels of Korean by their endings."""

import unicodedata

import pytest

from regard.text.formality import level_tag, speech_level


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("파일을 열 수 없습니다.", "formal"),
        ("다시 시작하시겠습니까?", "formal"),
        ("컴퓨터를 다시 시작하십시오", "formal"),
        ("함께 갑시다!", "formal"),
        ("그것은 사실입니다(참고).", None),
        ('"감사합니다."', "formal"),
        ("파일을 열 수 없어요.", "polite"),
        ("다시 시작하세요", "polite"),
        ("그렇죠?", "polite"),
        ("이건 뭐예요 🙂", "polite"),
        ("나는 학교에 간다.", "plain"),
        ("사실이 아니다.", "plain"),
        ("비가 오니까.", "plain"),
        ("기다려!", "plain"),
        ("정말 진심이야!", "plain"),
        ("어디 가니?", "plain"),
        ("개요", None),
        ("필요", None),
        ("바다", None),
        ("바다.", "plain"),
        ("파일 열기", None),
        ("오류가 발생함", None),
        ("설정", None),
        ("USB 3.0", None),
        ("Open the file.", None),
        ("פתח את הקובץ.", None),
        ("", None),
        ("...", None),
    ],
)
def test_levels(text: str, level: str | None) -> None:
    assert speech_level(text) == level


def test_the_last_sentence_counts() -> None:
    assert speech_level("안녕하세요. 저는 학생입니다.") == "formal"
    assert speech_level("저는 학생입니다. 안녕하세요!") == "polite"


def test_half_of_the_clear_ones_carry_the_level() -> None:
    tags = [level_tag(f"sentence {number}", "문을 열어요.") for number in range(1000)]
    assert 400 < tags.count("<2ko:polite>") < 600 and set(tags) == {"<2ko:polite>", "<2ko>"}
    assert tags == [level_tag(f"sentence {number}", "문을 열어요.") for number in range(1000)]
    assert {level_tag(f"{number}", "개요") for number in range(50)} == {"<2ko>"}


def test_decomposed_letters_tell_nothing() -> None:
    assert speech_level(unicodedata.normalize("NFD", "없습니다.")) is None, "prepare normalises to NFC first"
