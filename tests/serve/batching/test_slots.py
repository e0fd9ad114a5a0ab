"""Requests enter an engine that takes up sentences while it searches."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from tests.engines.native.conftest import Pair, pair_of  # noqa: F401
from tests.engines.test_ctranslate2_engine import sources
from tests.serve.echo import REQUEST, Echo
from tests.serve.running import Gated
from tests.support.waiting import until

from regard.config.decode import DecodeConfig
from regard.engines.engine import Request
from regard.engines.native.choice import why_unavailable
from regard.serve.batching.batcher import Batcher
from regard.serve.batching.cancellation import CancellationToken
from regard.serve.batching.slots import Slots
from regard.serve.metrics import Metrics
from regard.serve.refused import Refused
from regard.serve.settings import Settings

BEAM = Request(DecodeConfig(beam=4, extra_length=20), token_scores=True)
native = pytest.mark.skipif(why_unavailable() is not None, reason="there is no native engine here")


class Continuous(Gated):
    """An engine with four slots, which holds everybody up until its gate is opened."""

    def slots(self, request: Request) -> int:
        return 4 if request is REQUEST else 0


def new_batcher() -> Batcher:
    return Batcher(1, Settings(queue_tokens=1000, batch_tokens=100, join_seconds=0.0), Metrics())


@contextmanager
def clients(engine: Continuous) -> Iterator[ThreadPoolExecutor]:
    """Threads that ask; the gate is open at the end, so that a test that fails does not wait for them."""
    with ThreadPoolExecutor(4) as threads:
        try:
            yield threads
        finally:
            engine.gate.set()


def test_requests_enter_while_others_are_searched_and_wait_for_slots() -> None:
    """Four slots: two texts of two sentences each have them, a third text waits for the first that are free."""
    batcher, engine = new_batcher(), Continuous(Echo())
    with clients(engine) as threads:
        answers = [
            threads.submit(batcher.search, engine, [[number], [number, 9]], REQUEST, CancellationToken())
            for number in (5, 6, 7)
        ]
        until(lambda: engine.entered == 2)
        until(lambda: batcher.tokens == 5)  # the sentences that wait
        time.sleep(0.1)  # so that who would not wait had entered
        assert engine.entered == 2, "there is no slot left"
        engine.gate.set()
        found = [[one[0].tokens for one in answer.result()] for answer in answers]
        assert found == [[(number,), (number, 9)] for number in (5, 6, 7)]
    assert (batcher.tokens, batcher.searching, batcher.pending) == (0, 0, 0)
    batcher.close()


def test_what_it_searches_in_batches_goes_to_the_workers() -> None:
    batcher, engine = new_batcher(), Continuous(Echo())
    other = Request(DecodeConfig(), n_best=2)
    with clients(engine) as threads:
        answers = [threads.submit(batcher.search, engine, [[5]], other, CancellationToken())]
        until(lambda: engine.entered == 1)
        answers += [threads.submit(batcher.search, engine, [[5]], other, CancellationToken()) for _ in range(2)]
        until(lambda: batcher.tokens == 4)
        engine.gate.set()
        assert all(answer.result()[0][0].tokens == (5,) for answer in answers)
    assert engine.entered == 2, "the other two are one batch"
    batcher.close()


def test_who_waits_for_a_slot_and_goes_is_dropped() -> None:
    batcher, engine, gone = new_batcher(), Continuous(Echo()), CancellationToken()
    with clients(engine) as threads:
        first = [threads.submit(batcher.search, engine, [[5], [6]], REQUEST, CancellationToken()) for _ in range(2)]
        until(lambda: engine.entered == 2)
        waiting = threads.submit(batcher.search, engine, [[7]], REQUEST, gone)
        until(lambda: batcher.tokens == 2)
        gone.cancelled = True
        assert isinstance(waiting.exception(timeout=60), Refused)
        assert batcher.tokens == 0
        engine.gate.set()
        assert all(len(answer.result()) == 2 for answer in first)
    batcher.close()


def test_closing_ends_who_waits_and_who_is_inside() -> None:
    batcher, engine = new_batcher(), Continuous(Echo())
    with clients(engine) as threads:
        answers = [threads.submit(batcher.search, engine, [[5], [6]], REQUEST, CancellationToken()) for _ in range(3)]
        until(lambda: engine.entered == 2)
        batcher.close()
        engine.gate.set()
        assert all(isinstance(answer.exception(timeout=60), Refused) for answer in answers)
    assert batcher.tokens == 0


def test_shares_of_slots() -> None:
    slots, engine = Slots(), object()
    assert slots.take(engine, 8, 100, lambda: True, background=False) == 4, "no more than half for one"
    assert slots.take(engine, 8, 100, lambda: True, background=True) == 2, "a quarter for a document"
    assert slots.take(engine, 8, 1, lambda: True, background=False) == 1
    assert slots.take(engine, 8, 100, lambda: True, background=False) == 1, "the last"
    assert slots.take(engine, 8, 100, lambda: False, background=False) == 0
    assert slots.take(object(), 8, 3, lambda: True, background=False) == 3, "another engine has its own"
    slots.give(engine, 4)
    assert slots.take(engine, 8, 100, lambda: True, background=False) == 4


@native
def test_many_clients_find_what_one_finds(pair_of: Callable[..., Pair]) -> None:  # noqa: F811
    """More sentences than slots from more threads than cores, bit for bit what the engine finds alone."""
    engine, batcher, many = pair_of(steps=2).native(int8=True), new_batcher(), sources(120, 14)
    wanted = engine.search(many, BEAM)
    with ThreadPoolExecutor(16) as threads:
        parts = [many[start : start + 5] for start in range(0, len(many), 5)]
        found = list(threads.map(lambda part: batcher.search(engine, part, BEAM, CancellationToken()), parts))
    assert [one for part in found for one in part] == wanted
    batcher.close()


@native
def test_a_search_that_runs_is_cancelled(pair_of: Callable[..., Pair]) -> None:  # noqa: F811
    """Of many sentences, and of a single long one, that never end by themselves."""
    engine, batcher = pair_of(steps=2, end=-30.0).native(), new_batcher()
    endless = Request(DecodeConfig(beam=4, extra_length=10_000))
    for texts in (sources(40), sources(2)[1:]):
        token = CancellationToken()
        with ThreadPoolExecutor(1) as threads:
            answer = threads.submit(batcher.search, engine, texts, endless, token)
            until(lambda: batcher.searching == 1)
            token.cancelled = True
            assert isinstance(answer.exception(timeout=60), Refused)
    assert engine.search(sources(3), BEAM) == engine.search(sources(3), BEAM)
    batcher.close()
