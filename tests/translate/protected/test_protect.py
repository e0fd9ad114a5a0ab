from collections.abc import Sequence

import pytest

import regard
from regard.engines.engine import Progress, Request, quiet
from regard.search.hypothesis import Hypothesis
from regard.terms.glossary import Glossary
from regard.translate.translator import Options, Translator


@pytest.fixture(scope="module")
def en_de() -> Translator:
    return regard.load("en-de")


SPANS = {
    "Send 12,450.75 euros to anna@example.com before 31 March, see https://example.org/a?b=1 🎉": (
        "12,450.75", "anna@example.com", "31", "https://example.org/a?b=1", "🎉",
    ),
    "Open /etc/hosts, please.": ("/etc/hosts",),
    "Hello %s, you have {0} new letters.": ("%s", "{0}"),
    "Wojciech's brother lives in Boston.": ("Wojciech",),
    "I saw 안나@example.kr and x@y.org.": ("x@y.org",),
    "It costs $19.99 👩‍👩‍👧, I think.": ("$19.99", "👩‍👩‍👧"),
    "Click <b>here</b>.": ("<b>", "</b>"),
}  # fmt: skip


@pytest.mark.parametrize("source", SPANS)
def test_spans_come_through(en_de: Translator, source: str) -> None:
    (found,) = en_de.window([source])
    for span in SPANS[source]:
        assert found.text.count(span) == 1, found.text
    assert {span.text for span in found.spans} >= set(SPANS[source])
    assert "appended" not in found.warnings


def test_capitals_and_fragments(en_de: Translator) -> None:
    assert en_de.translate("WHERE IS THE STATION?") == en_de.translate("Where is the station?").upper()
    assert not en_de.translate("the red car").endswith(".")
    assert en_de.translate("WHERE IS HTTPS://A.ORG/x, TOM?").count("HTTPS://A.ORG/x") == 1


def test_text_in_another_language_is_left_and_reported(en_de: Translator) -> None:
    texts = ["안녕하세요, 만나서 반갑습니다.", "Ich habe gestern meine Schlüssel verloren.", "مرحبا بالعالم", "Tom."]
    korean, german, arabic, english = en_de.window(texts)
    assert [one.text for one in (korean, german, arabic)] == texts[:3]
    assert korean.warnings == ("language",) and korean.sentences[0].kept
    assert korean.language is not None and korean.language.language == "ko"
    assert german.language is not None and german.language.language == "de"
    assert english.language is None
    (forced,) = en_de.window(texts[:1], Options(force=True))
    assert forced.language is None and forced.text != texts[0]


def test_a_line_of_spans_alone_is_not_searched(en_de: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    search = en_de.engine.search

    def counting(
        sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        asked.append(len(sources))
        return search(sources, request, progress)

    monkeypatch.setattr(en_de.engine, "search", counting)
    assert en_de.translate("https://example.org/a?b=1") == "https://example.org/a?b=1"
    assert sum(asked) == 0
    en_de.translate("Where is the station?")
    assert sum(asked) == 1, "an ordinary sentence costs one search"
    en_de.translate("Please ask Wojciech about it.")  # which chooses the stand-ins
    asked.clear()
    assert "Agnieszka" in en_de.translate("Please ask Agnieszka about it.")
    assert sum(asked) == 1, "and so does one with a name"


def test_numbers_are_localised_when_asked(en_de: Translator) -> None:
    text = "I paid 12,450.75 euros."
    assert "12,450.75" in en_de.translate(text)
    assert "12.450,75" in en_de.translate(text, Options(localise_numbers=True))
    with pytest.raises(regard.UserError, match="no-protect"):
        en_de.translate(text, Options(localise_numbers=True, protect=False))


def test_a_glossary_comes_before_a_name(en_de: Translator) -> None:
    glossary = Glossary.of({"Wojciech": "Adalbert"})
    (found,) = en_de.window(["I saw Wojciech."], Options(glossary=glossary))
    assert found.spans == () and "Wojciech" not in found.text


def test_protection_can_be_turned_off(en_de: Translator) -> None:
    (found,) = en_de.window(["See https://example.org/a?b=1 now."], Options(protect=False))
    assert found.spans == () and "https://example.org/a?b=1" not in found.text


def test_lost_spans_are_appended(en_de: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = en_de.engine.search([en_de.source_subwords.encode(["Yes."])[0]], Request(en_de.saved.decode))
    monkeypatch.setattr(en_de.engine, "search", lambda sources, request, *_: fixed * len(sources))
    monkeypatch.setattr("regard.translate.protected.protect.ATTEMPTS", 2)
    (found,) = en_de.window(["See https://example.org now."])
    assert found.text.endswith(" https://example.org") and found.warnings == ("appended",)
    assert [span.how for span in found.spans] == ["appended"]


def test_alignment_is_of_the_words_that_are_seen(en_de: Translator) -> None:
    (found,) = en_de.window(["Tom lives 5 km from https://a.org 🎉"], Options(alignment=True))
    pairs = found.pairs
    assert pairs is not None
    ours, theirs = found.source.split(), found.text.split()
    assert all(source < len(ours) and target < len(theirs) for source, target in pairs)
    assert ("https://a.org", "https://a.org") in [(ours[a], theirs[b]) for a, b in pairs]


def test_no_span_is_cut_by_sentences(en_de: Translator) -> None:
    code = "`print. Done`"
    (found,) = en_de.window([f"Type {code} now. Where is Tom?"])
    assert code in found.text


@pytest.mark.parametrize(
    ("source", "kept", "uses"),
    [
        ("See https://example.com/station for the station.", "https://example.com/station", ["station"]),
        ("Write to dog@station.org about the dog.", "dog@station.org", ["dog"]),
        ("Use {station} here.", "{station}", []),
        ("Hot https://example.com/x dog.", "https://example.com/x", ["dog"]),
    ],
)
def test_a_term_inside_a_protected_span_is_none(en_de: Translator, source: str, kept: str, uses: list[str]) -> None:
    glossary = Glossary.of({"station": "Bahnstation", "dog": "Köter", "hot dog": "Wurst"})
    (found,) = en_de.window([source], Options(target="de", glossary=glossary))
    assert kept in found.text
    assert [(use.source, use.placed) for one in found.sentences for use in one.terms] == [(use, True) for use in uses]


def test_a_term_that_is_a_whole_span_is_translated(en_de: Translator) -> None:
    glossary = Glossary.of({"https://example.com/en": "https://example.com/de"})
    (found,) = en_de.window(["See https://example.com/en today."], Options(target="de", glossary=glossary))
    assert "https://example.com/de" in found.text
    assert "https://example.com/en" not in found.text


def test_a_term_that_is_lost_for_a_protected_span_is_reported(en_de: Translator) -> None:
    source = "Tom was 16 going on 17 when he first met Mary."
    (found,) = en_de.window([source], Options(target="de", glossary=Glossary.of({"mary": "Maria"})))
    assert all(number in found.text for number in ("16", "17"))
    assert [use.placed for one in found.sentences for use in one.terms] == ["Maria" in found.text]
