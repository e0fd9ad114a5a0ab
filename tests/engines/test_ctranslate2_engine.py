import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.engines import SEARCHES, learn, same, sources
from tests.support.models import banning, like_trained

from regard.config.decode import DecodeConfig
from regard.config.model import model_config
from regard.config.special_tokens import BOS, EOS, PAD, UNK
from regard.engines import ctranslate2_engine
from regard.engines.ctranslate2_engine import CTranslate2Engine, _Output
from regard.engines.engine import Engine, Progress, Request, quiet
from regard.engines.torch_engine import TorchEngine
from regard.errors import Failed, UserError
from regard.evaluate.perplexity import score_ids
from regard.exchange.to_ctranslate2 import positions, write_ctranslate2
from regard.model.build import build
from regard.saved.folder import as_arrays
from regard.saved.saved_model import SavedModel
from regard.search.hypothesis import Hypothesis
from regard.search.length_penalty import normalised
from regard.search.sampling import Sampling
from regard.text.subwords import Subwords

SMALL: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 2, "d_model": 32, "d_ff": 32, "heads": 2, "dropout": 0}


class Asked(TorchEngine):
    """The reference engine, which remembers what it was asked."""

    asked: int = 0

    def search(
        self, sources: Sequence[Sequence[int]], request: Request, progress: Progress = quiet
    ) -> list[list[Hypothesis]]:
        self.asked += len(sources)
        return super().search(sources, request, progress)


class Pair:
    """One model under both engines."""

    def __init__(
        self, folder: Path, subwords: Subwords, seed: int = 1, steps: int = 100, end: float = 0.0, **config: Any
    ) -> None:
        torch.manual_seed(seed)
        files = {"subwords.model": subwords.content}
        self.config = model_config(**{**SMALL, "vocabulary": subwords.size, **config})
        if self.config.source_vocabulary is not None:
            files = {f"{side}.subwords.model": subwords.content for side in ("source", "target")}
        model = build(self.config)
        like_trained(model)
        learn(model, steps)
        with torch.no_grad():
            model.projection_VD[EOS] += end / model.projection_VD.shape[1]  # as in like_trained, the logit's own bias
        longest = self.config.max_length - 1 if self.config.positions == "learned" else None
        self.torch = Asked(model, longest=longest)
        described = SavedModel(self.config, DecodeConfig(), (None, None), "NFC", files)
        folder.mkdir()
        write_ctranslate2(folder, described, as_arrays(model.state_dict()), "float32")
        self.folder = folder
        self.pieces = subwords.pieces(range(subwords.size))
        self.fast = self.engine(self.torch)
        self.alone = self.engine(None)

    def engine(self, reference: Engine | None) -> CTranslate2Engine:
        later = None if reference is None else lambda: reference
        return CTranslate2Engine(
            self.folder, self.pieces, self.pieces, positions=positions(self.config), reference=later
        )


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"norm": "pre", "activation": "gelu", "tie_projection": False},
        {"activation": "silu"},
        {"positions": "learned", "max_length": 128, "norm": "pre", "tie_projection": False},
        {"share_embeddings": False},
        {"source_vocabulary": 400, "tie_projection": False, "encoder_layers": 1, "decoder_layers": 3},
        {"d_model": 24, "heads": 3},
    ],
    ids=str,
)
def test_the_same_hypotheses_as_the_reference(tmp_path: Path, subwords: Subwords, config: dict[str, Any]) -> None:
    pair = Pair(tmp_path / "ct2", subwords, **config)
    for request in SEARCHES:
        wanted = pair.torch.search(sources(), request)
        pair.torch.asked = 0
        same(pair.fast.search(sources(), request), wanted, tokens=False)
        assert pair.torch.asked <= 14, "it did most of the work itself"
        assert max(len(some[0].tokens) for some in wanted) > 8


def test_hypotheses_that_were_left_out_are_not_missed(
    tmp_path: Path, subwords: Subwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CTranslate2 finds more than it gives when several end in the last step, and orders them by another score.

    Asked twice, it gives what is needed: the reference is asked only where a limit is reached, or for the K best.
    """
    limited: list[bool] = []
    twice: list[int] = []
    reached, joined = CTranslate2Engine._limited, ctranslate2_engine._joined

    def watched(*given: Any) -> bool:
        limited.append(reached(*given))
        return limited[-1]

    def counted(*given: Any) -> Any:
        twice.append(1)
        return joined(*given)

    monkeypatch.setattr(CTranslate2Engine, "_limited", watched)
    monkeypatch.setattr(ctranslate2_engine, "_joined", counted)
    for seed in range(3):
        pair = Pair(tmp_path / str(seed), subwords, seed, steps=30 * (1 + seed))
        for beam, n_best, alpha in ((2, 1, 2.0), (4, 1, 0.6), (4, 2, 0.6), (6, 1, 2.0), (6, 6, 0.6)):
            request = Request(DecodeConfig(beam=beam, alpha=alpha, extra_length=12), n_best=n_best)
            limited.clear()
            pair.torch.asked = 0
            found = pair.fast.search(sources(), request)
            assert pair.torch.asked == sum(limited) or n_best > 2
            same(found, pair.torch.search(sources(), request), tokens=False)
    assert twice


def test_of_two_rankings_what_both_give_comes_before_what_neither_does() -> None:
    """Against all hypotheses of made-up searches: K - 1 finished before the last step at most, and K in it."""
    generator = random.Random(1)
    for _ in range(2000):
        K, alpha, steps = generator.randint(2, 6), generator.choice((0.3, 0.6, 1.0, 2.0)), generator.randint(2, 30)
        config = DecodeConfig(beam=K, alpha=alpha)
        lengths = [generator.randint(1, steps - 1) for _ in range(generator.randint(0, K - 1))]
        lengths += [steps] * generator.randint(K - len(lengths), K)
        every = [
            ctranslate2_engine._Output(normalised(total, length, alpha), total, [str(number)] * (length - 1))
            for number, length in enumerate(lengths)
            for total in [-generator.uniform(0.1, 20)]
        ]
        by_total = sorted(every, key=lambda output: -output.total)[:K]
        by_average = sorted(every, key=lambda output: -output.total / (len(output.tokens) + 1) ** alpha)[:K]
        if len({tuple(output.tokens) for output in every}) < len(every):
            continue  # two that are EOS alone; a search has one at most
        outputs, certain = ctranslate2_engine._joined(by_total, by_average)
        best = sorted(every, key=lambda output: -output.score)
        assert outputs[:certain] == best[:certain]
        assert certain >= 2
        if ctranslate2_engine._complete(sorted(by_total, key=lambda output: -output.score), Request(config)):
            assert max(by_total, key=lambda output: output.score) == best[0]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, subwords: Subwords) -> Pair:
    return Pair(tmp_path_factory.mktemp("engine") / "ct2", subwords)


def test_exact_scores_on_request(pair: Pair) -> None:
    for beam, n_best in ((4, 3), (1, 1)):
        request = Request(DecodeConfig(beam=beam), n_best=n_best, token_scores=True)
        same(pair.fast.search(sources(), request), pair.torch.search(sources(), request))
    assert () in [some[0].token_scores for some in pair.fast.search(sources(), Request(DecodeConfig()))]


@pytest.fixture(scope="module")
def restless(tmp_path_factory: pytest.TempPathFactory, subwords: Subwords) -> Pair:
    """A model that would rather not end."""
    return Pair(tmp_path_factory.mktemp("engine") / "ct2", subwords, end=-4.0)


@pytest.mark.parametrize("extra", [0, 1, 4])
def test_a_greedy_output_is_cut_at_its_limit(restless: Pair, extra: int) -> None:
    request = Request(DecodeConfig(beam=1, extra_length=extra))
    texts = [[4 + at % 300 for at in range(length)] for length in (1, 2, 3, 4, 5, 6, 9, 12, 40)]
    restless.torch.asked = 0
    found = restless.fast.search(texts, request)
    scored = restless.fast.search(texts, Request(request.decode, token_scores=True))
    assert restless.torch.asked == 0
    same(scored, restless.torch.search(texts, Request(request.decode, token_scores=True)))
    assert any(len(some[0].tokens) == len(text) + extra for some, text in zip(found, texts, strict=True))
    same(found, restless.torch.search(texts, request), tokens=False)


@pytest.mark.parametrize("extra", [0, 1, 4])
def test_limits(restless: Pair, extra: int) -> None:
    """A sentence ends where the reference ends it, whatever the others of its batch may do."""
    config = DecodeConfig(beam=3, extra_length=extra)
    request = Request(config, n_best=2)
    texts = [[4 + at % 300 for at in range(length)] for length in (1, 2, 3, 4, 5, 6, 9, 12, 40)]
    wanted = restless.torch.search(texts, request)
    assert any(len(some[0].tokens) == len(text) + extra for some, text in zip(wanted, texts, strict=True))
    same(restless.fast.search(texts, request), wanted, tokens=False)
    for text, hypotheses in zip(texts, restless.alone.search(texts, request), strict=True):
        same(restless.alone.search([text], request), [hypotheses], tokens=False)
        assert 1 <= len(hypotheses) <= 2
        logs = score_ids(restless.torch.model, [text] * len(hypotheses), [one.tokens for one in hypotheses])
        for one, log in zip(hypotheses, logs, strict=True):
            assert len(one.tokens) <= len(text) + extra
            assert one.log_probability == pytest.approx(sum(log), abs=1e-3)


def test_an_output_as_long_as_its_limit_is_doubted(restless: Pair) -> None:
    """There the reference forces EOS on whatever else was open; a greedy search has nothing else."""
    for beam, doubted in ((3, [False, True, True]), (1, [False, False, False])):
        config = DecodeConfig(beam=beam, extra_length=2)
        outputs = [_Output(-1.0, -1.0, ["x"] * length) for length in (6, 7, 8)]
        assert [restless.fast._limited([outputs[0], one], 5, config) for one in outputs] == doubted


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_scores_that_are_not_numbers(tmp_path: Path, subwords: Subwords, value: float) -> None:
    pair = Pair(tmp_path / "ct2", subwords, steps=0)
    pair.torch.model.projection_VD.fill_(value)
    described = SavedModel(pair.config, DecodeConfig(), (None, None), "NFC", {"subwords.model": subwords.content})
    write_ctranslate2(pair.folder, described, as_arrays(pair.torch.model.state_dict()), "float32")
    for beam in (1, 3):
        with pytest.raises(Failed, match="not numbers"):
            pair.engine(None).search(sources(3), Request(DecodeConfig(beam=beam)))


def test_learned_positions_end(tmp_path: Path, subwords: Subwords) -> None:
    pair = Pair(tmp_path / "ct2", subwords, positions="learned", max_length=12, steps=0)
    texts = [list(range(4, 4 + length)) for length in range(1, 12)]
    for beam in (1, 3):
        request = Request(DecodeConfig(beam=beam))
        wanted = pair.torch.search(texts, request)
        assert max(len(some[0].tokens) for some in wanted) == 11
        same(pair.fast.search(texts, request), wanted, tokens=False)
        assert max(len(some[0].tokens) for some in pair.alone.search(texts, request)) <= 11


def test_none_one_and_empty(pair: Pair) -> None:
    request = Request(DecodeConfig(beam=2))
    assert pair.fast.search([], request) == []
    same(pair.fast.search([[7]], request), pair.torch.search([[7]], request), tokens=False)
    same(pair.fast.search([[], [7], []], request), pair.torch.search([[], [7], []], request), tokens=False)


def test_more_tokens_than_positions(pair: Pair) -> None:
    few = CTranslate2Engine(pair.folder, pair.pieces, pair.pieces, positions=8, reference=lambda: pair.torch)
    for beam in (1, 2):
        request = Request(DecodeConfig(beam=beam, extra_length=10))
        same(few.search(sources(), request), pair.torch.search(sources(), request), tokens=False)
    with pytest.raises(UserError, match="a text of 11 tokens"):
        CTranslate2Engine(pair.folder, pair.pieces, pair.pieces, positions=8).search([[5] * 11], request)


def test_order_and_progress(pair: Pair) -> None:
    config = DecodeConfig(beam=2, extra_length=8)
    told: list[int] = []
    texts = sources(60)  # what the model knows: elsewhere it wavers, and a batch decides
    found = pair.fast.search(texts, Request(config, batch_tokens=30), told.append)
    assert sum(told) == 60
    assert len(told) > 10
    same(found, pair.fast.search(texts, Request(config)), tokens=False)
    told.clear()
    pair.alone.search(texts, Request(config), told.append)
    assert sum(told) == 60


@pytest.mark.parametrize(
    "request_",
    [
        Request(DecodeConfig(), sampling=Sampling(seed=3)),
        Request(DecodeConfig(), banned=banning((7,))),
        Request(DecodeConfig(), required=((7, 8),)),
        Request(DecodeConfig(), no_repeat=2),
        Request(DecodeConfig(), prefix=(9, 10)),
    ],
)
def test_what_the_reference_does_alone(pair: Pair, request_: Request) -> None:
    texts = sources(5, 9)
    assert pair.fast.search(texts, request_) == pair.torch.search(texts, request_)
    with pytest.raises(UserError, match="need the model that was exported"):
        pair.alone.search(texts, request_)


def test_no_output_holds_what_means_nothing(tmp_path: Path, subwords: Subwords) -> None:
    pair = Pair(tmp_path / "ct2", subwords, tie_projection=False)
    with torch.no_grad():
        pair.torch.model.projection_VD[[PAD, UNK, BOS]] = 8.0 / 16
    described = SavedModel(pair.config, DecodeConfig(), (None, None), "NFC", {"subwords.model": subwords.content})
    write_ctranslate2(pair.folder, described, as_arrays(pair.torch.model.state_dict()), "float32")
    for some in pair.engine(None).search(sources(10), Request(DecodeConfig(beam=3), n_best=3)):
        for one in some:
            assert not {PAD, UNK, BOS, EOS} & set(one.tokens)


def test_what_is_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="CTranslate2 can't load it"):
        CTranslate2Engine(tmp_path, [], [], positions=9)
