"""`regard serve` as people start and stop it: a process of its own, real signals."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tests.decode.conftest import sentences
from tests.serve.running import Answer, ask


@contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "regard", "serve", "--quiet", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        try:
            assert started.stderr is not None
            line = started.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
            assert found, line + started.stderr.read()
            yield started, int(found[1])
        finally:
            if started.poll() is None:
                started.kill()


def translate(port: int, text: str | list[str]) -> Answer:
    body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
    return ask(port, "POST", "/translate", body, **{"Content-Type": "application/json"})


def test_killed_and_started_again_then_asked_to_stop(folders: dict[str, str]) -> None:
    """Killed under load, it starts again at the same port; SIGTERM lets it finish what it has begun, and it leaves with
    0."""
    lines = sentences()
    with process("--model", folders["en-de"], "--port", "0") as (first, port), ThreadPoolExecutor(8) as threads:
        assert ask(port, "GET", "/ready").status == 200
        under_way = [threads.submit(translate, port, lines[at : at + 50]) for at in range(0, 160, 20)]
        first.send_signal(signal.SIGKILL)
        assert first.wait() == -signal.SIGKILL
        assert any(answer.exception() for answer in under_way)
    with process("--model", folders["en-de"], "--port", str(port)) as (second, again), ThreadPoolExecutor(8) as threads:
        assert again == port
        texts = [[f"{number}: {line}" for line in lines[:50]] for number in range(8)]
        answers = [threads.submit(translate, port, some) for some in texts]
        while b"regard_requests_at_work 0.0" in ask(port, "GET", "/metrics").content:
            pass
        os.kill(second.pid, signal.SIGTERM)
        statuses = [answer.result().status for answer in answers if not answer.exception()]
        assert 200 in statuses
        assert set(statuses) <= {200, 503}
        assert second.wait(30) == 0
