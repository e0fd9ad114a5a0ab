"""Load shedding: what an overloaded server answers before it parses HTTP, and when it is overloaded."""

import json
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from tests.serve.running import Running, running
from tests.support.waiting import until

from regard.serve import run
from regard.serve.batching.batcher import PLANNED_SHARE, Batcher
from regard.serve.batching.cancellation import CancellationToken
from regard.serve.limits.connections import LimitedProtocol
from regard.serve.limits.shedding import Shedding
from regard.serve.metrics import Metrics
from regard.serve.refused import Refused
from regard.serve.run import Server
from regard.serve.settings import Settings
from regard.serve.state import CHARACTERS_A_TOKEN

BODY = json.dumps({"q": "The man. 사과를 봅니다!", "source": "en", "target": "de"}).encode()


def head(path: str = "/translate", *lines: str, length: int | None = len(BODY)) -> bytes:
    sized = [] if length is None else [f"Content-Length: {length}"]
    fields = ["Host: localhost", "Content-Type: application/json", *sized, *lines]
    return "\r\n".join([f"POST {path} HTTP/1.1", *fields, "", ""]).encode()


@pytest.fixture(scope="module")
def overloaded(folders: dict[str, str]) -> Iterator[Running]:
    with running(folders["en-de"], cache_bytes=0, answer_seconds=2.0) as served:
        served.state.batcher.throughput.add(100, 1.0)
        served.state.batcher.pending = 1000
        yield served


def answered(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """One answer from a connection."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    top, _, body = received.partition(b"\r\n\r\n")
    first, *lines = top.decode().split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(fields["content-length"]):
        body += connection.recv(65536)
    return int(first.split()[1]), fields, body


def test_requests_are_rejected_before_they_reach_the_application(overloaded: Running) -> None:
    with socket.create_connection(("127.0.0.1", overloaded.port), timeout=20) as connection:
        connection.sendall(head() + BODY)
        status, fields, body = answered(connection)
        assert (status, json.loads(body)) == (503, {"error": "The server is busy; try again later"})
        assert fields["retry-after"] == "10", "1,000 tokens at 100 a second"
        assert fields["x-content-type-options"] == "nosniff"
        assert fields["date"]
        connection.sendall(head("/v2/translate"))  # many clients send the body in a packet of its own
        assert json.loads(answered(connection)[2]) == {"message": "The server is busy; try again later"}
        connection.sendall(BODY[:10])
        connection.sendall(BODY[10:])
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answered(connection)[0] == 200, "on the same connection, after what was left of the body"
        overloaded.state.batcher.pending = 0
        connection.sendall(head() + BODY)
        status, _, body = answered(connection)
        assert status == 200
        assert json.loads(body)["translatedText"]
        overloaded.state.batcher.pending = 1000
    assert overloaded.figure('regard_requests_total{route="/translate",status="503"}') == 1
    assert overloaded.figure('regard_request_seconds_count{route="/translate"}') == 1, "that which was translated"


@pytest.mark.parametrize(
    "data",
    [
        head(length=None) + b"",
        head("/translate", "Transfer-Encoding: chunked", length=None),
        head("/translate", "Transfer-Encoding: chunked"),
        head("/translate", "content-length: 7"),
        head("/translate", "Content-Length : 7"),
        head("/translate", "Expect: 100-continue"),
        head("/translate", "Connection: close"),
        head("/translate", "Connection: Upgrade"),
        head(length=1 << 20),
        head(length=-1),
        head() + BODY + b"GET / HTTP/1.1\r\n",
        head("/translate_file"),
        head("/languages"),
        head().replace(b"POST", b"GET"),
        head()[:-2],
        b"",
    ],
)
def test_what_is_not_plainly_a_text_to_translate_goes_the_usual_way(overloaded: Running, data: bytes) -> None:
    shedding = Shedding(overloaded.state, {})
    assert shedding.answer(data, ()) is None
    assert shedding.answer(head("/translate", "Connection: keep-alive") + BODY[:5], ()) is not None


def test_requests_in_flight_are_a_reason_too(overloaded: Running) -> None:
    shedding, state = Shedding(overloaded.state, {}), overloaded.state
    state.batcher.pending = 0
    assert shedding.answer(head(), ()) is None
    state.at_work = state.settings.requests
    assert shedding.answer(head(), ()) is not None
    state.draining = True
    assert shedding.answer(head(), ()) is None, "another sentence is said then"
    state.at_work, state.draining, state.batcher.pending = 0, False, 1000


def test_a_text_is_counted_from_when_it_is_accepted() -> None:
    """Two texts of 30 tokens at 100 a second don't fit into 0.5 seconds, though no thread has taken up the first."""
    batcher = Batcher(1, Settings(answer_seconds=0.5), Metrics())
    batcher.throughput.add(100, 1.0)
    first = CancellationToken()
    batcher.reserve(30, first)
    with pytest.raises(Refused):
        batcher.reserve(30, CancellationToken())
    batcher.unreserve(first)
    batcher.unreserve(first)
    assert batcher.pending == 0
    batcher.reserve(30, CancellationToken())
    batcher.close()


def test_requests_that_arrive_at_once_are_counted_before_they_are_handled(overloaded: Running) -> None:
    """Else a burst would be let through as a whole, and all of it wait for the event loop."""
    shedding, batcher = Shedding(overloaded.state, {}), overloaded.state.batcher
    batcher.pending = 0
    costs = [shedding.enter(head(length=100)) for _ in range(20)]
    assert costs == [20] * 20
    assert shedding.answer(head(), ()) is not None, "400 tokens at 100 a second"
    assert not batcher.full(1), "they do not reject each other"
    for cost in costs:
        shedding.leave(cost)
    assert shedding.answer(head(), ()) is None
    assert shedding.enter(b"GET / HTTP/1.1\r\n\r\n") == 0
    batcher.pending = 1000


def test_a_burst_of_requests_is_shed(folders: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """200 requests that one turn of the event loop reads: only as many reach the application as can be answered in
    time, each counted at a token for five bytes."""
    number, rate = 200, 200
    monkeypatch.setattr(Server, "_measure_delay", lambda _: None)  # a busy machine would have fewer handled
    limits: dict[str, Any] = {"answer_seconds": 2.0, "connections": 400, "address_connections": 400}
    with running(folders["en-de"], cache_bytes=0, **limits) as served:
        batcher = served.state.batcher
        batcher.throughput.add(rate, 1.0)
        connections = [socket.create_connection(("127.0.0.1", served.port), timeout=60) for _ in range(number)]
        until(lambda: len(served.server.server_state.connections) == number)
        with held(served):
            for connection in connections:
                connection.sendall(head() + BODY)
            until(lambda: len(readable(served)) == number)
        statuses = [answered(connection)[0] for connection in connections]
        for connection in connections:
            connection.close()
        cost, most = len(BODY) // CHARACTERS_A_TOKEN, PLANNED_SHARE * served.state.settings.answer_seconds * rate
        wanted = sum(before == 0 or before * cost + 1 <= most for before in range(number))
        assert 10 < wanted < 30, "so that the test says something"
        assert served.figure('regard_request_seconds_count{route="/translate"}') == wanted
        assert set(statuses) == {200, 503}
        assert statuses.count(200) <= wanted
        until(lambda: batcher.entering == 0 and batcher.pending == 0)


@contextmanager
def held(served: Running) -> Iterator[None]:
    """Hold up the event loop of a server."""
    begun, go_on = Event(), Event()

    def wait() -> None:
        begun.set()
        go_on.wait(60)

    served.server.servers[0].get_loop().call_soon_threadsafe(wait)
    assert begun.wait(60)
    try:
        yield
    finally:
        go_on.set()


def readable(served: Running) -> list[tuple[int, int]]:
    """The connections of a server that have something to read."""
    poll = select.poll()
    for connection in served.server.server_state.connections:
        assert isinstance(connection, LimitedProtocol)
        poll.register(connection.transport.get_extra_info("socket"), select.POLLIN)
    return poll.poll(0)


def test_a_reservation_ends_with_its_request(folders: dict[str, str]) -> None:
    with running(folders["en-de"]) as served:
        for _ in range(2):  # the second is in the cache and never queued
            assert served.post("/translate", {"q": "The old man.", "source": "en", "target": "de"}).status == 200
        until(lambda: served.state.batcher.pending == 0)


def test_a_late_event_loop_counts_as_waiting_time(folders: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    with running(folders["en-de"], answer_seconds=2.0) as served:
        until(lambda: served.server.ticked is not None)
    now = 100.0
    batcher, clock = served.state.batcher, SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(run, "time", clock)
    batcher.throughput.add(1000, 1.0)
    batcher.pending, batcher.loop_delay = 10, 0.0
    served.server.ticked, now = 100.0, 100.0 + run.TICK_SECONDS
    served.server._measure_delay()
    assert batcher.loop_delay == pytest.approx(0.0)
    assert not batcher.full(1)
    now += run.TICK_SECONDS + 0.8
    served.server._measure_delay()
    assert batcher.loop_delay == pytest.approx(0.8)
    assert batcher.full(1), "two turns of 0.8 seconds, of the 1.5 that are planned with"
    for delay in (0.4, 0.2, 0.1):
        now += run.TICK_SECONDS
        served.server._measure_delay()
        assert batcher.loop_delay == pytest.approx(delay), "it recovers over a few ticks"
    assert not batcher.full(1)
