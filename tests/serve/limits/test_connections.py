"""What an attacker may try with connections: hold all of them, hide one request in another, send endless heads."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from tests.serve.running import Running, raw, running, status
from tests.support.waiting import until

from regard.serve.limits.rates import trusted

HEAD = "POST /translate HTTP/1.1\nHost: localhost\nContent-Type: application/json\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


@contextmanager
def idle(served: Running, number: int, source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """Connections that ask for nothing."""
    address = ("127.0.0.1", served.port)
    connections = [socket.create_connection(address, 30, source_address=(source, 0)) for _ in range(number)]
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


def answered(served: Running, message: bytes, source: str = "127.0.0.1") -> bytes:
    """All that is sent until the connection is closed, or reset."""
    answer = b""
    connected = socket.create_connection(("127.0.0.1", served.port), 30, source_address=(source, 0))
    with connected as connection, suppress(ConnectionError):
        connection.sendall(message)
        while part := connection.recv(1 << 16):
            answer += part
    return answer


def test_one_address_cannot_hold_all_connections(folders: dict[str, str]) -> None:
    with running(folders["en-de"], connections=20, address_connections=8) as served:
        with idle(served, 8) as held, idle(served, 30) as more:
            for connection in more:
                answer = connection.makefile("rb").read()
                assert answer.startswith(b"HTTP/1.1 429 ") and b"\r\nRetry-After: 1\r\n" in answer
            ask = HEALTH + b"Connection: close\r\n\r\n"
            assert answered(served, ask).startswith(b"HTTP/1.1 429 "), "also if it asks at once"
            assert answered(served, ask, "127.0.0.2").startswith(b"HTTP/1.1 200 ")
            held[0].close()
            until(lambda: answered(served, ask).startswith(b"HTTP/1.1 200 "))
        until(lambda: not served.server.server_state.connections)
        assert served.figure('regard_refused_total{reason="connections"}') >= 31


def test_all_connections(folders: dict[str, str]) -> None:
    with running(folders["en-de"], connections=3, address_connections=2) as served:
        with idle(served, 2), idle(served, 1, "127.0.0.2"):
            answer = answered(served, HEALTH + b"\r\n", "127.0.0.3")
            assert answer.startswith(b"HTTP/1.1 503 ") and b"\r\nRetry-After: 1\r\n" in answer
        until(lambda: answered(served, HEALTH + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200 "))


def test_many_more_than_are_given_time_to_read(folders: dict[str, str]) -> None:
    with running(folders["en-de"], address_connections=1) as served, idle(served, 151) as connections:
        until(lambda: served.state.metrics.refused.labels("connections")._value.get() == 150)
        assert all(connection.recv(12) == b"HTTP/1.1 429" for connection in connections[1:])


def test_the_connections_of_a_proxy_are_those_of_many(folders: dict[str, str]) -> None:
    with running(folders["en-de"], address_connections=1, proxy="127.0.0.1") as served, idle(served, 5):
        assert served.get("/health").status == 200
    assert trusted("10.1.2.3", "10.0.0.0/8, 127.0.0.1")
    assert trusted("::1", "*")
    assert not trusted("10.1.2.3", "127.0.0.1")
    assert not trusted("10.1.2.3", "proxy.example")
    assert not trusted("10.1.2.3", None)


def test_two_lengths_of_one_body(served: Running) -> None:
    """What one reader takes for the rest of a body, another takes for the next request."""
    hidden = b"GET /languages HTTP/1.1\r\nHost: localhost\r\n\r\n"
    body = b"0\r\n\r\n" + hidden
    head = f"{HEAD}Content-Length: {len(body)}\nTransfer-Encoding: chunked\n".replace("\n", "\r\n").encode()
    answer = answered(served, head + b"\r\n" + body)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"both Content-Length and Transfer-Encoding" in answer
    assert b"connection: close" in answer


@pytest.mark.parametrize("size", [70_000, 200_000])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_head_over_64_kib(served: Running, size: int, at_once: bool) -> None:
    lines = b"".join(b"X-%d: %s\r\n" % (number, b"x" * 1000) for number in range(size // 1000))
    for message in (HEALTH + lines, HEALTH + b"X:" + b" " * size + b"x\r\n", b"GET /?" + b"x" * size + HEALTH[4:]):
        answer = answered(served, message + b"\r\n" if at_once else message)
        assert answer[:13] in (b"HTTP/1.1 400 ", b""), "nothing if the connection was reset before it was read"


def test_a_head_over_64_kib_after_another_request(served: Running) -> None:
    for first in (HEALTH + b"\r\n", HEAD.replace("\n", "\r\n").encode() + b"Content-Length: 2\r\n\r\n{}"):
        answer = answered(served, first + HEALTH + b"X: %s\r\n\r\n" % (b"x" * 70_000))
        assert answer.count(b"HTTP/1.1") == 2
        assert b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain" in answer


def test_a_head_of_64_kib_and_a_large_body(served: Running) -> None:
    size = (64 << 10) - len(HEALTH) - len(b"X: \r\n\r\n")
    ask = HEALTH + b"X: %s\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), 30) as connection:
        connection.sendall(ask % (b"x" * size))
        assert connection.recv(12) == b"HTTP/1.1 200"
    assert answered(served, ask % (b"x" * (size + 1))).startswith(b"HTTP/1.1 400 ")
    body = b"{}" + b" " * 120_000
    assert status(raw(served, f"{HEAD}Content-Length: {len(body)}\n", body)) == 400, "read, and nothing in it"


ASKED = {"q": "The man.", "source": "en", "target": "de"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "file://"},
    ],
)
def test_work_for_pages_of_other_origins_is_refused(served: Running, headers: dict[str, str]) -> None:
    for path in ("/translate", "/detect", "/translate_file", "/details", "/look", "/v2/translate"):
        answer = served.post_form(path, ASKED, **headers)
        assert answer.status == 403
        assert list(answer.json.values()) == ["Requests from pages of other origins are refused"]
    assert served.get("/v2/translate?text=x&target_lang=de", **headers).status == 403
    for path in ("/", "/languages", "/health"):  # a link from elsewhere may lead here
        assert served.get(path, **headers).status == 200


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_work_for_the_page_itself(served: Running, site: str) -> None:
    own = f"http://127.0.0.1:{served.port}"
    assert served.post_form("/translate", ASKED, Origin=own).status == 200
    assert served.post_form("/translate", ASKED, **{"Origin": own, "Sec-Fetch-Site": site}).status == 200
    assert served.post_form("/translate", ASKED, **{"Sec-Fetch-Site": site}).status == 200


def test_work_for_the_page_behind_a_proxy(folders: dict[str, str]) -> None:
    with running(folders["en-de"], hosts=("Translate.example",)) as served:
        assert served.post_form("/translate", ASKED, Origin="https://translate.example").status == 200
        assert served.post_form("/translate", ASKED, Origin="https://translate.example.evil.example").status == 403
