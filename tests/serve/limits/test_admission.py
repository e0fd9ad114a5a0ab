"""Admission control: by bytes and documents under way, and by the time that an answer would take."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from tests.serve.echo import REQUEST, Echo
from tests.serve.running import MULTIPART, Answer, Gated, Running, gated, multipart, raw, running, status
from tests.support.models import sentences
from tests.support.waiting import until

from regard.documents.segment import Translated, checkpoints
from regard.documents.translate import open_document
from regard.search.hypothesis import Hypothesis
from regard.serve.batching import batcher as module
from regard.serve.batching.batcher import OVERDUE, PLANNED_SHARE, SMALLEST_BATCH, Batcher
from regard.serve.batching.cancellation import CancellationToken
from regard.serve.batching.throughput import Throughput
from regard.serve.limits.admission import Admission
from regard.serve.metrics import Metrics
from regard.serve.refused import Refused
from regard.serve.settings import Settings

LINES = sentences()
LIMITS = Settings(inflight_bytes=100, address_inflight_bytes=60, documents=3, address_documents=2)


def test_bytes_under_way_are_bounded_by_address_and_in_all() -> None:
    admission = Admission(LIMITS)
    first = admission.enter("a", 40, document=False)
    with pytest.raises(Refused, match="60 bytes") as refused:
        admission.enter("a", 30, document=False)
    assert (refused.value.status, refused.value.retry_after) == (429, 1)
    admission.enter("b", 50, document=False)
    with pytest.raises(Refused, match="busy") as refused:
        admission.enter("c", 20, document=False)
    assert (refused.value.status, refused.value.retry_after) == (503, 1)
    admission.enter("c", 0, document=False)  # nothing more to hold
    first.release()
    admission.enter("a", 40, document=False)


def test_a_body_over_the_limit_of_its_address_is_taken_alone() -> None:
    admission = Admission(LIMITS)
    admission.enter("a", 90, document=False).release()
    assert not admission.bytes
    assert not admission.documents


def test_documents_under_way_are_bounded_by_address_and_in_all() -> None:
    admission = Admission(LIMITS)
    leases = [admission.enter("a", 1, document=True) for _ in range(2)]
    with pytest.raises(Refused, match="2 documents at once") as refused:
        admission.enter("a", 1, document=True)
    assert refused.value.status == 429
    admission.enter("a", 1, document=False)
    admission.enter("b", 1, document=True)
    with pytest.raises(Refused, match="busy") as refused:
        admission.enter("c", 1, document=True)
    assert refused.value.status == 503
    leases[0].hold()
    leases[0].release()
    with pytest.raises(Refused, match="documents"):
        admission.enter("a", 1, document=True)
    leases[0].release()
    admission.enter("a", 1, document=True)


def test_throughput_is_that_of_the_last_seconds() -> None:
    rate = Throughput()
    assert rate.seconds(100) == 0.0
    assert rate.tokens(2.0) == float("inf")
    rate.add(100, 0.5)
    assert rate.seconds(100) == pytest.approx(0.5)
    assert rate.tokens(2.0) == pytest.approx(400)
    for _ in range(40):
        rate.add(100, 1.0)
    assert rate.seconds(100) == pytest.approx(1.0, rel=1e-3)


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the queue."""
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


def test_the_rate_is_that_of_the_searches(clock: Clock) -> None:
    class Slow(Echo):
        def search(self, *given: Any) -> list[list[Hypothesis]]:
            clock.now += 0.02
            return super().search(*given)

    batcher = Batcher(1, Settings(join_seconds=0.0), Metrics())
    for number in range(5):
        batcher.search(Slow(), [[number]], REQUEST, CancellationToken())
        clock.now += 50.0  # nothing is searched meanwhile
    batcher.close()  # which waits for the end of the last
    assert batcher.throughput.seconds(100) == pytest.approx(1.0), "two tokens in 0.02 seconds"


def test_no_more_is_accepted_than_can_be_answered_in_time() -> None:
    """100 tokens a second and 0.5 seconds, of which some are a margin: so many sources of two tokens each."""
    batcher = Batcher(1, Settings(answer_seconds=0.5, join_seconds=0.0), Metrics())
    batcher.throughput.add(100, 1.0)
    wanted = int(PLANNED_SHARE * 0.5 * 100) // 2
    engine = Gated(Echo())
    with ThreadPoolExecutor(100) as threads:
        answers = [
            threads.submit(batcher.search, engine, [[number]], REQUEST, CancellationToken()) for number in range(100)
        ]
        until(lambda: sum(answer.done() for answer in answers) == 100 - wanted)
        assert batcher.pending == 2 * wanted
        engine.gate.set()
        refused = [error for answer in answers if (error := answer.exception()) is not None]
    assert len(refused) == 100 - wanted
    assert all(isinstance(error, Refused) and (error.retry_after or 0) >= 1 for error in refused)
    assert batcher.pending == 0
    batcher.close()


def test_what_takes_longer_by_itself_is_background_work() -> None:
    """It is accepted, but not too much of it, and keeps nobody waiting."""
    batcher = Batcher(1, Settings(answer_seconds=0.2, join_seconds=0.0), Metrics())
    batcher.throughput.add(200, 1.0)
    engine = Gated(Echo())
    with ThreadPoolExecutor(4) as threads:
        long = threads.submit(batcher.search, engine, [[7, 8]] * 100, REQUEST, CancellationToken())
        until(lambda: engine.entered == 1)
        assert (batcher.background, batcher.pending) == (1, 0)
        with pytest.raises(Refused):
            batcher.search(engine, [[7, 9]] * 100, REQUEST, CancellationToken())
        left = batcher.tokens
        short = threads.submit(batcher.search, engine, [[9]], REQUEST, CancellationToken())
        until(lambda: batcher.tokens == left + 2)
        engine.gate.set()
        assert (len(long.result()), len(short.result())) == (100, 1)
    first = SMALLEST_BATCH // 3  # sources of the batch that was under way
    assert engine.searched.index([9]) == first + 1, "after one of the long text, as there is one in each batch"
    assert (batcher.background, batcher.pending) == (0, 0)
    batcher.close()


@pytest.mark.parametrize("overdue", [False, True])
def test_who_has_waited_long_no_longer_takes_turns(clock: Clock, overdue: bool) -> None:
    """A text of many sentences is done in time though short ones keep coming."""
    batcher = Batcher(1, Settings(answer_seconds=1.0, batch_tokens=8, join_seconds=0.0), Metrics())
    engine = Gated(Echo())
    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(batcher.search, engine, [[5]], REQUEST, CancellationToken())]
        until(lambda: engine.entered == 1)
        answers.append(threads.submit(batcher.search, engine, [[7]] * 6, REQUEST, CancellationToken()))
        until(lambda: batcher.tokens == 12)
        clock.now += OVERDUE * 1.0 + (0.01 if overdue else -0.01)
        for number in range(1, 6):
            answers.append(threads.submit(batcher.search, engine, [[9]], REQUEST, CancellationToken()))
            until(lambda: batcher.tokens == 12 + 2 * number)  # noqa: B023
        engine.gate.set()
        assert [len(answer.result()) for answer in answers] == [1, 6, 1, 1, 1, 1, 1]
    assert engine.searched[1:5] == ([[7]] * 4 if overdue else [[7], [9], [9], [9]]), "a batch of four"
    batcher.close()


def test_a_cancelled_search_stops_after_its_batch() -> None:
    batcher = Batcher(1, Settings(batch_tokens=8, join_seconds=0.0), Metrics())
    engine, cancellation = Gated(Echo()), CancellationToken(document=True)
    with ThreadPoolExecutor(1) as threads:
        search = threads.submit(batcher.search, engine, [[7]] * 100, REQUEST, cancellation)
        until(lambda: engine.entered == 1)
        (job,) = batcher.begun
        cancellation.cancelled = True
        batcher.wake()
        assert not job.waiting and not job.done.is_set(), "the engine still is at work on it"
        engine.gate.set()
        assert isinstance(search.exception(), Refused)
    assert len(engine.searched) <= 8
    batcher.close()


def upload(served: Running, text: str) -> Answer:
    fields = {"source": "en", "target": "de"}
    return served.post_multipart("/translate_file", fields, {"file": ("a.txt", text.encode())})


def test_documents_are_not_held_to_the_time_of_texts(folders: dict[str, str]) -> None:
    model = folders["en-de"]
    with running(model, answer_seconds=1e-6, documents=1) as served:
        assert upload(served, "\n".join(LINES[:10])).status == 200
        served.state.batcher.background = 1  # a long text is under way
        assert served.post("/translate", {"q": LINES[30], "source": "en", "target": "de"}).status == 503
        assert upload(served, "\n".join(LINES[10:20])).status == 200


def test_overload_is_refused_before_a_thread_takes_it(folders: dict[str, str]) -> None:
    model = folders["en-de"]
    with running(model, answer_seconds=0.5) as served:
        served.state.batcher.throughput.add(100, 1.0)
        served.state.batcher.pending = 60
        refused = served.post("/translate", {"q": "The man.", "source": "en", "target": "de"})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert not served.state.threads._threads
        assert served.post("/v2/languages", {"type": "target"}).status == 200
        assert served.figure('regard_refused_total{reason="overload"}') == 1
        served.state.batcher.pending = 0
        assert served.post("/translate", {"q": "The man.", "source": "en", "target": "de"}).status == 200


def test_a_document_too_many_is_refused_before_it_is_read(folders: dict[str, str]) -> None:
    model = folders["en-de"]
    head = f"POST /translate_file HTTP/1.1\nHost: localhost\nContent-Type: {MULTIPART}\nContent-Length: 500000\n"
    with (
        running(model, address_documents=1) as served,
        gated(served, model) as gate,
        ThreadPoolExecutor(1) as threads,
    ):
        first: Future[Answer] = threads.submit(upload, served, LINES[0])
        until(lambda: gate.entered == 1)
        assert status(raw(served, head)) == 429, "though its body never comes"
        assert served.post("/v2/languages", {"type": "target"}).status == 200
        gate.gate.set()
        assert first.result().status == 200
        assert upload(served, LINES[1]).status == 200
    assert not served.state.admission.documents


def test_bytes_are_counted_before_they_come(folders: dict[str, str]) -> None:
    head = "POST /translate HTTP/1.1\nHost: localhost\nContent-Type: application/json\n"
    with running(folders["en-de"], address_inflight_bytes=150_000) as served:
        slow = raw(served, head + "Content-Length: 100000\n")
        until(lambda: served.state.admission.bytes.total() == 100_000)
        assert status(raw(served, head + "Content-Length: 60000\n")) == 429
        assert status(raw(served, head + "Transfer-Encoding: chunked\n")) == 429, "which may be of any size"
        assert served.post("/v2/languages", {"type": "target"}).status == 200
        slow.close()
        until(lambda: not served.state.admission.bytes)


@pytest.mark.parametrize("name", ["a.html", "a.md", "a.po", "a.srt", "a.txt", "a.vtt"])
def test_a_document_stops_at_the_next_text(name: str) -> None:
    """Parsing and rebuilding are cancelled as the search is."""
    unit = {".po": 'msgid "The man"\nmsgstr ""\n\n', ".srt": "1\n0 --> 1\nThe man\n\n", ".vtt": "0 --> 1\nThe man\n\n"}
    ending = name[1:]
    content = (unit.get(ending, "<p>The man</p>\n\n" if ending == ".html" else "The man.\n\n") * 50).encode()
    seen = 0

    def check() -> None:
        nonlocal seen
        seen += 1
        if seen == 10:
            raise Refused(499, "The client has gone")

    with checkpoints(check), pytest.raises(Refused):
        open_document(content, name, target="de")
    assert seen == 10
    opened = open_document(content, name, target="de")
    seen = 0
    with checkpoints(check), pytest.raises(Refused):
        opened.rebuilt([Translated(segment.text[::-1]) for segment in opened.segments])
    assert seen == 10


def test_a_document_nobody_waits_for_frees_its_place_when_it_has_stopped(folders: dict[str, str]) -> None:
    model = folders["en-de"]
    body = multipart({"source": "en", "target": "de"}, {"file": ("a.txt", "\n".join(LINES).encode())})
    head = f"POST /translate_file HTTP/1.1\nHost: localhost\nContent-Type: {MULTIPART}\nContent-Length: {len(body)}\n"
    with running(model, address_documents=1, batch_tokens=40) as served, gated(served, model) as gate:
        connection = raw(served, head, body)
        until(lambda: gate.entered > 0)
        connection.close()
        until(lambda: served.figure('regard_refused_total{reason="gone"}') == 1)
        assert upload(served, LINES[0]).status == 429, "the engine is still at work on it"
        gate.gate.set()
        until(lambda: served.state.at_work == 0)
        assert len(gate.searched) < len(LINES) / 2
        until(lambda: not served.state.admission.documents)
        assert upload(served, LINES[0]).status == 200


def test_documents_are_parsed_in_turn_and_texts_at_once(folders: dict[str, str]) -> None:
    body = multipart({"source": "en", "target": "de"}, {"file": ("a.txt", LINES[0].encode())})
    head = f"POST /translate_file HTTP/1.1\nHost: localhost\nContent-Type: {MULTIPART}\nContent-Length: {len(body)}\n"
    page = {"q": "<p>The <b>man</b>.</p>", "source": "en", "target": "de", "format": "html"}
    with running(folders["en-de"]) as served, served.state.service.parsing:
        connection = raw(served, head, body)
        until(lambda: served.state.at_work == 1)
        assert served.post("/translate", page).status == 200
        assert served.state.at_work == 1
        connection.close()
        until(lambda: served.state.at_work == 0)
