"""Terms written into a source: the right places, whatever the vocabulary cuts."""

import pytest

from regard.config.special_tokens import BOS
from regard.terms.annotation import annotated
from regard.terms.glossary import Glossary, Term
from regard.text.subwords import Subwords

GLOSSARY = Glossary.of({"woman": "Weib", "사과": "Äpfel 12", "שלום": "peace", "👩‍👧": "Familie", "old woman": "Alte"})


def read(ids: list[int], subwords: Subwords) -> str:
    """The text of a source, its marks as |."""
    parts: list[list[int]] = [[]]
    for number in ids:
        if number == BOS:
            parts.append([])
        else:
            parts[-1].append(number)
    return "|".join(b"".join(subwords.spelling[number] for number in part).decode() for part in parts)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The woman sees.", " The woman| Weib| sees."),
        ("The old woman, and a Woman!", " The old woman| Alte|, and a Woman| Weib|!"),
        ("사과를 봅니다.", " 사과를| Äpfel 12| 봅니다."),
        ("אמר שלום לכם", " אמר שלום| peace| לכם"),
        ("Look: 👩‍👧", " Look: 👩‍👧| Familie|"),
        ("A dog e\u0301.", " A dog e\u0301."),
        ("", ""),
    ],
)
def test_the_target_follows_the_whole_word_of_its_term(subwords: Subwords, text: str, wanted: str) -> None:
    (ids,) = subwords.encode([text])
    found = annotated(ids, subwords, GLOSSARY, "NFC", lambda term: term.targets[0])
    assert read(found, subwords) == wanted
    plain = annotated(ids, subwords, GLOSSARY, "NFC", lambda _: None)
    assert plain == ids, "without a target, nothing is written"


def test_of_two_terms_only_the_chosen_is_shown(subwords: Subwords) -> None:
    def choose(term: Term) -> str | None:
        return "Weib" if term.source == "woman" else None

    (ids,) = subwords.encode(["woman 사과 woman"])
    assert read(annotated(ids, subwords, GLOSSARY, "NFC", choose), subwords) == " woman| Weib| 사과 woman| Weib|"
