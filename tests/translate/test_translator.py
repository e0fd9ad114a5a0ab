import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.engines import Echo
from tests.support.models import sentences
from tests.support.saving import save_built
from tests.support.texts import HOSTILE, any_text

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.run import Config
from regard.engines.engine import Progress, Request, batches, quiet
from regard.engines.torch_engine import TorchEngine, padded
from regard.errors import UserError
from regard.model.build import build
from regard.saved.folder import LoadedModel
from regard.search.hypothesis import Hypothesis
from regard.search.sampling import Sampling
from regard.text.normalise import normalise
from regard.text.subwords import Subwords
from regard.translate import translator as module
from regard.translate.load import load
from regard.translate.translator import Options, Translator, windows

BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


@pytest.fixture
def echo(saved: LoadedModel) -> Translator:
    return Translator(saved, Echo())


def asked(translator: Translator) -> list[Sequence[int]]:
    assert isinstance(translator.engine, Echo)
    return translator.engine.asked


@settings(max_examples=150, deadline=None)  # the first text in another script loads tables
@given(texts=st.lists(any_text, max_size=5), split=st.booleans())
def test_as_many_out_as_in_and_blank_stays_blank(saved: LoadedModel, texts: list[str], split: bool) -> None:
    as_it_is = Options(split=split, protect=False, force=True)
    translations = list(Translator(saved, Echo()).stream(texts, as_it_is))
    assert [translation.source for translation in translations] == texts
    protected = list(Translator(saved, Echo()).stream(texts, Options(split=split)))
    assert [translation.source for translation in protected] == texts
    for text, translation in zip(texts, translations, strict=True):
        assert normalise(translation.text) == normalise(text), "an echo of every character that is text"
        if not text.strip():
            assert translation.text == text
        translation.text.encode()


def test_a_real_model_survives_hostile_text(translator: Translator) -> None:
    texts = [*HOSTILE, "", "x" * 20_000, "word " * 4000, "e\u0301" * 300, "", "끝.", "“" * 500]
    found = translator.translate(texts, Options(beam=1))
    assert len(found) == len(texts)
    for text, translation in zip(texts, found, strict=True):
        if not text.strip():
            assert translation == text
        breaks = set(text.strip()) & set(BREAKS)
        assert set(translation.strip()) & set(BREAKS) <= breaks
        assert "\0" not in translation
        translation.encode()


def test_spacing_is_kept(echo: Translator) -> None:
    text = "  One man.  Two\u00a0women!\n\n\tThree dogs.\t他来了。Zwei. \n"
    assert echo.translate(text, Options(force=True, protect=False)) == text
    assert len(asked(echo)) == 5


def test_a_space_is_put_where_the_new_script_wants_one(saved: LoadedModel, subwords: Subwords) -> None:
    class Fixed(Echo):
        def search(self, sources: Any, request: Request, progress: Progress = quiet) -> list[list[Hypothesis]]:
            ids = tuple(subwords.encode(["Yes."])[0])
            return [[Hypothesis(ids, -1.0, -1.0, (-0.1,) * (len(ids) + 1))] for _ in sources]

    fixed = Translator(saved, Fixed())
    for text in ("他来了。她走了。", "「はい。」彼は行った。", "他说：“好。”她走了。", "好！走！"):
        assert fixed.translate(text, Options(force=True)) == "Yes. Yes."
    other = Translator(replace(saved, form="NFKC"), Fixed())
    assert other.translate("好！走！", Options(force=True)) == "Yes. Yes."
    fixed.most_tokens = 40  # bytes, with this vocabulary
    assert set(fixed.translate("他来了，她走了，" * 8, Options(force=True, protect=False)).split(" ")) == {"Yes."}


def test_equal_sentences_are_translated_once(echo: Translator) -> None:
    echo.translate(["Same here.", "Same here. Same  here.", " Same here. ", "Other."])
    assert len(asked(echo)) == 2


def test_over_long_sentences_are_cut_and_nothing_is_lost(echo: Translator, subwords: Subwords) -> None:
    text = "the old woman sees apples, " * 200 + "x" * 3000
    assert normalise(echo.translate(text)) == normalise(text)
    assert max(map(len, asked(echo))) <= module.MOST_TOKENS
    assert len(asked(echo)) >= 4


def test_lines_are_not_divided_when_told(echo: Translator) -> None:
    echo.translate("One man. Two women.", Options(split=False))
    assert len(asked(echo)) == 1


def test_streaming_holds_a_window(echo: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOW_LINES", 10)
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield f"Line {taken}."

    stream = echo.stream(endless())
    for number in range(1, 36):
        assert next(stream).text == f"Line {number}."
        assert taken <= number + 9
    monkeypatch.setattr(module, "WINDOW_CHARACTERS", 100)
    assert [len(window) for window in windows(["x" * 60] * 5)] == [2, 2, 1]


def test_a_translation_does_not_depend_on_its_neighbours(translator: Translator) -> None:
    texts = sentences()[:40]
    together = translator.translate(texts)
    for number in (0, 17, 39):
        assert translator.translate(texts[number]) == together[number]
    assert translator.translate(texts, Options(batch_tokens=1)) == together
    assert translator.translate(texts[::-1]) == together[::-1]


def test_options(translator: Translator) -> None:
    text = "The old woman sees apples."
    (free,) = translator.window([text], Options(n_best=3))
    outputs = free.sentences[0].outputs
    assert len(outputs) == free.options == 3
    assert [one.hypothesis.score for one in outputs] == sorted((one.hypothesis.score for one in outputs), reverse=True)
    assert free.text == outputs[0].text
    assert free.option(2) == outputs[2].text
    assert free.score == outputs[0].hypothesis.score
    assert "".join(outputs[0].tokens).replace("▁", " ").strip() == outputs[0].text or "<0x" in "".join(
        outputs[0].tokens
    )

    assert translator.translate(text, Options(prefix="The teacher")).startswith("The teacher")
    assert "garden" in translator.translate(text, Options(required=("garden",)))
    first = translator.stream(sentences(), Options())
    said, banned = next((one.source, word) for one in first for word in one.text.split() if word.isalnum())
    (second,) = translator.window([said], Options(banned=(banned, "끝"), n_best=4))
    for output in second.sentences[0].outputs:
        assert re.search(rf"(?<!\w){banned}", output.text) is None

    one, other = (translator.translate(text, Options(sampling=Sampling(seed=seed))) for seed in (1, 2))
    assert one != other
    assert translator.translate(text, Options(sampling=Sampling(seed=1))) == one
    assert translator.translate(["Das Mädchen.", text], Options(sampling=Sampling(seed=1)))[1] == one
    (several,) = translator.window([text], Options(sampling=Sampling(), n_best=4))
    assert len({output.text for output in several.sentences[0].outputs}) > 1
    drawn = [output.hypothesis.score for output in several.sentences[0].outputs]
    assert drawn == sorted(drawn, reverse=True) and len(set(drawn)) > 1


def test_alignment(translator: Translator) -> None:
    (translation,) = translator.window(["The old woman sees apples."], Options(alignment=True))
    output = translation.sentences[0].outputs[0]
    assert output.alignment is not None
    targets = [target for _, target in output.alignment]
    assert targets == list(range(len(targets)))
    assert all(0 <= source < 5 for source, _ in output.alignment)


def test_every_setting_can_be_given() -> None:
    assert set(DecodeConfig.model_fields) <= set(Options.__dataclass_fields__)


def test_mistakes(translator: Translator, saved: LoadedModel) -> None:
    with pytest.raises(UserError, match="the options: beam"):
        translator.translate("x", Options(beam=0))
    with pytest.raises(UserError, match="the options: penalty"):
        translator.translate("x", Options(penalty="none"))
    with pytest.raises(UserError, match="blank"):
        translator.translate("x", Options(banned=(" ",)))
    with pytest.raises(UserError, match="the model translates into de, not into fr"):
        translator.translate("x", Options(target="fr"))
    assert translator.translate("x", Options(target="de")) == translator.translate("x")
    with pytest.raises(UserError, match="not into fr"):
        translator.translate(["x"], target="fr")
    assert translator.translate("x", Options(target="fr"), target="de") == translator.translate("x")
    with pytest.raises(UserError, match="no subwords"):
        Translator(LoadedModel(saved.config, saved.decode, saved.languages, "NFC", {}, model=saved.model))
    with pytest.raises(UserError, match="no engine is called 'fast'"):
        load("x", engine="fast")


def test_languages_are_told_by_tags(saved: LoadedModel) -> None:
    tagged = Subwords.train(sentences(), 400, tags=("<2de>", "<2ko>"))
    echo = Translator(
        LoadedModel(
            saved.config, saved.decode, (None, None), "NFC", {"subwords.model": tagged.content}, model=saved.model
        ),
        Echo(),
    )
    with pytest.raises(UserError, match="<2de>, <2ko>.*say which one"):
        echo.translate("x")
    assert echo.translate("The man.", Options(target="ko")) == "The man."
    assert asked(echo)[-1][0] == tagged.tag("<2ko>")


def test_speech_levels_are_told_by_tags(saved: LoadedModel) -> None:
    tags = ("<2en>", "<2ko>", "<2ko:formal>", "<2ko:polite>", "<2ko:plain>", "<bt>")
    tagged = Subwords.train(sentences(), 400, tags=tags)
    echo = Translator(
        LoadedModel(
            saved.config, saved.decode, ("en", "ko"), "NFC", {"subwords.model": tagged.content}, model=saved.model
        ),
        Echo(),
    )
    assert echo.directions == [("en", "ko"), ("ko", "en")], "levels are no languages"
    assert (echo.levels(), echo.levels("en")) == (["formal", "polite", "plain"], [])
    for formality, tag in (("more", "formal"), ("less", "plain"), ("polite", "polite"), (None, None)):
        echo.translate("The man.", Options(formality=formality))
        assert asked(echo)[-1][0] == tagged.tag(f"<2ko:{tag}>" if tag else "<2ko>")
    echo.translate("The man.", Options(target="<2ko:polite>"))
    assert asked(echo)[-1][0] == tagged.tag("<2ko:polite>")
    assert echo.tag("<2ko><bt>") == [tagged.tag("<2ko>"), tagged.tag("<bt>")]
    with pytest.raises(UserError, match=r"not trained with the formality 'more' into en; leave the formality out"):
        echo.translate("x", Options(target="en", formality="more"))
    with pytest.raises(UserError, match=r"'rude' into ko; it has formal, polite, plain"):
        echo.translate("x", Options(formality="rude"))


def test_a_tag_that_is_no_language_needs_no_choice(saved: LoadedModel) -> None:
    tagged = Subwords.train(sentences(), 400, tags=("<bt>",))
    facts = (saved.config, saved.decode, ("en", "de"), "NFC", {"subwords.model": tagged.content})
    echo = Translator(LoadedModel(*facts, model=saved.model), Echo())  # type: ignore[arg-type]
    assert echo.tag(None) == echo.tag("de") == [] and echo.directions == [("en", "de")]


def test_saved_models_and_ensembles(saved: LoadedModel, translator: Translator, tmp_path: Path) -> None:
    config = Config(model=saved.config, decode=saved.decode)
    save_built(tmp_path / "one", saved.model, config, saved.subwords, languages=saved.languages)
    torch.manual_seed(2)
    other_model = build(saved.config).eval().requires_grad_(False)
    other_model.projection_VD.mul_(9.0)  # so that the ensemble follows it
    save_built(tmp_path / "two", other_model, config, saved.subwords)
    texts = sentences()[:5]
    assert load(tmp_path / "one").translate(texts) == translator.translate(texts)
    assert load(tmp_path / "one", tmp_path / "one").translate(texts) == translator.translate(texts)
    assert load(tmp_path / "one", tmp_path / "two").translate(texts) != translator.translate(texts)
    other = Subwords.train(sentences()[:100], 320)
    save_built(tmp_path / "three", saved.model, config, {"subwords.model": other.content})
    with pytest.raises(UserError, match="three: its subwords are not those of"):
        load(tmp_path / "one", tmp_path / "three")


def test_learned_positions_limit_both_sides(saved: LoadedModel) -> None:
    config = model_config(**{**saved.config.model_dump(), "positions": "learned", "max_length": 12})
    model = build(config).eval().requires_grad_(False)
    limited = Translator(LoadedModel(config, DecodeConfig(beam=2), (None, None), "NFC", saved.subwords, model=model))
    assert len(limited.translate(["x y z " * 50, "", "a"])) == 3


def test_a_tag_has_room_among_the_positions(saved: LoadedModel) -> None:
    """A model of 12 positions reads 11 tokens and EOS; a tag is one of them."""
    tagged = Subwords.train(sentences(), 400, tags=("<2de>", "<2ko>"))
    config = model_config(**{**saved.config.model_dump(), "positions": "learned", "max_length": 12})
    files = {"subwords.model": tagged.content}
    echo = Translator(replace(saved, config=config, languages=(None, None), subwords=files), Echo())
    assert module.reach(echo.saved) == 11
    echo.translate(["x" * length for length in range(1, 40)], Options(target="ko"))
    assert max(map(len, asked(echo))) <= 11 and {source[0] for source in asked(echo)} == {tagged.tag("<2ko>")}


def test_two_vocabularies(saved: LoadedModel) -> None:
    german = Subwords.train(sentences(), 420)
    files = {"source.subwords.model": german.content, "target.subwords.model": saved.subwords["subwords.model"]}
    config = model_config(**{**saved.config.model_dump(), "source_vocabulary": 420, "share_embeddings": False})
    model = build(config).eval().requires_grad_(False)
    apart = Translator(LoadedModel(config, saved.decode, (None, None), "NFC", files, model=model))
    assert apart.source_subwords.size == 420
    assert len(apart.translate(["Das Mädchen.", "x"])) == 2


class TestEngine:
    @given(lengths=st.lists(st.integers(0, 50)), most=st.integers(1, 200))
    def test_batches(self, lengths: list[int], most: int) -> None:
        found = list(batches(lengths, most))
        assert sorted(number for batch in found for number in batch) == list(range(len(lengths)))
        for batch in found:
            assert len(batch) == 1 or len(batch) * (max(lengths[number] for number in batch) + 1) <= most

    def test_many_samples_make_smaller_batches(self, make: Callable[..., Any]) -> None:
        """Rows are what fills the memory, so there are about as many, however many a sentence has."""
        engine = TorchEngine(make(1))
        sizes: list[int] = []
        for request in (
            Request(DecodeConfig(beam=1)),
            Request(DecodeConfig(beam=4)),
            Request(DecodeConfig(beam=64), n_best=1),
            Request(DecodeConfig(), n_best=64, sampling=Sampling()),
        ):
            told: list[int] = []
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(engine, "_search", lambda chosen, *_: [[] for _ in chosen])
                engine.search([[4] * 7] * 1000, request, told.append)
            sizes.append(told[0])
        assert sizes == [256, 256, 32, 32]

    def test_order_and_progress(self, make: Callable[..., Any]) -> None:
        engine = TorchEngine(make(1, vocabulary=20))
        sources = [[4 + (row + at) % 16 for at in range(row % 7)] for row in range(30)]
        told: list[int] = []
        found = engine.search(sources, Request(DecodeConfig(extra_length=4), batch_tokens=30), told.append)
        assert sum(told) == 30
        assert len(told) > 3
        for source, hypotheses in zip(sources, found, strict=True):
            alone = engine.search([source], Request(DecodeConfig(extra_length=4)))[0]
            assert alone[0].tokens == hypotheses[0].tokens
        assert engine.search([], Request(DecodeConfig())) == []

    def test_a_model_in_training_is_searched_without_dropout(self, make: Callable[..., Any]) -> None:
        model = make(1, vocabulary=20)
        quiet_one = TorchEngine(model).search([[4, 5, 6]], Request(DecodeConfig()))
        model.train()
        assert TorchEngine(model).search([[4, 5, 6]], Request(DecodeConfig())) == quiet_one
        assert model.training

    def test_padding(self) -> None:
        assert padded([[5, 6], []]).tolist() == [[5, 6, 3], [3, 0, 0]]


def test_a_model_of_two_directions_has_a_usual_one(saved: LoadedModel) -> None:
    tagged = Subwords.train(sentences(), 400, tags=("<2en>", "<2de>"))
    both = Translator(
        LoadedModel(
            saved.config, saved.decode, ("en", "de"), "NFC", {"subwords.model": tagged.content}, model=saved.model
        ),
        Echo(),
    )
    assert both.directions == [("en", "de"), ("de", "en")]
    assert both.tag(None) == both.tag("de") == [tagged.tag("<2de>")]
    assert both.tag("en") == [tagged.tag("<2en>")]
    alone = Translator(
        LoadedModel(saved.config, saved.decode, ("en", "de"), "NFC", saved.subwords, model=saved.model), Echo()
    )
    assert alone.directions == [("en", "de")] and alone.tag(None) == alone.tag("de") == []
