import pytest

from regard.text.protected.casing import casing_of, given_back, lower, ordinary, upper

RANKS = {
    word: number
    for number, word in enumerate(
        "the not do open this door Tom a and sea man old where is station now me what tom i Berlin".split()  # noqa: SIM905
    )
}


@pytest.mark.parametrize(
    ("text", "casing"),
    [
        ("DO NOT OPEN THIS DOOR!", "capitals"),
        ("OPEN", "capitals"),
        ("The Old Man And The Sea", "title"),
        ("Do not open this door!", None),
        ("NATO", None),
        ("OK", None),
        ("XQZ VBK", None),
        ("Tom Berlin", None),
        ("오늘 날씨", None),
        ("שלום עולם", None),
        ("12 🎉", None),
        ("", None),
    ],
)
def test_the_case_of_a_text(text: str, casing: str | None) -> None:
    assert casing_of(text, RANKS.get) == casing


def test_an_ordinary_sentence() -> None:
    assert ordinary("DO NOT OPEN THIS DOOR!", RANKS.get, "en") == "Do not open this door!"
    assert ordinary("WHERE IS TOM NOW, AND I?", RANKS.get, "en") == "Where is Tom now, and I?"
    assert ordinary("IN BERLIN", RANKS.get, "en") == "In Berlin"
    assert ordinary("THE SEA", RANKS.get, "en", first=False) == "the sea"
    assert ordinary("KAPI AÇIK", RANKS.get, "tr") == "Kapı açık"


def test_case_is_given_back() -> None:
    assert given_back("Öffne die Tür nicht, heiß!", "capitals", "de") == "ÖFFNE DIE TÜR NICHT, HEISS!"
    assert given_back("der alte Mann und das Meer", "title", "de") == "Der Alte Mann und das Meer"
    assert given_back("문을 열지 마세요", "capitals", "ko") == "문을 열지 마세요"
    assert upper("kapı iyi", "tr") == "KAPI İYİ" and upper("kapı iyi", "en") == "KAPI IYI"
    assert upper("Άνοιξε την πόρτα", "el") == "ΑΝΟΙΞΕ ΤΗΝ ΠΟΡΤΑ"
    assert upper("e\u0301a") == "E\u0301A"
    assert lower("IŞIK", "tr") == "ışık"
