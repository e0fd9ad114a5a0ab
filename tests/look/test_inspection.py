"""A text seen from inside."""

import json
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
import torch

from regard.config.model import ModelConfig, model_config
from regard.config.special_tokens import BOS, EOS
from regard.errors import UserError
from regard.look.inspection import MOST_SENTENCES, Look
from regard.look.sight import KINDS
from regard.model.build import build
from regard.model.positions import sinusoids
from regard.model.seq2seq import Attentions, Seq2Seq
from regard.model.transformer import Transformer
from regard.saved.folder import LoadedModel
from regard.search.sampling import Sampling
from regard.text.subwords import Subwords
from regard.translate.translator import Options, Translator

ALONE = Options(protect=False, force=True)  # looking inside shows what the model itself writes
TEXT = "The old woman sees 12 apples 할머니가 e\u0301 שלום 🙂"


@pytest.fixture(scope="module")
def seen(translator: Translator) -> Look:
    return translator.look(TEXT)


def test_every_weight_of_the_reference(translator: Translator, seen: Look) -> None:
    (sight,) = seen.sentences
    source = translator.source_subwords.encode([sight.source.text])[0]
    target = translator.window([TEXT], ALONE)[0].sentences[0].outputs[0].hypothesis.tokens
    attentions = translator.model.attentions(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]]))
    for kind in KINDS:
        weights_LHTS = sight.attention[kind]
        assert weights_LHTS.shape[2:] == (len(sight.rows(kind)), len(sight.columns(kind)))
        for layer, weights_BHTS in enumerate(getattr(attentions, kind)):
            torch.testing.assert_close(weights_LHTS[layer], weights_BHTS[0])
    assert sight.source.tokens == (*translator.source_subwords.pieces(source), "</s>")
    assert sight.read == ("<s>", *translator.target_subwords.pieces(target))


def test_the_translation_and_what_else_was_found(translator: Translator, seen: Look) -> None:
    (sight,) = seen.sentences
    assert seen.translation == sight.target.text == translator.translate(TEXT, ALONE)
    several = translator.window([TEXT], replace(ALONE, n_best=2))[0].sentences[0].outputs
    assert [output.text for output in sight.n_best] == [output.text for output in several]
    assert [output.hypothesis for output in sight.n_best] == [output.hypothesis for output in several]
    assert sight.greedy.text == translator.translate(TEXT, replace(ALONE, beam=1))
    assert max(branch.score for branch in sight.branches if branch.token == EOS) == several[0].hypothesis.score


def test_what_was_probable(translator: Translator, seen: Look) -> None:
    (sight,) = seen.sentences
    scores = translator.window([TEXT], ALONE)[0].sentences[0].outputs[0].hypothesis.token_scores
    assert len(sight.probable) == len(sight.target.tokens)
    for row, token, score in zip(sight.probable, sight.target.tokens, scores, strict=True):
        values = [value for _, value in row]
        assert values == sorted(values, reverse=True) and len(row) == 10 and sum(values) <= 1.0001
        if token in dict(row):
            assert dict(row)[token] == pytest.approx(torch.tensor(score).exp().item(), abs=1e-5)


def test_words_and_their_alignment(translator: Translator, seen: Look) -> None:
    (sight,) = seen.sentences
    assert sight.source.words == (*TEXT.replace("e\u0301", "é").split(), "</s>")
    for side in (sight.source, sight.target):
        assert len(side.tokens) == len(side.word_of)
        assert sorted(set(side.word_of)) == list(range(len(side.words)))
    expected = translator.window([TEXT], replace(ALONE, alignment=True))[0].sentences[0].outputs[0].alignment
    assert sight.alignment == expected
    assert {target for _, target in sight.alignment} == set(range(len(sight.target.words) - 1))


def test_positions(seen: Look) -> None:
    positions_PD = seen.sentences[0].positions_PD
    assert positions_PD is not None
    torch.testing.assert_close(positions_PD, sinusoids(0, len(positions_PD), 16))


def test_active_units(seen: Look, translator: Translator) -> None:
    """The share of each network's inner units that are above 0, computed here from each layer's input."""
    sight, model = seen.sentences[0], translator.model
    assert isinstance(model, Transformer) and sight.active_LS is not None
    networks = [layer.feed_forward for layer in model.encoder]
    inputs: list[torch.Tensor] = []
    hooks = [network.register_forward_pre_hook(lambda _, given: inputs.append(given[0])) for network in networks]
    model.encode(torch.tensor([[*translator.source_subwords.encode([sight.source.text])[0], EOS]]))
    for hook in hooks:
        hook.remove()
    shares = [(network.inner(x)[0] > 0).float().mean(-1) for network, x in zip(networks, inputs, strict=True)]
    torch.testing.assert_close(sight.active_LS, torch.stack(shares))


def test_each_sentence_has_its_own(translator: Translator) -> None:
    text = "  The old woman. \n\n Das Mädchen!"
    seen = translator.look(text)
    assert [sight.source.text for sight in seen.sentences] == ["The old woman.", "Das Mädchen!"]
    assert seen.translation == translator.translate(text, ALONE)
    assert translator.look(" \n").sentences == ()
    with pytest.raises(UserError, match=f"give {MOST_SENTENCES} at most"):
        translator.look("A man. " * (MOST_SENTENCES + 1))


def test_what_is_not_a_beam_search_is_refused(translator: Translator) -> None:
    for options in (Options(sampling=Sampling()), Options(required=("man",))):
        with pytest.raises(UserError, match="a beam search"):
            translator.look("A man.", options)


def test_a_tag_is_a_word_of_its_own() -> None:
    several = Subwords.train(["The old woman.", "할머니가 봅니다."] * 20, 305, tags=("<2de>", "<2ko>"))
    config = model_config(vocabulary=several.size, encoder_layers=1, decoder_layers=1, d_model=16, d_ff=16, heads=2)
    torch.manual_seed(3)
    translator = Translator(several_saved(config, several))
    seen = translator.look("The woman.", Options(target="ko", extra_length=2))
    (sight,) = seen.sentences
    assert seen.languages == (None, "ko")
    assert (sight.source.tokens[0], sight.source.words[:2]) == ("<2ko>", ("<2ko>", "The"))
    assert all(source >= 1 for source, _ in sight.alignment)


def several_saved(config: ModelConfig, several: Subwords) -> LoadedModel:
    from regard.config.decode import DecodeConfig

    model = build(config).eval().requires_grad_(False)
    return LoadedModel(
        config, DecodeConfig(beam=2), (None, None), "NFC", {"subwords.model": several.content}, model=model
    )


class OnlyCross(Seq2Seq):
    """A model that attends to its source and nothing else, as a recurrent one does."""

    def __init__(self, model: Seq2Seq, kinds: set[str]) -> None:
        super().__init__()
        self.model, self.kinds = model, kinds
        for name in ("encode", "features", "start", "advance", "logits"):
            setattr(self, name, getattr(model, name))

    @property
    def projection_VD(self) -> torch.Tensor:
        return self.model.projection_VD

    def attentions(self, source_BS: torch.Tensor, target_BT: torch.Tensor) -> Attentions:
        full = self.model.attentions(source_BS, target_BT)
        return Attentions(*(getattr(full, kind) if kind in self.kinds else () for kind in KINDS))


def test_models_without_some_attention(saved: LoadedModel) -> None:
    for kinds in ({"cross"}, set[str]()):
        seen = Translator(replace(saved, model=OnlyCross(saved.model, kinds).eval())).look("The old woman.")
        assert set(seen.sentences[0].attention) == kinds
        assert set(json.loads(seen.to_json())["sentences"][0]["attention"]) == kinds
        if kinds:
            assert "encoder_attention" not in seen.bertviz()
        else:
            with pytest.raises(UserError, match="no attention"):
                seen.bertviz()


def test_bertviz(translator: Translator, seen: Look) -> None:
    """What its head_view checks of its arguments: tensors of 1, heads, positions, positions, and a token for each."""
    arguments = seen.bertviz()
    assert arguments["include_layers"] == [0], "the encoder has one layer, the decoder two"
    tokens = {"encoder": arguments["encoder_tokens"], "decoder": arguments["decoder_tokens"]}
    for kind, rows, columns in (("encoder",) * 3, ("decoder",) * 3, ("cross", "decoder", "encoder")):
        for number, layer in enumerate(arguments[f"{kind}_attention"]):
            assert layer.shape == (1, 2, len(tokens[rows]), len(tokens[columns]))
            torch.testing.assert_close(layer[0], seen.sentences[0].attention[kind][number])  # type: ignore[index]


class Frames(HTMLParser):
    pages: list[str]

    def __init__(self) -> None:
        super().__init__()
        self.pages = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "iframe":
            self.pages.append(dict(attributes)["srcdoc"] or "")


def test_jupyter_shows_the_page(seen: Look) -> None:
    frames = Frames()
    frames.feed(seen._repr_html_())
    (shown,) = frames.pages
    assert "할머니가" in unescape(shown) and shown.startswith("<!doctype html>")
