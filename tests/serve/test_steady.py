"""Many clients at once: they are searched together, nobody waits for what can't come, and nothing is done for those who
have gone."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.serve.running import Answer, Gated, Running, gated, running
from tests.support.models import sentences
from tests.support.waiting import until

from regard.translate.load import load

pytestmark = pytest.mark.usefixtures("model_alone")

LINES = sentences()


def translate(served: Running, text: str | list[str]) -> Answer:
    return served.post("/translate", {"q": text, "source": "en", "target": "de"})


def closed(port: int) -> bool:
    """Whether nobody listens there."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(64) as pool:
        yield pool


def test_clients_are_searched_together(folders: dict[str, str], threads: ThreadPoolExecutor) -> None:
    """While the first batches are held up, the others gather; the text of each is what it would be alone."""
    model = folders["en-de"]
    wanted = load(model).translate(LINES[:40])
    with running(model) as served, gated(served, model) as gate:
        answers = [threads.submit(translate, served, text) for text in LINES[:40]]
        until(lambda: served.state.at_work == 40)
        gate.gate.set()
        assert [answer.result().json["translatedText"] for answer in answers] == wanted
        assert served.figure("regard_batch_requests_sum") == 40
        assert served.figure("regard_batch_requests_count") <= 10
        assert served.figure("regard_batch_sentences_sum") >= 40


def test_nobody_waits_for_company_while_nothing_is_searched(folders: dict[str, str]) -> None:
    model = folders["en-de"]
    with running(model, join_seconds=1e6) as served:
        assert translate(served, LINES[0]).status == 200
        assert translate(served, LINES[:3]).status == 200


def test_recent_sentences_are_remembered(folders: dict[str, str]) -> None:
    model = folders["en-de"]
    with running(model) as served, gated(served, model) as gate:
        gate.gate.set()
        first = translate(served, LINES[0]).json
        count = len(gate.searched)
        assert translate(served, LINES[0]).json == first
        assert translate(served, [LINES[0], LINES[1]]).json["translatedText"][0] == first["translatedText"]
        assert len(gate.searched) == count + len({LINES[1]})
        assert served.figure('regard_cached_sentences_total{found="yes"}') == 2


def test_a_full_queue_refuses_at_once(folders: dict[str, str], threads: ThreadPoolExecutor) -> None:
    model = folders["en-de"]
    with running(model, queue_tokens=60, batch_tokens=20) as served, gated(served, model) as gate:
        answers = [threads.submit(translate, served, text) for text in LINES[:30]]
        until(lambda: sum(answer.done() for answer in answers) > 15)
        refused = [answer.result() for answer in answers if answer.done()]
        assert {answer.status for answer in refused} == {503}
        assert refused[0].json == {"error": "The server is busy; try again later"}
        assert refused[0].headers["retry-after"] == "1"
        assert 0 < served.figure("regard_queue_tokens") <= 60
        assert served.get("/health").status == 200
        gate.gate.set()
        assert {answer.result().status for answer in answers} == {200, 503}
        assert served.figure("regard_queue_tokens") == 0
        assert translate(served, LINES[0]).status == 200


def test_more_requests_than_threads(folders: dict[str, str], threads: ThreadPoolExecutor) -> None:
    model = folders["en-de"]
    with running(model, requests=4) as served, gated(served, model) as gate:
        answers = [threads.submit(translate, served, text) for text in LINES[:10]]
        until(lambda: sum(answer.done() for answer in answers) == 6)
        assert {answer.result().status for answer in answers if answer.done()} == {503}
        gate.gate.set()
        assert sorted(answer.result().status for answer in answers) == [200] * 4 + [503] * 6


def test_a_long_text_does_not_keep_a_short_one_waiting(folders: dict[str, str], threads: ThreadPoolExecutor) -> None:
    model = folders["en-de"]
    with running(model, batch_tokens=40, cache_bytes=0) as served, gated(served, model) as gate:
        long = threads.submit(translate, served, [" ".join(LINES[at : at + 20]) for at in range(0, 200, 20)])
        until(lambda: gate.entered > 0)
        short = threads.submit(translate, served, "im Schnee.")
        until(lambda: served.state.at_work == 2)
        gate.gate.set()
        assert short.result().status == 200
        assert long.result().status == 200
        ids = load(model).source_subwords.encode(["im Schnee."])[0]
        assert gate.searched.index(ids) < len(gate.searched) / 2


def test_a_deadline(folders: dict[str, str], threads: ThreadPoolExecutor) -> None:
    model = folders["en-de"]
    with running(model, deadline=0.5) as served, gated(served, model) as gate:
        answers = [threads.submit(translate, served, text) for text in LINES[:5]]
        assert {answer.result().status for answer in answers} == {503}
        assert answers[0].result().json["error"].startswith("The translation took too long")
        gate.gate.set()
        until(lambda: served.state.at_work == 0)
        assert served.figure('regard_refused_total{reason="deadline"}') == 5


def test_work_of_a_client_that_has_gone_is_dropped(folders: dict[str, str], threads: ThreadPoolExecutor) -> None:
    model = folders["en-de"]
    with running(model, batch_tokens=20) as served, gated(served, model) as gate:
        workers = len(served.state.batcher.threads)
        first = []
        for number in range(workers):  # until all are held up
            first.append(threads.submit(translate, served, LINES[100 + number]))
            until(lambda: gate.entered == len(first))
        connection = http.client.HTTPConnection("127.0.0.1", served.port)
        body = json.dumps({"q": LINES[7], "source": "en", "target": "de"})
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        until(lambda: served.state.batcher.tokens > 0)
        connection.close()
        until(lambda: served.state.batcher.tokens == 0)
        until(lambda: served.state.at_work == workers)
        gate.gate.set()
        assert {answer.result().status for answer in first} == {200}
        assert load(model).source_subwords.encode([LINES[7]])[0] not in gate.searched
        assert served.figure("regard_dropped_sentences_total") >= 1
        assert served.figure('regard_refused_total{reason="gone"}') == 1


def test_alignments_take_turns_and_are_dropped(folders: dict[str, str]) -> None:
    """Where tags belong is found for one sentence at a time, and for no client that has gone."""
    model = folders["en-de"]
    with running(model) as served:
        translator = served.state.models.loaded(model).translator
        attention, gate = translator.attention, threading.Event()
        under_way: list[int] = []

        def gated(*given: Any) -> Any:
            under_way.append(1)
            assert gate.wait(60)
            return attention(*given)

        translator.attention = gated
        pages = [" ".join(f"<p>{line} <b>{line}</b></p>" for line in LINES[at : at + 5]) for at in range(0, 40, 5)]
        asked = {"source": "en", "target": "de", "format": "html"}
        clients = [http.client.HTTPConnection("127.0.0.1", served.port) for _ in pages]
        for client, page in zip(clients, pages, strict=True):
            client.request("POST", "/translate", json.dumps({"q": page, **asked}), {"Content-Type": "application/json"})
        until(lambda: bool(under_way) and served.state.at_work == len(pages))
        for client in clients:
            client.close()
        until(lambda: served.figure('regard_refused_total{reason="gone"}') == len(pages))
        gate.set()
        until(lambda: served.state.at_work == 0)
        assert len(under_way) == 1
        assert served.post("/translate", {"q": pages[0], **asked}).json["translatedText"].count("<b>") == 5


def test_an_engine_that_fails(folders: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Gated):
        def search(self, *_: object) -> list[list[object]]:  # type: ignore[override]
            raise RuntimeError("out of luck")

    model = folders["en-de"]
    with running(model) as served:
        translator = served.state.models.loaded(model).translator
        engine, translator.engine = translator.engine, Broken(translator.engine)  # type: ignore[assignment]
        answer = translate(served, "A teacher.")
        assert (answer.status, answer.json) == (500, {"error": "Cannot translate text: the server failed"})
        until(lambda: "out of luck" in caplog.text)
        translator.engine = engine
        assert translate(served, "A teacher.").status == 200


def test_draining(folders: dict[str, str], threads: ThreadPoolExecutor) -> None:
    """Asked to stop, the server is not ready, takes no more work, does what it has, and then no longer listens."""
    model = folders["en-de"]
    with running(model) as served, gated(served, model) as gate:
        answer = threads.submit(translate, served, LINES[0])
        until(lambda: gate.entered > 0)
        served.server.handle_exit(15, None)
        assert served.get("/ready").status == 503
        assert translate(served, LINES[1]).status == 503
        assert served.get("/health").status == 200
        gate.gate.set()
        assert answer.result().status == 200
        until(lambda: closed(served.port))


def test_draining_has_an_end(folders: dict[str, str], threads: ThreadPoolExecutor) -> None:
    model = folders["en-de"]
    with running(model, drain_seconds=0.3) as served, gated(served, model) as gate:
        answer = threads.submit(translate, served, LINES[0])
        until(lambda: gate.entered > 0)
        served.server.handle_exit(15, None)
        assert answer.result().status == 503
        until(lambda: closed(served.port))
