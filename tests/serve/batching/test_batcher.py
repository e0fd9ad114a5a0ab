"""The queue alone; tests/serve/test_steady.py has it within a server."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from tests.serve.echo import REQUEST, Echo
from tests.serve.running import Gated
from tests.support.waiting import until

from regard.serve.batching import batcher as module
from regard.serve.batching.batcher import Batcher
from regard.serve.batching.cancellation import CancellationToken
from regard.serve.metrics import Metrics
from regard.serve.refused import Refused
from regard.serve.settings import Settings


@pytest.fixture
def batcher() -> Iterator[Batcher]:
    found = Batcher(1, Settings(queue_tokens=10, batch_tokens=10, join_seconds=0.0), Metrics())
    yield found
    found.close()


def test_what_is_begun_is_not_refused(batcher: Batcher) -> None:
    """A request that searches twice, as from one language to another and on to a third, waits the second time."""
    engine, mine = Gated(Echo()), CancellationToken()
    engine.gate.set()
    assert batcher.search(engine, [[5]], REQUEST, mine)[0][0].tokens == (5,)
    engine.gate.clear()
    with ThreadPoolExecutor(3) as threads:
        threads.submit(batcher.search, engine, [[6]], REQUEST, CancellationToken())
        until(lambda: engine.entered == 2)
        threads.submit(batcher.search, engine, [[7] * 8], REQUEST, CancellationToken())
        until(lambda: batcher.tokens == 9)
        with pytest.raises(Refused, match="busy"):
            batcher.search(engine, [[8]], REQUEST, CancellationToken())
        again = threads.submit(batcher.search, engine, [[9]], REQUEST, mine)
        until(again.running)
        engine.gate.set()
        assert again.result()[0][0].tokens == (9,)


def test_all_who_search_have_a_short_while_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many they are: a server that is asked to stop has 30 seconds."""
    engine = Gated(Echo())
    busy = Batcher(8, Settings(queue_tokens=100, batch_tokens=1, join_seconds=0.0), Metrics())
    waits: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(waits))
    monkeypatch.setattr(module, "time", clock)
    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(busy.search, engine, [[5]], REQUEST, CancellationToken()) for _ in range(8)]
        until(lambda: engine.entered == 8)
        for thread in busy.threads:
            monkeypatch.setattr(thread, "join", waits.append)
        busy.close()
        assert all(isinstance(answer.exception(), Refused) for answer in answers)
        engine.gate.set()
    assert waits == [module.LAST_SECONDS] + [0.0] * 7
