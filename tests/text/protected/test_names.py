import pytest

from regard.text.protected.names import find_names

KNOWN = frozenset(
    """
    Tom Boston Mary Will The I We Mr Monday the mark rose hope will is red here met and lives in a saw old tell Tell me
    came said asked baker young book that sees Her She Where where his this my mother uncle Uncle her to was it door
    """.split()  # noqa: SIM905
)


def names(text: str, language: str | None = "en") -> list[str]:
    return [text[span.start : span.end] for span in find_names(text, language, KNOWN.__contains__)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I saw Wojciech in Boston.", ["Wojciech"]),
        ("Thandiwe's book is red.", ["Thandiwe"]),
        ("Thandiwe Nkosi lives here.", ["Thandiwe Nkosi"]),
        ("Aoife opened the door.", ["Aoife"]),
        ("We met Jean-Luc O'Brien.", ["Jean-Luc O'Brien"]),
        ("Mr Baker met me.", ["Baker"]),
        ("I asked Mark and Rose.", ["Mark", "Rose"]),
        ("Will is here.", ["Will"]),
        ("I saw Zoltán Székely.", ["Zoltán Székely"]),
        ("I saw Zolta\u0301n.", ["Zolta\u0301n"]),
        ("I saw NATO.", ["NATO"]),
    ],
)
def test_unknown_names_are_found(text: str, found: list[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "Where is Tom?",
        "Tell me in Boston.",
        "I saw my Uncle on Monday.",
        "Photosynthesis is old.",
        "Giraffes came.",
        "Will he tell me?",
        "Hope is here.",
        "THE OLD DOOR",
        "The Old Door And The Book",
        "I don't, I'm, I've.",
        "나는 서울에 산다.",
        "",
    ],
)
def test_other_words_are_no_names(text: str) -> None:
    assert names(text) == []


def test_german_nouns_are_no_names_but_what_follows_a_title_is() -> None:
    assert names("Ich sehe Herrn Wischnewski im Garten.", "de") == ["Wischnewski"]
    assert names("Der Gärtner sieht das Schloss.", "de") == []
    assert names("Je vois Wojciech.", "fr") == ["Wojciech"]
