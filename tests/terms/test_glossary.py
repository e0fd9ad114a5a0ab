import time
from pathlib import Path

import pytest

from regard.errors import UserError
from regard.terms.glossary import LONGEST_TERM, MOST_TERMS, Glossary, Term, occurs
from regard.terms.script import is_particle

TERMS = {
    "dog": "Hund",
    "hot dog": "Wurst",
    "고양이": "cat",
    "café": "Kneipe",
    "שלום": "peace",
    "猫": "cat",
    "👩‍👧": "family",
}


def sources(glossary: Glossary, text: str) -> list[str]:
    return [term.source for term in glossary.found(text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A dog.", ["dog"]),
        ("DOG dog Dog", ["dog"]),
        ("dogs hotdog dog_house", []),
        ("the dog's bone", ["dog"]),
        ("a hot  dog and a dog", ["hot dog", "dog"]),
        ("고양이가 밥을 먹는다", ["고양이"]),
        ("고양이들에게는", ["고양이"]),
        ("고양이과학", []),
        ("길고양이", []),
        ("cafe\u0301", ["café"]),
        ("cafe\u0301\u0323", []),
        ("שלום לכם", ["שלום"]),
        ("黒猫です", ["猫"]),
        ("I see 👩‍👧!", ["👩‍👧"]),
        ("I see 👩‍👧‍👦!", []),
        ("", []),
    ],
)
def test_whole_words_are_found(text: str, wanted: list[str]) -> None:
    assert sources(Glossary.of(TERMS), text) == wanted


def test_case_counts_where_it_is_marked() -> None:
    glossary = Glossary([Term("May", ("Mai",), case=True), Term("polish", ("polieren",))])
    assert sources(glossary, "may I polish it in May") == ["polish", "May"]
    assert sources(glossary, "may I POLISH it") == ["polish"]


def test_a_star_matches_every_word_that_begins_so() -> None:
    glossary = Glossary.of({"translat*": "übersetz", "먹*": "essen", "*": "Stern"})
    assert sources(glossary, "translations, translated; a translator") == ["translat"]
    assert sources(glossary, "밥을 먹었습니다") == ["먹"]
    assert sources(glossary, "a * b") == ["*"]


def test_sources_that_differ_in_case_alone_are_one_term_unless_the_case_counts() -> None:
    (term,) = Glossary.of([("dog", "Hund"), ("DOG", "Köter"), ("Dog", "Hund")]).terms
    assert (term.source, term.targets) == ("dog", ("Hund", "Köter"))
    terms = [Term("us", ("uns",)), Term("US", ("USA",), case=True)]
    for order in (1, -1):
        found = Glossary(terms[::order]).found("US and us")
        assert [term.targets[0] for term in found] == ["USA", "uns"]


def test_a_whole_word_goes_before_a_prefix() -> None:
    glossary = Glossary.of([("book*", "buch"), ("book", "Buch")])
    assert [term.targets[0] for term in glossary.found("book bookshop")] == ["Buch", "buch"]


def test_apostrophes_are_the_same_however_they_are_written() -> None:
    glossary = Glossary.of({"don't": "x", "l\u2019eau": "y"})
    assert sources(glossary, "I don\u2019t; de l'eau") == ["don't", "l\u2019eau"]


@pytest.mark.parametrize("text", ["a\0b", "a\ud800"])
def test_characters_that_no_text_has_are_rejected(text: str) -> None:
    for pair in ((text, "b"), ("b", text)):
        with pytest.raises(UserError, match="characters that no text has"):
            Glossary.of([pair])


def test_terms_with_the_same_source_are_alternatives() -> None:
    (term,) = Glossary.of([("dog", "Hund"), ("dog", "Hündin"), ("dog", "Hund")]).terms
    assert term.targets == ("Hund", "Hündin")


@pytest.mark.parametrize(
    ("target", "text", "wanted"),
    [
        ("Hund", "Der Hund bellt.", True),
        ("Hund", "Die Hunde bellen.", True),
        ("Hund", "die Hundehütte", False),
        ("Hund", "der Seehund", False),
        ("roter Hund", "Roter Hunde wegen", True),
        ("an", "anders", False),
        ("고양이", "고양이가 잔다", True),
        ("猫", "黒猫です", True),
        ("Kneipe", "die kneipe", True),
        ("roter Hund", "roter-Hund", False),
        ("roter Hund", "roter", False),
        ("Hund", "Seehund und Hund", True),
        ("개", "개가 잔다", True),
        ("개", "개발한다", False),
        ("고양이", "고양이들에게는", True),
        ("고양이", "고양이과학", False),
        ("l'eau", "L\u2019eau", True),
        ("कल", "कला", False),
        ("कला", "कला है", True),
        ("👩", "👩\u200d👧", False),
        ("👍", "👍🏽", False),
        ("שלום", "אמר שלום.", True),
        ("cafe\u0301", "Cafés", True),
    ],
)
def test_a_target_occurs_as_a_word_with_a_short_ending(target: str, text: str, wanted: bool) -> None:
    assert occurs(target, text) == wanted


def test_particles() -> None:
    assert all(map(is_particle, ("은", "에게서", "들에게는", "입니다")))
    assert not any(map(is_particle, ("", "과학", "은행", "가가가가가")))


def test_files(tmp_path: Path) -> None:
    tsv, csv, tbx = (tmp_path / f"terms.{kind}" for kind in ("tsv", "csv", "tbx"))
    tsv.write_text("\ufeffdog\tHund\r\n\nMay\tMai\tcase\n", encoding="utf-8")
    csv.write_text('dog,Hund\n"hot, dog",Wurst,\n', encoding="utf-8")
    tbx.write_text(
        '<?xml version="1.0"?><martif type="TBX"><text><body>'
        '<termEntry><langSet xml:lang="en-US"><tig><term>dog</term></tig><tig><term>hound</term></tig></langSet>'
        '<langSet xml:lang="de"><ntig><termGrp><term>Hund</term></termGrp></ntig></langSet></termEntry>'
        '<termEntry><langSet xml:lang="fr"><tig><term>chien</term></tig></langSet></termEntry></body></text></martif>',
        encoding="utf-8",
    )
    assert Glossary.read(tsv).terms == (Term("dog", ("Hund",)), Term("May", ("Mai",), case=True))
    assert Glossary.read(csv).terms == (Term("dog", ("Hund",)), Term("hot, dog", ("Wurst",)))
    assert Glossary.read(tbx, ("en", "de")).terms == (Term("dog", ("Hund",)), Term("hound", ("Hund",)))
    with pytest.raises(UserError, match="no entry with terms in both en and ko"):
        Glossary.read(tbx, ("en", "ko"))
    with pytest.raises(UserError, match="use TSV"):
        Glossary.read(tbx)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"dog\n", "line 1: needs a source and a target"),
        (b"a\tb\n\tHund\n", "line 2: needs a source"),
        (b"a\tb\tc\td\n", "line 1: needs"),
        (b"\n \n", "has no terms"),
        (b"a\tb\tCASE\n", "third column is 'CASE'; it can only be `case`"),
        (b"a\tb\n\xff\tb\n", "line 2: is not UTF-8"),
        (b"a\t" + b"b" * (LONGEST_TERM + 1), "shorten it"),
        (b"".join(b"%d\tb\n" % n for n in range(MOST_TERMS + 1)), "over 100,000 terms"),
    ],
)
def test_bad_files_are_told(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "terms.tsv"
    file.write_bytes(content)
    with pytest.raises(UserError, match=said):
        Glossary.read(file)


def test_a_csv_with_semicolons_is_told(tmp_path: Path) -> None:
    file = tmp_path / "terms.csv"
    file.write_text("dog;Hund\n", encoding="utf-8")
    with pytest.raises(UserError, match="with a comma between"):
        Glossary.read(file)


@pytest.mark.parametrize("content", [b"<tbx", b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", b"<a>" * 1000, b""])
def test_hostile_tbx_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "terms.tbx"
    file.write_bytes(content)
    with pytest.raises(UserError):
        Glossary.read(file, ("en", "de"))


def test_time_is_linear_in_the_sentence() -> None:
    glossary = Glossary.of({"a" * length: "b" for length in range(1, 60)})
    begun = time.process_time()
    assert glossary.found("a" * 5_000 + " " + "a " * 5_000)
    assert time.process_time() - begun < 10.0
