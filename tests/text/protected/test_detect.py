from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from regard.text import language
from regard.text.protected.detect import Detector, foreign


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector(["en", "de", "ko", "zh-Hans"])


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Hello", "en"),
        ("hi", "en"),
        ("Two dogs play.", "en"),
        ("Guten Tag", "de"),
        ("Danke", "de"),
        ("안녕하세요", "ko"),
        ("ㅋㅋ", "ko"),
        ("나는 school에 간다", "ko"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "ko"),  # decomposed
        ("이 문장은 한국어로 쓰였습니다.", "ko"),
        ("你好，今天天气很好。", "zh-Hans"),
        ("こんにちは、元気ですか。", "ja"),
        ("שלום, מה שלומך?", "he"),
        ("Это предложение написано по-русски.", "ru"),
    ],
)
def test_languages(detector: Detector, text: str, language: str) -> None:
    assert detector.candidates(text)[0].language == language


@pytest.mark.parametrize(
    ("source", "text", "language"),
    [
        ("en", "Gisteren had hij geen zin om mee te doen.", "nl"),
        ("en", "We bleven thuis want buiten regende er veel.", "nl"),
        ("de", "Ontem comprei uns livros muito baratos naquela pequena loja do centro da cidade.", "pt"),
        ("de", "Gisteren vroeg hij wie er mee wilde doen.", "nl"),
    ],
)
def test_words_that_languages_share_tell_nothing(source: str, text: str, language: str) -> None:
    """Dutch had, want and wie, Portuguese uns: none of them makes a sentence English or German."""
    found = foreign(text, source, Detector(["en", "de"]))
    assert found is not None and found.language == language


def test_confidence(detector: Detector) -> None:
    sure, unsure = detector.candidates("Das ist ein ganz gewöhnlicher deutscher Satz."), detector.candidates("x")
    assert sure[0].confidence > 99
    assert unsure[0].confidence < 50
    assert all(0 <= one.confidence <= 100 for one in sure + unsure)
    assert [one.confidence for one in unsure] == sorted((one.confidence for one in unsure), reverse=True)


@pytest.mark.parametrize("text", ["", " ", "12345", "😀👩\u200d👧", "a" + "\u0301\u0323" * 2500, "\ufffd"])
def test_texts_that_tell_nothing(detector: Detector, text: str) -> None:
    assert detector.candidates(text)
    assert detector.best(text, ["de"]).language == "de"


def test_those_who_ask_at_once_wait_for_one_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read, times = language._unpacked, []

    def counted(packed: Path) -> dict[str, language._Table]:
        times.append(packed)
        return read(packed)

    monkeypatch.setattr(language, "_unpacked", counted)
    language._tables.cache_clear()
    with ThreadPoolExecutor(8) as threads:
        assert len(list(threads.map(lambda text: Detector(["en"]).candidates(text), ["Good morning."] * 8))) == 8
    assert len(times) == 1


def test_tables_on_disk_are_those_of_py3langid() -> None:
    theirs = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    for text in ("Tom grew up in a small town.", "Das ist gut.", "안녕", "e\u0301 \u05e9\u05dc\u05d5\u05dd", "😀", ""):
        assert language._tables().rank(text) == theirs.rank(text)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyError("ptc"), ValueError("layout")])
def test_without_room_or_with_another_layout_py3langid_reads_its_tables(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(packed: Path) -> dict[str, language._Table]:
        raise error

    expected = Detector(["en"]).candidates("Das ist gut.")
    monkeypatch.setattr(language, "_unpacked", fails)
    language._tables.cache_clear()
    assert Detector(["en"]).candidates("Das ist gut.") == expected
    language._tables.cache_clear()


@pytest.mark.parametrize(
    "text", ["Das ist gut.", "Tom grew up in a small town.", "안녕하세요", "שלום", "😀", "", "12 e\u0301"]
)
def test_the_most_probable_is_the_first_candidate(text: str) -> None:
    for served in (["en", "de"], ["de", "en"], ["ko", "zh-Hans"], []):
        detector = Detector(served)
        assert detector.most_probable(text) == detector.candidates(text)[0]


def test_the_best_of_some(detector: Detector) -> None:
    assert detector.best("안녕하세요", ["en", "de"]).confidence == 0
    assert detector.best("Das ist gut.", ["en", "de"]).language == "de"
    assert detector.best("你好", ["zh-Hans"]).language == "zh-Hans"
