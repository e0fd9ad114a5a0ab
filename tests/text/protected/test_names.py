import pytest

from regard.text.protected.names import Knowledge, find_names

KNOWN = frozenset(
    """
    Tom Boston Mary Will The I We Mr Monday the mark rose hope will is red here met and lives in a saw old tell Tell me
    came said asked baker young book that sees Her She Where where his this my mother uncle Uncle her to was it door
    """.split()  # noqa: SIM905
)


# As a vocabulary spells what it has read often; everything else in pieces of two letters.
SPELT = {
    "fatima": 2,
    "astronomy": 3,
    "science": 2,
    "giraffe": 2,
    "giraffes": 3,
    "griffith": 3,
    "griffiths": 4,
    "gangster": 3,
    "gangsters": 4,
    "photosynthesis": 4,
    "tobia": 3,
}


def pieces(word: str) -> int:
    return SPELT.get(word, -(-len(word) // 2))


# Words of the vocabulary that are the target language's, and unknown words that look like another language.
OF_TARGET = frozenset("berg weiß wetter meeting two".split())  # noqa: SIM905
UNLIKE = frozenset("griffiths gangsters".split())  # noqa: SIM905
MODEL = Knowledge(
    (KNOWN | {"Berg", "weiß", "Wetter", "WETTER", "Two", "Meeting"}).__contains__,
    pieces,
    OF_TARGET.__contains__,
    UNLIKE.__contains__,
)


def names(text: str, language: str | None = "en") -> list[str]:
    return [text[span.start : span.end] for span in find_names(text, language, MODEL)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I met Berg in Boston.", ["Berg"]),
        ("Berg asked me to come.", ["Berg"]),
        ("Berg admires your book.", ["Berg"]),
        ("Weiß is here.", ["Weiß"]),
        ("Berg is red.", []),  # of things, too
        ("Berg books to read.", []),
        ("I met the Berg.", []),
        ("Wetter, he said.", []),
        ("Berg hundred of it.", []),
        ("I saw WETTER.", []),
        ("World War Two ended here.", []),
        ("Two asked me.", []),
        ("I met Boston.", []),  # a word of the source language
        ("Meeting asked me.", []),  # an ending of common words
    ],
)
def test_a_word_that_only_the_target_language_has_is_a_name(text: str, found: list[str]) -> None:
    assert names(text) == found
    assert names(text, "fr") == [], "only English is known so well"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Griffiths writes short books.", ["Griffiths"]),
        ("Giraffes usually eats here.", ["Giraffes"]),  # nothing else can be in the singular
        ("Giraffes usually always eat.", []),
        ("Giraffes usually eat.", []),
        ("Giraffes treats me.", ["Giraffes"]),
        ("Griffiths slammed the door.", ["Griffiths"]),
        ("Griffiths nearly laughed.", ["Griffiths"]),
        ("Griffiths didn't come.", ["Griffiths"]),
        ("Griffiths used to come.", []),
        ("Giraffes slammed the door.", []),  # looks English
        ("Gangsters robbed a bank.", []),  # those who do something
    ],
)
def test_what_may_be_a_plural_is_a_name_before_a_verb_in_the_singular_or_if_it_looks_foreign(
    text: str, found: list[str]
) -> None:
    assert names(text) == found


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
        ("I'm from Agnieszka.", ["Agnieszka"]),
        ("Tell Agnieszka.", ["Agnieszka"]),
        # The first word, by what follows it.
        ("Wojciech must've escaped.", ["Wojciech"]),
        ("Wojciech washes clothes.", ["Wojciech"]),
        ("Wojciech almost won.", ["Wojciech"]),
        ("Wojciech, come here.", ["Wojciech"]),
        ("Tobias is here.", ["Tobias"]),
        ("Tobias waited.", ["Tobias"]),
        ("Dominic was here.", ["Dominic"]),
        # One that the model has read often, only if it does what people do.
        ("Fatima didn't object.", ["Fatima"]),
        ("Fatima said it.", ["Fatima"]),
        ("Fatima's book is red.", ["Fatima"]),
        ("Mark's drunk.", ["Mark"]),
        ("José burps.", ["José"]),
        ("McAllister young.", ["McAllister"]),
        ("Éric lives here.", ["Éric"]),
        ("Remus waited.", ["Remus"]),
        # One that may be a plural, or a thing, if the sentence speaks of a person.
        ("Giraffes misses his wife.", ["Giraffes"]),
        ("Giraffes and I saw it.", ["Giraffes"]),
        ("Hope was tired.", ["Hope"]),
        ("Hope is in his room.", ["Hope"]),
        # Inside a sentence a capital letter is enough, even if the word is known without one.
        ("I asked Baker.", ["Baker"]),
        ("Is Agnieszka Canadian?", ["Agnieszka"]),
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
        "Giraffes waited.",
        "Astronomy is old.",
        "Science is old.",
        "Astronomy deals with stars.",
        "Photosynthesis and Astronomy and Science",
        "Wojciech buttons are red.",
        "Hello, Tom.",
        "Oh, where is he?",
        "Will he tell me?",
        "Hope is here.",
        "THE OLD DOOR",
        "The Old Door And The Book",
        "I don't, I'm, I've.",
        "I saw the Door.",
        "I saw Door 7.",
        "Giraffes saw it.",
        "Hope is red.",
        "Science his mother.",
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
