"""Whatever is sent: never a 500, never much work for what is refused, and nothing of it in the log.

The server is a process of its own, so that what it computes can be told from what the test does.
"""

import gzip
import http.client
import io
import json
import socket
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.serve.running import BOUNDARY, MULTIPART, Answer, Process, multipart, process

MOST_SECONDS = 1.0  # of the processor, for a request that is refused
SECRET = "geheimnisvoll"
WELL_KNOWN = {200, 304, 400, 403, 404, 405, 408, 413, 421, 429, 456, 503}
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
PATHS = ("/translate", "/detect", "/translate_file", "/v2/translate", "/v2/languages", "/details", "/look")
NAMES = (
    "q", "source", "target", "format", "alternatives", "api_key", "text", "text[]", "target_lang", "source_lang",
    "tag_handling", "split_sentences", "auth_key", "type", "file",
)  # fmt: skip
ASKED = {"q": SECRET, "source": "en", "target": "de"}
SAME = {"source": "en", "target": "en"}  # translated by nobody, but read and put together again
MARKS = "a" + "\u0323\u0301" * 2499


def tries(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def server(folders: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    limits = ("--set", "rate=0", "--set", "body_seconds=0.5")
    log = tmp_path_factory.mktemp("fuzz") / "log"
    with process(log, "--model", folders["en-de"], "--port", "0", *limits) as started:
        for path in ("/detect", "/translate", "/look"):  # so that all is loaded that is loaded late
            sent(started, head("POST", path, JSON), json.dumps(ASKED).encode())
        yield started
        said = log.read_text()
        assert SECRET not in said
        assert "Traceback" not in said


def head(method: str, path: str, kind: str | None = None, *more: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *more, *([f"Content-Type: {kind}"] if kind else [])]
    return "\r\n".join(lines).encode("latin-1")


def exchanged(port: int, message: bytes, method: str = "GET") -> Answer | None:
    """The answer to some bytes; None if the connection is closed without one."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            connection.sendall(message)
            response = http.client.HTTPResponse(connection, method=method)
            response.begin()
            return Answer(response.status, dict(response.getheaders()), response.read())
        except (http.client.HTTPException, ConnectionError):
            return None


def sent(server: Process, start: bytes, body: bytes = b"", length: int | None = None) -> int | None:
    """The status of the answer, which is as it should be whatever was sent."""
    before = server.cpu_seconds()
    counted = b"\r\nContent-Length: %d\r\n\r\n" % (len(body) if length is None else length)
    answer = exchanged(server.port, start + counted + body, start.split(b" ")[0].decode("latin-1"))
    return checked(server, answer, before)


def checked(server: Process, answer: Answer | None, before: float) -> int | None:
    assert server.popen.poll() is None, "the server has died"
    if answer is None:
        return None
    assert answer.status in WELL_KNOWN, answer
    if answer.status >= 400:
        assert server.cpu_seconds() - before < MOST_SECONDS, answer
    return answer.status


numbers = st.one_of(st.integers(), st.floats(), st.just(10**400), st.just(-(10**400)), st.just(1e308))
characters = st.characters(codec=None, exclude_categories=())
texts = st.one_of(
    st.sampled_from([SECRET, "", "en", "de", "EN-us", "auto", "html", "xml", "\ud800", MARKS, "\0", "가", "\u202eא"]),
    st.text(characters, max_size=40),
    st.text("<>/!-&#;=\"' ab%{}[]()`*_|\n\t", max_size=40),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
good = st.fixed_dictionaries(
    {"source": st.sampled_from(["en", "auto"]), "target": st.just("de"), "target_lang": st.just("de")},
    optional={
        "q": st.one_of(texts, st.lists(texts, max_size=3)),
        "text": texts,
        "format": st.just("html"),
        "tag_handling": st.just("xml"),
        "alternatives": st.integers(0, 2),
    },
)
fields = st.builds(lambda some, wrong: some | wrong, good, st.dictionaries(st.sampled_from(NAMES), values, max_size=4))


def any_json(server: Process, path: str, given: Any) -> None:
    sent(server, head("POST", path, JSON), json.dumps(given).encode())


@tries(60)
@given(st.sampled_from(PATHS), st.one_of(fields, values))
def test_any_json(server: Process, path: str, given: Any) -> None:
    any_json(server, path, given)


@pytest.mark.parametrize("path", PATHS)
def test_a_name_that_is_no_unicode(server: Process, path: str) -> None:
    """The error repeats it."""
    assert sent(server, head("POST", path, JSON), b'{"\\ud800": 1}') == 400


@pytest.mark.slow
@tries(2000)
@given(st.sampled_from(PATHS), st.one_of(fields, values))
def test_much_json(server: Process, path: str, given: Any) -> None:
    any_json(server, path, given)


PIECES = st.one_of(
    st.sampled_from([
        b"--", b"\r\n", b"--%s\r\n" % BOUNDARY.encode(), b"--%s--\r\n" % BOUNDARY.encode(), b'"', b";", b"=", b"%",
        b'Content-Disposition: form-data; name="q"', b'Content-Disposition: form-data; name="file"; filename="../a.md"',
        b"Content-Type: multipart/mixed; boundary=x", b"Content-Transfer-Encoding: base64", b"filename*=undefined''x",
        b"source=en&target=de&", b"q=%ED%A0%80&", b"text=", SECRET.encode(), b"\0", b"\xff", b"\r\n\r\n",
    ]),
    st.binary(max_size=8),
)  # fmt: skip
KINDS = (FORM, MULTIPART, "multipart/form-data", f"{MULTIPART}; charset=undefined", f"{MULTIPART}; charset=idna", JSON)


def any_body(server: Process, path: str, kind: str, pieces: list[bytes]) -> None:
    sent(server, head("POST", path, kind), b"".join(pieces))


@tries(60)
@given(st.sampled_from(PATHS), st.sampled_from(KINDS), st.lists(PIECES, max_size=20))
def test_any_body(server: Process, path: str, kind: str, pieces: list[bytes]) -> None:
    any_body(server, path, kind, pieces)


@pytest.mark.slow
@tries(2000)
@given(st.sampled_from(PATHS), st.sampled_from(KINDS), st.lists(PIECES, max_size=40))
def test_much_body(server: Process, path: str, kind: str, pieces: list[bytes]) -> None:
    any_body(server, path, kind, pieces)


def zipped() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"\0" * 10_000_000)
    return held.getvalue()


DISPOSITION = "Content-Disposition: form-data; name="
FULL = 120_000  # bytes, which is nearly as large as a body may be
BODIES = {
    "deep": (JSON, b'{"q": ' * 18_000),
    "deep within": (JSON, b'{"split_sentences": %s1%s}' % (b"[" * 900, b"]" * 900)),
    "twice": (JSON, b'{"q": "x", "q": {}, "source": "en", "target": "de", "target": "xx"}'),
    "no number": (JSON, b'{"q": "x", "source": "en", "target": "de", "alternatives": NaN}'),
    "no end": (JSON, b'{"q": "x", "source": "en", "target": "de", "alternatives": -Infinity}'),
    "digits": (JSON, b'{"alternatives": %s}' % (b"9" * FULL)),
    "digits in a string": (JSON, b'{"q":"x","source":"en","target":"de","alternatives": "%s"}' % (b"9" * 100_000)),
    "keys": (JSON, json.dumps({str(number): number for number in range(8_000)}).encode()),
    "surrogates": (JSON, b'{"q": "%s", "source": "\\ud800", "target": "\\udfff"}' % (b"\\ud800" * 800)),
    "marks": (JSON, json.dumps(ASKED | {"q": [MARKS] * 12, "alternatives": 11}, ensure_ascii=False).encode()),
    "marks in HTML": (JSON, json.dumps(ASKED | {"q": [MARKS] * 12, "format": "pdf"}, ensure_ascii=False).encode()),
    "gzip": (JSON, gzip.compress(json.dumps(ASKED).encode())),
    "utf-16": (JSON, json.dumps(ASKED).encode("utf-16")),
    "plus": (FORM, b"+" * FULL),
    "ampersands": (FORM, b"&" * FULL),
    "percents": (FORM, b"q=" + b"%" * FULL),
    "parts": (MULTIPART, multipart({str(number): "x" for number in range(1_500)}, {})),
    "a long header": (MULTIPART, f'--{BOUNDARY}\r\n{DISPOSITION}"{";" * FULL}"\r\n\r\nx\r\n--{BOUNDARY}--'.encode()),
    "headers": (MULTIPART, f"--{BOUNDARY}\r\n{'A: b' * 20_000}\r\n\r\nx\r\n--{BOUNDARY}--".encode()),
    "more headers": (MULTIPART, f"--{BOUNDARY}\r\n" .encode() + b"A: b\r\n" * 18_000),
    "boundaries": (MULTIPART, f"--{BOUNDARY}\r\n".encode() * 4_000),
    "nearly boundaries": (MULTIPART, f"\r\n--{BOUNDARY[:-1]}".encode() * 4_000),
    "no boundary": ("multipart/form-data", multipart(ASKED, {})),
    "a long boundary": (f"multipart/form-data; boundary={'x' * 50_000}", multipart(ASKED, {})),
    "parameters": (f"multipart/form-data; a=\"{';' * 50_000}", multipart(ASKED, {})),
    "no charset": (f"{MULTIPART}; charset=undefined", multipart(ASKED, {})),
    "names of the web": (f"{MULTIPART}; charset=idna", multipart(ASKED | {"q": "x" * FULL}, {})),
    "another charset": (f"{MULTIPART}; charset=punycode", multipart(ASKED | {"q": "-" + "a9" * 50_000}, {})),
}  # fmt: skip


@pytest.mark.parametrize("path", ["/translate", "/v2/translate", "/translate_file"])
@pytest.mark.parametrize("case", BODIES)
def test_bodies_that_are_meant_badly(server: Process, path: str, case: str) -> None:
    kind, body = BODIES[case]
    sent(server, head("POST", path, kind), body)


LONG = "x" * 60_000
MESSAGES = {
    "nothing": b"\r\n\r\n",
    "noise": bytes(range(256)) * 4 + b"\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20 + b"\r\n\r\n",
    "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "websocket": head("GET", "/", None, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x")
    + b"\r\n\r\n",
    "old": b"GET /languages HTTP/1.0\r\n\r\n",
    "long query": head("GET", f"/v2/translate?text={LONG}&target_lang=de") + b"\r\n\r\n",
    "many in a query": head("GET", "/v2/translate?" + "text=x&" * 8_000) + b"\r\n\r\n",
    "percents in a query": head("GET", f"/v2/translate?text={'%FF' * 20_000}&target_lang=de") + b"\r\n\r\n",
    "long path": head("GET", f"/{LONG}") + b"\r\n\r\n",
    "long name": head("GET", f"/page/{LONG}") + b"\r\n\r\n",
    "nul": head("GET", "/page/%00") + b"\r\n\r\n",
    "surrogate": head("GET", "/page/%ED%A0%80") + b"\r\n\r\n",
    "slashes": head("GET", "/page/" + "/" * 50_000) + b"\r\n\r\n",
    "upwards": head("GET", "/page/" + "..%2f" * 10_000) + b"\r\n\r\n",
    "no such file": head("GET", "/download_file/%00%2e%2e%2f") + b"\r\n\r\n",
    "long header": head("GET", "/languages", None, f"X: {LONG}") + b"\r\n\r\n",
    "too long a header": head("GET", "/languages", None, f"X: {LONG}{LONG}") + b"\r\n\r\n",
    "many headers": head("GET", "/languages", None, *["A: b"] * 8_000) + b"\r\n\r\n",
    "ranges": head("GET", "/page/page.js", None, "Range: bytes=" + "0-1," * 10_000) + b"\r\n\r\n",
    "tags": head("GET", "/", None, "If-None-Match: " + '"a",' * 10_000) + b"\r\n\r\n",
    "dates": head("GET", "/", None, "If-Modified-Since: " + "9" * 10_000) + b"\r\n\r\n",
    "key": head("GET", "/v2/usage", None, "Authorization: DeepL-Auth-Key \xff") + b"\r\n\r\n",
    "host": b"POST /translate HTTP/1.1\r\nHost: [\r\nContent-Length: 0\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "chunks": head("POST", "/translate", JSON, "Transfer-Encoding: chunked") + b"\r\n\r\n3\r\n{}x\r\n0\r\n\r\n",
    "no chunks": head("POST", "/translate", JSON, "Transfer-Encoding: chunked") + b"\r\n\r\nzzz\r\n",
    "huge chunk": head("POST", "/translate", JSON, "Transfer-Encoding: chunked") + b"\r\n\r\nfffffffffffffff\r\nx",
    "tiny chunks": head("POST", "/translate", JSON, "Transfer-Encoding: chunked") + b"\r\n\r\n" + b"1\r\nx\r\n" * 20_000
    + b"0\r\n\r\n",
    "unknown coding": head("POST", "/translate", JSON, "Transfer-Encoding: gzip, chunked") + b"\r\n\r\n0\r\n\r\n",
    "both lengths": head("POST", "/translate", JSON, "Transfer-Encoding: chunked", "Content-Length: 4")
    + b"\r\n\r\n0\r\n\r\n",
    "two lengths": head("POST", "/translate", JSON, "Content-Length: 1", "Content-Length: 2") + b"\r\n\r\n{}",
    "negative": head("POST", "/translate", JSON, "Content-Length: -1") + b"\r\n\r\n{}",
    "huge length": head("POST", "/translate", JSON, f"Content-Length: {10**19}") + b"\r\n\r\n{}",
    "too long a length": head("POST", "/translate", JSON, "Content-Length: 50") + b"\r\n\r\n{}",
    "too short a length": head("POST", "/translate", JSON, "Content-Length: 1") + b"\r\n\r\n{}{}\r\n\r\n",
    "expects": head("POST", "/translate", JSON, "Expect: 100-continue", "Content-Length: 2") + b"\r\n\r\n{}",
}  # fmt: skip


@pytest.mark.parametrize("case", MESSAGES)
def test_messages_that_are_meant_badly(server: Process, case: str) -> None:
    before = server.cpu_seconds()
    checked(server, exchanged(server.port, MESSAGES[case]), before)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PATCH", "CONNECT", "get", "FOO", "DELETE"])
def test_methods(server: Process, method: str) -> None:
    for path in (*PATHS, "/", "/page/page.js", "/metrics", "/translate/", "//translate", "*", "http://x/", "/v2"):
        assert sent(server, head(method, path)) != 500


UNITS = {
    ".html": ("<", "<!--x>", "<b>", "<p><b a='", "<b =", "&#x9", "</b>", "<b>a", "<!", "<td>", "<pre>"),
    ".md": ("`", " ", "\t", "*a [b](c) ", "[", "](", "![", "<a@", "~~", "# x ", "> ", "a|b\n", "\r", "http://."),
    ".po": ('msgid "a"\nmsgstr ""\n', 'msgid "', '"a"\n', "<a", "%(", "\\"),
    ".srt": ("1\n", "0 --> 1\na\n", "<a", "a", "{\\", "- a\n"),
    ".txt": ("a\n", "x" * 50 + "\r\x85", " ", MARKS, "\u200d", "."),
}
HEADS = {".html": ("<p>",), ".md": ("# x", "- ", "|a|\n|"), ".po": ('msgid "a',), ".srt": ("0 --> 1\na",)}


@pytest.mark.parametrize(("suffix", "unit"), [(suffix, unit) for suffix, units in UNITS.items() for unit in units])
def test_files_that_are_meant_badly(server: Process, suffix: str, unit: str) -> None:
    """The work for a file grows as its size does; were it to grow as the square, each of these took longer."""
    for start in ("", *HEADS.get(suffix, ())):
        content = (start + unit * (FULL // 4 // len(unit.encode())) + '"\nmsgstr ""\nx|x').encode()
        before = server.cpu_seconds()
        form = multipart(SAME, {"file": (f"../{SECRET}{suffix}", content)})
        assert sent(server, head("POST", "/translate_file", MULTIPART), form) in (200, 400, 408)  # it came too slowly
        assert server.cpu_seconds() - before < 5 * MOST_SECONDS


@pytest.mark.parametrize("name", ["a.docx", "a.zip", "a.txt", "a.md", "", "..", "/", "\0.txt", "a" * 5_000 + ".txt"])
def test_archives_as_files(server: Process, name: str) -> None:
    form = multipart(SAME, {"file": (name, zipped())})
    assert sent(server, head("POST", "/translate_file", MULTIPART), form) == 400
