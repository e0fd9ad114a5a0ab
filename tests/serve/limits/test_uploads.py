"""An attack with uploads from one address, within every default limit: few are taken, the others refused at once, the
server stays awake, and what nobody waits for any longer stops."""

import http.client
import json
import re
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.serve.running import MULTIPART, Answer, Process, ask, multipart, process, running
from tests.support.waiting import until

from regard.serve.api import documents

PARAGRAPH = "<p>The old woman sees <b>12 apples</b> &amp; a <i>bicycle</i>. 사과를 봅니다! שלום 👩\u200d👧</p>\n"
ELSEWHERE = "127.0.0.2"  # who watches the server has an address of its own
HEALTHY_SECONDS = 0.1


def document(size: int) -> bytes:
    page = PARAGRAPH.encode() * (size // len(PARAGRAPH.encode()))
    return multipart({"source": "en", "target": "de"}, {"file": ("a.html", page)})


def watched(port: int, path: str) -> tuple[float, bytes]:
    """Seconds for an answer, and the answer."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(ELSEWHERE, 0))
    connection.request("GET", path)
    content = connection.getresponse().read()
    connection.close()
    return time.monotonic() - began, content


def at_work(port: int) -> float:
    found = re.search(rb"^regard_requests_at_work (\S+)$", watched(port, "/metrics")[1], re.MULTILINE)
    assert found is not None
    return float(found[1])


def resident_megabytes(server: Process) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{server.popen.pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


@contextmanager
def uploads(server: Process, number: int, size: int) -> Iterator[list[Answer]]:
    """Send documents at once; the answers that have come. Those that still wait are given up at the end."""
    body, answers = document(size), []
    clients = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=300) for _ in range(number)]

    def upload(client: http.client.HTTPConnection) -> None:
        try:
            client.request("POST", "/translate_file", body, {"Content-Type": MULTIPART})
            response = client.getresponse()
            answers.append(Answer(response.status, dict(response.getheaders()), response.read()))
        except (OSError, http.client.HTTPException, AttributeError):  # it was given up
            pass

    with ThreadPoolExecutor(number) as threads:
        for client in clients:
            threads.submit(upload, client)
        try:
            yield answers
        finally:
            for client in clients:
                if client.sock is not None:
                    client.sock.shutdown(2)


def attacked(server: Process, number: int, size: int) -> list[float]:
    """Seconds that /health took while a client sent many documents."""
    before, times = resident_megabytes(server), []
    with uploads(server, number, size) as answers:

        def refused() -> bool:
            seconds, content = watched(server.port, "/health")
            assert json.loads(content) == {"status": "ok"}
            times.append(seconds)
            return len(answers) >= number - 2

        until(refused)
        refusals = [answer for answer in answers if answer.status == 429]
        assert len(refusals) >= number - 2
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in refusals)
        assert at_work(server.port) <= 2
        assert resident_megabytes(server) - before < 200
    until(lambda: at_work(server.port) == 0)
    return times


def started(server: Process) -> None:
    """Have everything loaded that is loaded late."""
    answer = ask(server.port, "POST", "/translate_file", document(1000), **{"Content-Type": MULTIPART})
    assert answer.status == 200


def test_uploads(folders: dict[str, str], tmp_path: Path) -> None:
    with process(tmp_path / "log", "--model", folders["en-de"], "--port", "0") as server:
        started(server)
        attacked(server, 24, 200_000)
        started(server)


@pytest.mark.parametrize("part", ["read", "translate"])
def test_the_server_stays_awake_while_documents_are_worked_on(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Held up there, it answers others; on the event loop it would not."""
    work, begun, go_on = getattr(documents, part), Event(), Event()

    def held(*given: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return work(*given)

    monkeypatch.setattr(documents, part, held)
    with running(folders["en-de"]) as served, ThreadPoolExecutor(1) as threads:
        answer = threads.submit(served.ask, "POST", "/translate_file", document(1000), **{"Content-Type": MULTIPART})
        assert begun.wait(60)
        assert served.get("/health").status == 200
        assert served.post("/translate", {"q": "The man.", "source": "en", "target": "de"}).status == 200
        go_on.set()
        assert answer.result().status == 200


@pytest.mark.slow
def test_a_hundred_large_uploads(folders: dict[str, str], tmp_path: Path) -> None:
    """Timed, so it needs a machine that does nothing else."""
    with process(tmp_path / "log", "--model", folders["en-de"], "--port", "0") as server:
        started(server)
        times = attacked(server, 100, 1_000_000)
        assert statistics.quantiles(times, n=20)[-1] < HEALTHY_SECONDS, "the 95th percentile"
        idle = server.cpu_seconds()
        time.sleep(0.5)
        assert server.cpu_seconds() - idle < 0.25
        started(server)
