"""The native engine finds what the reference finds, and the int8 twin; whatever is computed beside it."""

import copy
import itertools
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.engines.native.conftest import Pair
from tests.engines.native.twin import Twin
from tests.support.engines import SEARCHES, same, sources
from tests.support.models import banning

from regard.config.decode import DecodeConfig
from regard.config.special_tokens import UNK
from regard.engines.engine import Request
from regard.engines.native import library
from regard.engines.native.native_engine import NativeEngine
from regard.engines.torch_engine import TorchEngine
from regard.errors import Failed, UserError
from regard.search.hypothesis import Alternatives
from regard.search.sampling import Sampling
from regard.translate.alignment import cross_attention
from regard.translate.load import load
from regard.translate.translator import Options

PairOf = Callable[..., Pair]
CONFIGS: list[dict[str, Any]] = [
    {},
    {"norm": "pre", "activation": "gelu", "tie_projection": False},
    {"activation": "silu", "positions": "none", "score": "unscaled"},
    {"positions": "learned", "max_length": 128, "norm": "pre"},
    {"source_vocabulary": 30, "tie_projection": False, "encoder_layers": 2, "decoder_layers": 3},
    {"d_model": 24, "heads": 3, "share_embeddings": False},
    {"positions": "rotary", "d_k": 6, "d_v": 20},
]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_the_same_hypotheses_as_the_reference(pair_of: PairOf, config: dict[str, Any]) -> None:
    pair = pair_of(**config)
    engine = pair.native()
    for request in SEARCHES:
        wanted = pair.torch.search(sources(), request)
        same(engine.search(sources(), request), wanted, tokens=request.decode.beam > 1)
    assert max(len(some[0].tokens) for some in wanted) > 8


def test_greedy_search_has_scores_when_asked(pair_of: PairOf) -> None:
    pair = pair_of()
    request = Request(DecodeConfig(beam=1, extra_length=20), token_scores=True)
    same(pair.native().search(sources(), request), pair.torch.search(sources(), request))
    unscored = pair.native().search(sources(), Request(request.decode))[0][0]
    assert np.isnan(unscored.score)
    assert unscored.token_scores == ()


@pytest.mark.parametrize("beam", [1, 4])
def test_amx_finds_what_avx512_finds(pair_of: PairOf, beam: int) -> None:
    """Bit for bit, in a model whose matrices AMX multiplies, with rows that fill blocks and rows that are left."""
    if not library.library().regard_native_isa(b"amx-int8"):
        pytest.skip("this processor has no AMX")
    pair = pair_of(d_model=64, d_ff=128)
    request = Request(DecodeConfig(beam=beam, extra_length=20), n_best=min(2, beam), token_scores=True)
    amx, avx512 = (pair.native(int8=True, isa=isa) for isa in ("amx-int8", "avx512-vnni"))
    some = sources(count=150, longest=14)
    for few in (some[:1], some):
        assert amx.search(few, request) == avx512.search(few, request)


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("beam", [1, 4])
def test_neighbours_and_threads_change_nothing(pair_of: PairOf, int8: bool, beam: int) -> None:
    """Bit for bit: more sentences than rows, so that rows are refilled; alone, by one thread and by a team."""
    pair = pair_of()
    many = sources(count=150, longest=14)
    request = Request(DecodeConfig(beam=beam, extra_length=20), n_best=min(2, beam), token_scores=True)
    found = pair.native(int8=int8, threads=2).search(many, request)
    assert pair.native(int8=int8, threads=1).search(many, request) == found
    alone, team = (pair.native(int8=int8, threads=threads) for threads in (1, 3))
    for number in range(0, len(many), 30):
        assert alone.search([many[number]], request) == [found[number]]
        assert team.search([many[number]], request) == [found[number]]


@pytest.mark.parametrize("int8", [False, True])
def test_a_team_shares_a_vocabulary_of_several_chunks(pair_of: PairOf, int8: bool) -> None:
    """With EOS forced at the limit, a prefix of late tokens, and scores: bit for bit what one thread finds."""
    pair = pair_of(steps=3, end=-30.0, vocabulary=1300)
    alone, team = (pair.native(int8=int8, threads=threads) for threads in (1, 3))
    for beam in (1, 4):
        request = Request(DecodeConfig(beam=beam, extra_length=4), n_best=beam, token_scores=True, prefix=(1290, 700))
        for source in sources(6):
            found = alone.search([source], request)
            assert team.search([source], request) == found
            if not int8:
                same(found, pair.torch.search([source], request))


def test_of_equal_logits_the_lower_token_wins(pair_of: PairOf) -> None:
    """Tokens 20 to 39 are twins of 4 to 19 and so on: equal logits, in the same vector and in others."""
    pair = pair_of()
    embedding_VD = pair.weights["embedding_VD"].copy()
    embedding_VD[20:36], embedding_VD[36:] = embedding_VD[4:20], embedding_VD[4:8]
    for int8 in (False, True):
        for threads in (1, 2):
            engine = NativeEngine(
                pair.config, {**pair.weights, "embedding_VD": embedding_VD}, int8=int8, threads=threads
            )
            greedy = engine.search(sources(), Request(DecodeConfig(beam=1, extra_length=5)))
            assert {token for one in greedy for token in one[0].tokens} <= set(range(4, 20))
            wide = engine.search(sources(4), Request(DecodeConfig(beam=4, extra_length=5), n_best=4))
            assert all(max(one[0].tokens, default=4) < 20 for one in wide)


def test_logits_far_apart_have_exact_scores(pair_of: PairOf) -> None:
    """Hundreds between the least and the greatest: sums of exponentials must not overflow on the way."""
    pair = pair_of(tie_projection=False)
    weights = {**pair.weights, "untied_VD": pair.weights["untied_VD"] * 60}
    request = Request(DecodeConfig(beam=3, extra_length=5), n_best=3)
    steep = copy.deepcopy(pair.model).double()
    with torch.no_grad():
        steep.projection_VD.mul_(60)
    wanted = TorchEngine(steep).search(sources(), request)
    found = NativeEngine(pair.config, weights, int8=False).search(sources(), request)
    for one, other in zip(itertools.chain(*found), itertools.chain(*wanted), strict=True):
        assert one.tokens == other.tokens
        assert one.log_probability == pytest.approx(other.log_probability, rel=1e-4, abs=1e-3)
    assert min(one.log_probability for some in wanted for one in some) < -100


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_int8_is_that_of_the_twin(pair_of: PairOf, norm: str) -> None:
    pair = pair_of(norm=norm)
    twin = Twin(pair.config, pair.weights)
    found = pair.native(int8=True).search(sources(), Request(DecodeConfig(beam=1, extra_length=5)))
    expected = [tuple(twin.greedy(source, len(source) + 5)) for source in sources()]
    assert [one[0].tokens for one in found] == expected
    assert len(set(expected)) > 10


def test_a_prefix_is_kept(pair_of: PairOf) -> None:
    pair = pair_of()
    for beam in (1, 3):
        request = Request(DecodeConfig(beam=beam, extra_length=6), prefix=(9, 17), token_scores=True)
        found = pair.native().search(sources(), request)
        same(found, pair.torch.search(sources(), request))
        assert all(one[0].tokens[:2] == (9, 17) for one in found)


def test_each_source_has_its_own_prefix(pair_of: PairOf) -> None:
    """One of them empty, and one longer than the limit."""
    pair = pair_of()
    alone = NativeEngine(pair.config, pair.weights, int8=False)  # has no reference to ask
    prefixes = tuple(tuple(4 + (number + place) % 30 for place in range(number % 9)) for number in range(24))
    for beam in (1, 3):
        request = Request(DecodeConfig(beam=beam, extra_length=1), prefixes=prefixes, token_scores=True)
        found = alone.search(sources(), request)
        same(found, pair.torch.search(sources(), request))
        for one, prefix in zip(found, prefixes, strict=True):
            assert one[0].tokens[: len(prefix)] == prefix


REQUIRED: list[Alternatives] = [
    (((9,),),),
    (((9, 9),), ((9, 9, 9, 5),)),
    (((9, 10, 11), (9, 10, 12), (30,)), ((10, 11),)),
    (),
    (((5,), (5, 6)), ((6, 5, 6, 5, 7),), ((5,), (5, 6))),
    tuple(((token, token + 1, token + 2),) for token in range(4, 12)),  # 25 banks, of two hypotheses each
    (((7, 8), (8, 7), (39,)), ((38, 37, 36, 35, 34, 33, 32),)),
]


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("no_repeat", [0, 3])
def test_required_tokens(pair_of: PairOf, beam: int, no_repeat: int) -> None:
    """Of each source its own, with a prefix that begins one, and where a limit is below what is required."""
    pair = pair_of()
    alone = NativeEngine(pair.config, pair.weights, int8=False)
    terms = (*REQUIRED, *REQUIRED)
    for prefix, extra in (((), 3), ((6, 5, 9), 12)):
        request = Request(
            DecodeConfig(beam=beam, extra_length=extra), beam, terms=terms, prefix=prefix, no_repeat=no_repeat
        )
        found = alone.search(sources(14), request)
        same(found, pair.torch.search(sources(14), request))
        for hypotheses, own in zip(found, terms, strict=True):
            assert hypotheses or no_repeat
            for one, choice in itertools.product(hypotheses, own):
                windows = {one.tokens[at : at + size] for at in range(len(one.tokens)) for size in range(1, 8)}
                assert windows & set(choice)
    for_all = Request(DecodeConfig(beam=beam, extra_length=3), required=((9, 10), (5,)), no_repeat=no_repeat)
    same(alone.search(sources(9), for_all), pair.torch.search(sources(9), for_all))


@pytest.mark.parametrize("int8", [False, True])
def test_required_tokens_beside_others(pair_of: PairOf, int8: bool) -> None:
    """Bit for bit: alone, by a team with a vocabulary of several chunks, and with more sentences than rows."""
    pair = pair_of(steps=3, vocabulary=1300)
    many = sources(40)
    terms: tuple[Alternatives, ...] = tuple(
        (((1290 - number, 700), (1200,)), ((600 + number, 5, number + 4),)) if number % 3 else ()
        for number in range(40)
    )
    request = Request(DecodeConfig(beam=4, extra_length=6), 2, terms=terms)
    found = pair.native(int8=int8, threads=2).search(many, request)
    alone, team = (pair.native(int8=int8, threads=threads) for threads in (1, 3))
    assert alone.search(many, request) == found
    for number in range(0, 40, 7):
        own = Request(request.decode, 2, terms=terms[number : number + 1])
        assert team.search([many[number]], own) == alone.search([many[number]], own) == [found[number]]


def test_what_no_output_can_hold(pair_of: PairOf) -> None:
    """An unknown token, and a sequence that repeats what may not be repeated."""
    decode = DecodeConfig(beam=2, extra_length=4)
    alone = NativeEngine(pair_of().config, pair_of().weights, int8=False)
    assert alone.search([[5], [6]], Request(decode, terms=((((UNK,),),), (((7,),),))))[0] == []
    again = Request(decode, required=((7, 8, 9, 7, 8, 9),), no_repeat=3)
    with pytest.raises(UserError, match="no output can hold .*require less"):
        alone.search([[5]], again)


def test_the_limit_is_the_reference_s(pair_of: PairOf) -> None:
    """EOS is forced there; with learned positions the model's own limit counts."""
    for changes in ({}, {"positions": "learned", "max_length": 14}):
        pair = pair_of(steps=2, end=-30.0, **changes)
        for beam in (1, 4):
            request = Request(DecodeConfig(beam=beam, extra_length=9), n_best=beam, token_scores=True)
            found = pair.native().search(sources(), request)
            same(found, pair.torch.search(sources(), request))
    assert max(len(one.tokens) for some in found for one in some) == 13


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("no_repeat", [3, 4])
def test_blocked_repetition(pair_of: PairOf, beam: int, no_repeat: int) -> None:
    """A model that never ends repeats itself; the prefix may, too."""
    pair = pair_of(steps=2, end=-30.0)
    alone = NativeEngine(pair.config, pair.weights, int8=False)  # has no reference to ask
    for prefix in ((), (7, 8, 7, 8, 7)):
        request = Request(
            DecodeConfig(beam=beam, extra_length=30), n_best=beam, token_scores=True, no_repeat=no_repeat, prefix=prefix
        )
        found = alone.search(sources(), request)
        same(found, pair.torch.search(sources(), request))
        free = alone.search(sources(), Request(request.decode, n_best=beam, token_scores=True, prefix=prefix))
        assert [one.tokens for some in found for one in some] != [one.tokens for some in free for one in some]
    assert min(len(some[0].tokens) for some in found) > 30


def test_what_it_leaves_to_the_reference(pair_of: PairOf) -> None:
    pair = pair_of()
    decode = DecodeConfig(beam=2, extra_length=4)
    engine = pair.native()
    for request in (
        Request(decode, banned=banning((9,))),
        Request(decode, no_repeat=2),
        Request(decode, sampling=Sampling(seed=1)),
        Request(DecodeConfig(beam=70, extra_length=1)),
        Request(decode, required=(tuple(4 + number % 30 for number in range(64)),)),
    ):
        assert engine.search(sources(6), request) == pair.torch.search(sources(6), request)
    alone = NativeEngine(pair.config, pair.weights, int8=False)
    with pytest.raises(UserError, match="use --engine torch"):
        alone.search(sources(3), Request(decode, no_repeat=2))


def test_a_source_beyond_the_table_goes_to_the_reference(pair_of: PairOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """And an output that comes to its end, for it may have gone on."""
    monkeypatch.setattr("regard.engines.native.pack.TABLE", 16)
    pair = pair_of(steps=2, end=-30.0)
    request = Request(DecodeConfig(beam=2, extra_length=10))
    many = [*sources(8), list(range(4, 30))]
    same(pair.native().search(many, request), pair.torch.search(many, request))


def test_cross_attention_is_the_reference_s(pair_of: PairOf) -> None:
    """Of every layer, for more positions than there are rows, and for models of every kind."""
    generator = random.Random(0)
    long = [generator.randrange(4, 30) for _ in range(230)]
    for config in CONFIGS:
        pair = pair_of(**config)
        engine = pair.native()
        most = 120 if config.get("positions") == "learned" else 230
        for source, target in (([5, 6, 7], [9, 8]), ([4], []), (long[:50], long[:most])):
            for layer in (None, *range(pair.config.decoder_layers), -1):
                found_TS = engine.cross_attention(source, target, layer)
                expected_TS = cross_attention(pair.model, source, target, layer)
                torch.testing.assert_close(torch.from_numpy(found_TS), expected_TS, rtol=1e-3, atol=1e-5)
    with pytest.raises(IndexError):
        engine.cross_attention([4], [5], pair.config.decoder_layers)


ALIGNED = """
import sys
import regard
from regard.translate.translator import Options
found = regard.load("en-de", engine="native").window(["The old man is reading a book."], Options(alignment=True))[0]
assert "torch" not in sys.modules
print(found.pairs)
"""


def test_alignments_need_no_torch() -> None:
    """A document with formatting is aligned word by word, and torch alone would take 400 MB."""
    done = subprocess.run([sys.executable, "-c", ALIGNED], capture_output=True, text=True, check=True)
    text = "The old man is reading a book."
    wanted = load("en-de", engine="torch").window([text], Options(alignment=True))[0].pairs
    assert wanted is not None and len(wanted) > 4
    assert done.stdout.strip() == str(wanted)


def test_progress_is_told_and_may_interrupt(pair_of: PairOf) -> None:
    told: list[int] = []
    engine = pair_of().native()
    engine.search(sources(40), SEARCHES[1], told.append)
    assert sum(told) == 40

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.search(sources(3000), SEARCHES[1], interrupt)
    assert len(engine.search(sources(5), SEARCHES[0])) == 5, "it goes on afterwards"


def test_weights_that_are_not_numbers_are_told(pair_of: PairOf) -> None:
    pair = pair_of()
    damaged = {**pair.weights, "encoder.0.attention.query.bias": np.full(32, np.nan, np.float32)}
    for request in SEARCHES[:2]:
        with pytest.raises(Failed, match="not numbers"):
            NativeEngine(pair.config, damaged, int8=False).search(sources(3), request)


def test_no_sources_and_an_empty_one(pair_of: PairOf) -> None:
    pair = pair_of()
    assert pair.native().search([], SEARCHES[0]) == []
    same(pair.native().search([[], [5]], SEARCHES[1]), pair.torch.search([[], [5]], SEARCHES[1]))


def test_an_unknown_instruction_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(library.ISA_VARIABLE, "sse9")
    with pytest.raises(UserError, match="REGARD_NATIVE_ISA is 'sse9', but must be one of auto, amx-int8"):
        library.isa()
