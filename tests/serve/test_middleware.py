"""What is refused before it is read: too large, too slow, too often, too deep."""

import json
import logging
import socket
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from tests.serve.running import MULTIPART, Running, multipart, raw, running, status
from tests.support.waiting import until

from regard.serve import middleware
from regard.serve.limits.connections import PART, LimitedProtocol
from regard.serve.limits.rates import Rates

ASKED = {"q": "The man.", "source": "en", "target": "de"}
SPACE = b" " * (128 << 10)


@pytest.mark.parametrize("path", ["/translate", "/v2/translate", "/detect", "/languages", "/nothing"])
def test_a_body_that_is_too_large(served: Running, path: str) -> None:
    body = json.dumps(ASKED).encode() + SPACE
    answer = served.ask("POST", path, body, **{"Content-Type": "application/json"})
    assert answer.status == 413
    assert "131072" in answer.json["message" if path.startswith("/v2") else "error"]


def test_a_body_that_is_too_large_and_does_not_say_so(served: Running) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    head = "POST /translate HTTP/1.1\nHost: localhost\nTransfer-Encoding: chunked\nContent-Type: application/json\n"
    assert status(raw(served, head, chunk * 3 + b"0\r\n\r\n")) == 413


def test_a_body_of_the_largest_size(served: Running) -> None:
    body = json.dumps(ASKED).encode()
    body += SPACE[len(body) :]
    assert served.ask("POST", "/translate", body, **{"Content-Type": "application/json"}).status == 200
    assert served.ask("POST", "/translate", body + b" ", **{"Content-Type": "application/json"}).status == 413


def test_a_file_may_be_larger_but_not_any_size(served: Running) -> None:
    fields = {"source": "en", "target": "en"}
    assert served.post_multipart("/translate_file", fields, {"file": ("a.txt", SPACE)}).status == 200
    assert served.post_multipart("/translate_file", fields, {"file": ("a.txt", SPACE * 32)}).status == 413
    two = multipart(fields, {"file": ("a.txt", b"x"), "other": ("b.txt", b"x")})
    assert served.ask("POST", "/translate_file", two, **{"Content-Type": MULTIPART}).status == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"q"',
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"q":' * 20_000,
        b'{"q": %s}' % (b"9" * 100_000),
        b'{"q": 1, "source": "en", "target": "de"}',
        b'{"q": {"a": 1}, "source": "en", "target": "de"}',
        b'{"q": ["x", null], "source": "en", "target": "de"}',
        b'{"q": ["x", ["y"]], "source": "en", "target": "de"}',
        b'{"q": "x", "source": ["en"], "target": "de"}',
        b'{"q": "x", "source": "en", "target": 1e999}',
        b'{"q": "x", "source": "en", "target": "de", "alternatives": 1.5}',
        b'{"q": "x", "source": "en", "target": "de", "alternatives": []}',
        b'{"q": "x", "source": "\\ud800", "target": "de"}',
    ],
    ids=lambda body: str(body[:40]),
)
def test_bodies_that_say_nothing_sensible(served: Running, body: bytes) -> None:
    answer = served.ask("POST", "/translate", body, **{"Content-Type": "application/json"})
    assert answer.status == 400
    assert list(answer.json) == ["error"]


def test_forms_that_say_nothing_sensible(served: Running) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert served.ask("POST", "/translate", b"&".join([b"q=x"] * 1000), **form).status == 400
    assert served.ask("POST", "/translate", b"\xff\xfe%zz&q=%ff", **form).status == 400
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x", "text/plain", "application/xml"):
        assert served.ask("POST", "/translate", b"q=x\r\n--y", **{"Content-Type": kind}).status == 400
    parts = multipart({f"f{number}": "x" for number in range(1000)}, {})
    assert served.ask("POST", "/translate", parts, **{"Content-Type": MULTIPART}).status == 400


def test_methods_and_paths(served: Running) -> None:
    for method, path in (("GET", "/translate"), ("DELETE", "/v2/translate"), ("POST", "/languages"), ("PUT", "/")):
        answer = served.ask(method, path)
        assert (answer.status, bool(answer.headers["allow"])) == (405, True)
    assert set(served.ask("DELETE", "/v2/translate").headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    assert served.get("/nothing").json == {"error": "Not Found"}


def test_headers_keep_a_browser_safe(served: Running) -> None:
    for path in ("/", "/languages", "/nothing", "/page/page.js"):
        headers = served.get(path, Origin="http://elsewhere.example").headers
        own = " 'sha256-" if path == "/" else ";"
        assert headers["content-security-policy"].startswith(f"default-src 'none'; script-src 'self'{own}")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert not any(name.startswith("access-control") for name in headers)
        assert "server" not in headers
    assert served.get("/languages").headers["cache-control"] == "no-store"
    tag = served.get("/").headers["etag"]
    assert served.get("/", **{"If-None-Match": tag}).status == 304
    assert served.get("/page/../middleware.py").status == 404


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates for which no time passes."""
    monkeypatch.setattr(middleware, "Rates", partial(Rates, clock=lambda: 0.0))


@pytest.mark.usefixtures("stopped")
def test_rates(folders: dict[str, str]) -> None:
    with running(folders["en-de"], rate=30) as served:  # five at once, then one every two seconds
        answers = [served.post("/translate", ASKED) for _ in range(8)]
        statuses = [answer.status for answer in answers]
        assert statuses == [200] * 5 + [429] * 3
        refused = answers[5]
        assert refused.json == {"error": "Slowdown: 30 per 1 minute"}
        assert refused.headers["retry-after"] == "2"
        assert served.get("/health").status == 200
        assert served.post("/v2/translate", {}).json == {"message": "Slowdown: 30 per 1 minute"}
        assert served.post("/translate", ASKED, **{"X-Forwarded-For": "10.0.0.1"}).status == 429
        assert served.figure('regard_refused_total{reason="rate"}') == 5


@pytest.mark.usefixtures("stopped")
def test_a_proxy_that_is_believed(folders: dict[str, str]) -> None:
    with running(folders["en-de"], rate=6, proxy="127.0.0.1") as served:
        for client in ("10.0.0.1", "10.0.0.2", "2001:db8::1"):
            assert served.get("/languages", **{"X-Forwarded-For": client}).status == 200
        assert served.get("/languages", **{"X-Forwarded-For": "2001:db8::2"}).status == 429


def test_slow_clients_are_cut_off_and_in_nobodys_way(folders: dict[str, str]) -> None:
    head = "POST /translate HTTP/1.1\nHost: localhost\nContent-Length: 100000\nContent-Type: application/json\n"
    with running(folders["en-de"], body_seconds=2.0) as served:
        in_body = [raw(served, head) for _ in range(20)]
        in_head = [socket.create_connection(("127.0.0.1", served.port), timeout=60) for _ in range(20)]
        assert served.post("/translate", ASKED).status == 200

        def cut_off() -> bool:
            """They send a byte now and then, which is not enough."""
            for connection in in_head + in_body:
                with suppress(OSError):
                    connection.sendall(b"G")
            return served.state.metrics.refused.labels("slow")._value.get() == 20

        until(cut_off)
        assert [status(connection) for connection in in_body] == [408] * 20
        for connection in in_head:
            with connection, suppress(ConnectionResetError):
                assert connection.recv(1000) == b""


def test_a_slow_head_on_a_connection_that_was_used(folders: dict[str, str]) -> None:
    with running(folders["en-de"], body_seconds=2.0) as served:
        connection = raw(served, "GET /health HTTP/1.1\nHost: localhost\n")
        answer = b""
        with connection:
            while not answer.endswith(b'{"status":"ok"}'):
                received = connection.recv(10_000)
                assert received, "closed without an answer"
                answer += received
            connection.sendall(b"GET /hea")
            assert connection.recv(1000) == b""


def asked_for(served: Running, size: int) -> socket.socket:
    """A connection on which a file of this size is asked for, and hardly any of it fits."""
    token = served.state.downloads.put("a.txt", bytes(size))
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    connection.settimeout(60)
    connection.connect(("127.0.0.1", served.port))
    connection.sendall(f"GET /download_file/{token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection


def test_clients_that_do_not_take_their_answer_are_cut_off(
    folders: dict[str, str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[LimitedProtocol] = []
    connection_lost = LimitedProtocol.connection_lost

    def watched(self: LimitedProtocol, exc: Exception | None) -> None:
        connection_lost(self, exc)
        lost.append(self)

    monkeypatch.setattr(LimitedProtocol, "connection_lost", watched)
    with running(folders["en-de"], body_seconds=0.5) as served:
        connections = [asked_for(served, 16 << 20) for _ in range(2)]
        until(lambda: len(lost) == 2)
        for connection in connections:
            connection.close()
    assert "Traceback" not in caplog.text


def test_clients_that_take_their_answer_slowly_get_it(folders: dict[str, str]) -> None:
    """Each time that it is looked whether they have taken enough, they have."""
    size = 16 << 20
    with (
        running(folders["en-de"], body_seconds=1e6) as served,  # the test looks itself
        asked_for(served, size) as connection,
        connection.makefile("rb") as answer,
    ):
        until(lambda: any(isinstance(one, LimitedProtocol) and one.answer_timer for one in connections_of(served)))
        (protocol,) = connections_of(served)
        loop, transport = served.server.servers[0].get_loop(), protocol.transport
        left = size
        for _ in range(3):
            before = transport.get_write_buffer_size()
            assert before > PART
            left -= len(answer.read(3 << 20))
            until(lambda: before - transport.get_write_buffer_size() >= PART)  # noqa: B023
            loop.call_soon_threadsafe(protocol._check_answer, before)
        assert len(answer.read(left)) == left, "and what is before it, the head"


def connections_of(served: Running) -> list[Any]:
    return list(served.server.server_state.connections)


def test_no_text_in_the_log(served: Running, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        served.ask("POST", "/translate?q=geheim&source=en&target=de&api_key=geheim")
        served.get("/geheim")
        served.get("/download_file/geheim")
        served.post("/translate", {"q": "geheim", "source": "geheim", "target": "de"})
    assert "POST /translate 200" in caplog.text
    assert "geheim" not in caplog.text
    assert "geheim" not in served.get("/metrics").content.decode()


def test_a_client_that_sends_all_before_it_reads_gets_the_answer(served: Running) -> None:
    answer = served.ask("POST", "/translate", SPACE * 24, **{"Content-Type": "application/json"})
    assert (answer.status, answer.headers["connection"]) == (413, "close")
