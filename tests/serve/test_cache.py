from tests.serve.echo import REQUEST, Echo

from regard.config.decode import DecodeConfig
from regard.engines.engine import Request
from regard.serve.cache import CachingEngine, HypothesisCache
from regard.serve.metrics import Metrics


def test_only_what_is_new_is_searched() -> None:
    engine, cache = Echo(), HypothesisCache(1 << 20)
    remembering = CachingEngine(engine, cache, 1, Metrics())
    assert [one[0].tokens for one in remembering.search([[5], [6], [5]], REQUEST)] == [(5,), (6,), (5,)]
    assert [one[0].tokens for one in remembering.search([[7], [6]], REQUEST)] == [(7,), (6,)]
    assert engine.read == [[5], [6], [7]]
    remembering.search([[5]], Request(DecodeConfig(), n_best=2))
    CachingEngine(engine, cache, 2, Metrics()).search([[5]], REQUEST)
    assert engine.read == [[5], [6], [7], [5], [5]]


def test_memory_is_bounded() -> None:
    engine, cache = Echo(), HypothesisCache(10_000)
    remembering = CachingEngine(engine, cache, 1, Metrics())
    for token in range(100):
        remembering.search([[token], [0]], REQUEST)
        assert cache.bytes <= 10_000
    assert engine.read.count([0]) == 1
    remembering.search([[1], [99]], REQUEST)
    assert (engine.read.count([1]), engine.read.count([99])) == (2, 1)
    remembering.search([list(range(1000))], REQUEST)
    assert cache.bytes <= 10_000
    nothing = HypothesisCache(0)
    CachingEngine(engine, nothing, 1, Metrics()).search([[1]], REQUEST)
    assert nothing.bytes == 0
