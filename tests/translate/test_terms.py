from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.saving import save_built

from regard.config.run import Config
from regard.engines.torch_engine import TorchEngine
from regard.errors import UserError
from regard.memory.pair import Pair
from regard.memory.store import Memory
from regard.saved.folder import LoadedModel
from regard.terms.annotation import annotated
from regard.terms.glossary import Glossary, Term, occurs
from regard.translate.load import convert, load
from regard.translate.terms import _capitalised
from regard.translate.translator import Options, Translator

TEXTS = [
    "The old woman sees 12 apples.",
    "사과를 봅니다.",
    "Nothing to see here.",
    "",
    "A woman and an apple! The woman again.",
]
TERMS = {"woman": "Weib", "apple": "Obst", "사과": "Äpfel 12"}


@pytest.fixture
def folder(saved: LoadedModel, tmp_path: Path) -> Path:
    place = tmp_path / "model"
    save_built(
        place, saved.model, Config(model=saved.config, decode=saved.decode), saved.subwords, languages=("en", "de")
    )
    return place


def test_every_term_is_placed_and_other_sentences_stay(translator: Translator) -> None:
    plain = translator.window(TEXTS)
    found = translator.window(TEXTS, Options(force=True, protect=False, glossary=Glossary.of(TERMS)))
    assert occurs("Weib", found[0].text)
    assert occurs("Äpfel 12", found[1].text)
    assert found[2] == plain[2]
    assert found[3].text == ""
    assert occurs("Weib", found[4].sentences[0].outputs[0].text)
    assert occurs("Obst", found[4].sentences[0].outputs[0].text)
    assert [(use.source, use.placed) for one in found for sentence in one.sentences for use in sentence.terms] == [
        ("woman", True),
        ("사과", True),
        ("woman", True),
        ("apple", True),
        ("woman", True),
    ]
    assert not any(one.unplaced for one in found)


@pytest.mark.parametrize("beam", [1, 3])
def test_beams_and_n_best(translator: Translator, beam: int) -> None:
    options = Options(beam=beam, n_best=beam, glossary=Glossary.of(TERMS))
    (one,) = translator.window(TEXTS[:1], options)
    assert occurs("Weib", one.text)
    assert 1 <= one.options <= beam


def test_a_fast_engine_finds_what_the_reference_does(folder: Path) -> None:
    fast, reference = load(folder), load(folder, engine="torch")
    options = Options(force=True, protect=False, glossary=Glossary.of(TERMS))
    assert [one.text for one in fast.window(TEXTS, options)] == [one.text for one in reference.window(TEXTS, options)]


def test_a_term_that_can_not_be_placed_is_reported(translator: Translator) -> None:
    long = " ".join(["Weib"] * 40)  # more tokens than are required of a sentence
    options = Options(force=True, protect=False, glossary=Glossary.of({"woman": long}), banned=("Weiberfeind",))
    (one,) = translator.window(TEXTS[:1], options)
    assert [(use.source, use.targets, use.placed) for use in one.unplaced] == [("woman", (long,), False)]
    assert one.text == translator.window(TEXTS[:1], replace(options, glossary=None))[0].text


@pytest.mark.parametrize(
    ("target", "banned", "told"),
    [
        ("Weib", ("Apfel", "Weib"), "'Weib' is banned, but the glossary has 'Weib' for 'woman'; leave out one"),
        ("das schöne Weib", ("Wei",), "'Wei' is banned"),
        ("weib", ("Weib",), "'Weib' is banned"),
        ("여자", ("여자",), "'여자' is banned"),
        ("Mannweib", ("weib",), None),
        ("Weib", ("weib",), None),
    ],
)
def test_a_term_that_is_banned_is_told(translator: Translator, target: str, banned: Any, told: str | None) -> None:
    options = Options(glossary=Glossary([Term("man", ("Mann",)), Term("woman", ("Frau", target))]), banned=banned)
    if told is None:
        translator.request(options)
        return
    with pytest.raises(UserError, match=told):
        translator.request(options)


def test_what_does_not_go_together_is_told(translator: Translator, folder: Path) -> None:
    from regard.search.sampling import Sampling

    with pytest.raises(UserError, match="drawn at random"):
        translator.request(Options(force=True, protect=False, glossary=Glossary.of(TERMS), sampling=Sampling()))
    with pytest.raises(UserError, match="a glossary needs the model that was exported"):
        convert(folder, alone=True).request(Options(force=True, protect=False, glossary=Glossary.of(TERMS)))


def test_a_hostile_glossary_costs_little(translator: Translator) -> None:
    words = "abcdefghijklmnopqrst"
    glossary = Glossary.of({letter: f"{letter * 30} {letter * 30}" for letter in words})
    (one,) = translator.window([" ".join(words)], Options(force=True, protect=False, glossary=glossary, beam=2))
    assert len(one.sentences[0].terms) == len(words)
    assert one.unplaced, "more terms than are required of one sentence are reported"


def test_a_memory_answers(saved: LoadedModel, folder: Path, tmp_path: Path) -> None:
    memory = Memory(tmp_path / "work.db", create=True)
    with pytest.raises(UserError, match="does not say its own"):
        Translator(replace(saved, languages=(None, None))).request(Options(force=True, protect=False, memory=memory))
    own = load(folder)
    memory.add(Pair("en", "de", "사과를 봅니다.", "Ich sehe Äpfel. 👩\u200d👧"))
    memory.add(Pair("en", "de", "One. Two.", "Eins, zwei."))
    plain = own.window(TEXTS, Options(force=True, protect=False))
    options = Options(force=True, protect=False, memory=memory, fuzzy=True, alignment=True)
    found = own.window([*TEXTS, " One. Two.\n", "One. 사과를 봅니다."], options)
    assert found[1].text == "Ich sehe Äpfel. 👩\u200d👧"
    assert found[1].sentences[0].memory is not None
    assert found[1].confidence == 1.0
    assert found[5].text == " Eins, zwei.\n"
    assert found[6].text.endswith(" Ich sehe Äpfel. 👩\u200d👧")
    assert [found[n].text for n in (0, 2, 3, 4)] == [plain[n].text for n in (0, 2, 3, 4)]
    (near,) = own.window(["사과를 봅니다!"], options)
    assert near.sentences[0].fuzzy is not None
    assert near.sentences[0].fuzzy.percent == 87


def test_a_model_trained_with_terms_reads_them_in_its_source(saved: LoadedModel) -> None:
    """Sentences without terms stay; one that would become too long is searched as it is."""

    class Watched(TorchEngine):
        seen: list[list[int]] = []

        def search(self, sources: Any, request: Any, progress: Any = None) -> Any:
            self.seen += [list(source) for source in sources]
            return super().search(sources, request)

    shown = Translator(replace(saved, terminology=True), Watched(saved.model))
    glossary = Glossary.of(TERMS)
    shown.translate(TEXTS, Options(glossary=glossary, protect=False))
    first = [text for text in TEXTS if text]
    encoded = dict(zip(first, shown.source_subwords.encode(first), strict=True))
    term = annotated(
        encoded[TEXTS[0]], shown.source_subwords, glossary, "NFC", lambda term: {"woman": "Weib"}.get(term.source)
    )
    assert term in Watched.seen and encoded[TEXTS[0]] not in Watched.seen
    assert encoded[TEXTS[2]] in Watched.seen
    Watched.seen.clear()
    shown.most_tokens = len(encoded[TEXTS[0]])
    shown.translate(TEXTS[0], Options(glossary=glossary, protect=False))
    assert encoded[TEXTS[0]] == Watched.seen[0]


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("hund", "Hund"),
        ("élan vital", "Élan vital"),
        ("e-mail", "E-mail"),
        ("iPhone", "iPhone"),
        ("https://a.org/x", "https://a.org/x"),
        ("고양이", "고양이"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("שלום", "שלום"),
    ],
)
def test_only_plain_words_are_capitalised_at_the_start_of_a_sentence(target: str, wanted: str) -> None:
    assert _capitalised(target) == wanted
