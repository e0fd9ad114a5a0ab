"""The coverage penalty: by plain loops, in an exhaustive search, and where it can't be."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.support.models import exhaustive, padded
from tests.support.saving import save_built

from regard.config.decode import DecodeConfig
from regard.config.presets import preset
from regard.config.run import Config
from regard.config.special_tokens import BOS
from regard.errors import UserError
from regard.model.build import build
from regard.model.seq2seq import Attentions, Seq2Seq
from regard.saved.folder import LoadedModel
from regard.search.beam import beam_search
from regard.search.coverage import LEAST, with_coverage
from regard.search.hypothesis import Hypothesis
from regard.search.sampling import Sampling
from regard.translate.load import load
from regard.translate.translator import Options, Translator

Make = Callable[..., Seq2Seq]


def gnmt(vocabulary: int = 7) -> Seq2Seq:
    sizes = {"vocabulary": vocabulary, "d_model": 12, "encoder_layers": 2, "decoder_layers": 2, "tie_projection": False}
    torch.manual_seed(4)
    model = build(preset("gnmt", model=sizes).model).eval().requires_grad_(False)
    model.projection_VD.mul_(5.0)
    for weight in model.get_submodule("score").parameters():
        weight.mul_(6.0)  # so that attention is far from even
    return model


@torch.no_grad()
def plain_penalty(model: Seq2Seq, source: list[int], tokens: tuple[int, ...], beta: float) -> float:
    """β Σ_i log min(Σ_j p_ij, 1), one number after the other, of one sentence alone."""
    layers = model.attentions(padded([source]), torch.tensor([[BOS, *tokens]])).cross
    heads = layers[max(0, len(layers) - 2)][0]
    total = 0.0
    for i in range(len(source)):
        covered = sum(
            sum(float(heads[head, j, i]) for head in range(len(heads))) / len(heads) for j in range(len(tokens) + 1)
        )
        total += math.log(min(max(covered, LEAST), 1.0))
    return beta * total


@pytest.mark.parametrize("kind", ["transformer", "gnmt"])
def test_penalty_by_plain_loops_whatever_the_neighbours(make: Make, kind: str) -> None:
    model = gnmt() if kind == "gnmt" else make(3)
    sources = [[4, 5, 6, 4, 5], [6], [5, 5, 4]]
    outputs = [(4,), (5, 6, 4, 4, 5), ()]
    given = [Hypothesis(tokens, -1.5 - at, -3.0, ()) for at, tokens in enumerate(outputs)]
    found = with_coverage(model, padded(sources), given, 0.7)
    for one, before, source in zip(found, given, sources, strict=True):
        penalty = plain_penalty(model, source, one.tokens, 0.7)
        assert one == replace(before, score=one.score) and (penalty < -0.01 or len(source) == 1)
        assert one.score == pytest.approx(before.score + penalty, abs=1e-4)


@pytest.mark.parametrize("beta", [0.2, 3.0])
def test_a_beam_as_wide_as_the_space_is_exhaustive_search(beta: float) -> None:
    """The best of all 364 outputs, by the sum of both scores; and stopping early changes nothing."""
    source, model = [4, 6], gnmt()
    plain = DecodeConfig(beam=364, alpha=0.6, extra_length=3)
    every = [
        (score + plain_penalty(model, source, tokens, beta), tokens)
        for score, tokens in exhaustive(model, source, plain)
    ]
    wanted = sorted(every, reverse=True)[:10]
    for early in (True, False):
        config = plain.model_copy(update={"beta": beta})
        (found,) = beam_search(model, padded([source]), config, n_best=10, early_stopping=early)
        assert [one.tokens for one in found] == [tokens for _, tokens in wanted]
        assert [one.score for one in found] == pytest.approx([score for score, _ in wanted], abs=1e-4)
    (without,) = beam_search(model, padded([source]), plain, n_best=10)
    assert beta < 1 or [one.tokens for one in without] != [tokens for _, tokens in wanted], "it makes a difference"


class Fixed(torch.nn.Module):
    """Attention that is given."""

    def __init__(self, weights: list[list[float]]) -> None:
        super().__init__()
        self.weights_BHTS = torch.tensor(weights)[None, None]

    def attentions(self, source_BS: torch.Tensor, target_BT: torch.Tensor) -> Attentions:
        return Attentions((), (), (self.weights_BHTS,))


def test_more_than_all_of_a_token_counts_as_all_and_nothing_stays_finite() -> None:
    weights = [[0.5, 0.0, 0.5], [0.5, 0.0, 0.5], [0.9, 0.0, 0.1]]  # two source tokens and EOS, whose attention is free
    (one,) = with_coverage(Fixed(weights), padded([[4, 5]]), [Hypothesis((4, 4), -1.0, -1.0, ())], 0.5)  # type: ignore[arg-type]
    assert one.score == pytest.approx(-1.0 + 0.5 * math.log(LEAST))


def test_models_without_attention_reject_it() -> None:
    model = build(preset("lstm", model={"vocabulary": 7, "d_model": 8}).model).eval()
    with pytest.raises(UserError, match="no attention over the source"):
        beam_search(model, padded([[4]]), DecodeConfig(beam=2, beta=0.2))


def test_a_beam_of_one_rejects_it() -> None:
    with pytest.raises(ValueError, match="a beam of 1 has no hypotheses to compare"):
        DecodeConfig(beam=1, beta=0.2)


def test_translator_and_engines(translator: Translator, saved: LoadedModel, tmp_path: Path) -> None:
    """Fast engines leave it to the reference; sampling and required words are rejected."""
    texts, options = (
        ["Good morning.", "사과를 봅니다. שלום 👩‍👧 e\u0301"],
        Options(beam=3, beta=2.0, n_best=3, token_scores=True),
    )
    save_built(tmp_path / "model", saved.model, Config(model=saved.config, decode=saved.decode), saved.subwords)
    engines = ("torch", "native", "ctranslate2")
    found = [[*load(tmp_path / "model", engine=engine).stream(texts, options)] for engine in engines]
    assert found[0] == found[1] == found[2]
    scores = [output.hypothesis.score for sentence in found[0][0].sentences for output in sentence.outputs]
    (plain,) = load(tmp_path / "model", engine="torch").stream(texts[:1], replace(options, beta=None))
    assert scores != [output.hypothesis.score for sentence in plain.sentences for output in sentence.outputs]
    for more in (Options(beta=1.0, sampling=Sampling(seed=1)), Options(beta=1.0, required=("a",))):
        with pytest.raises(UserError, match="ranks the outputs of a beam search"):
            translator.request(more)
    assert translator.request(Options(beta=0.5)).decode.beta == 0.5
