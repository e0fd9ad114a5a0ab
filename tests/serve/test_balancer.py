"""Two servers behind HAProxy or nginx, configured as in the guide: both are replaced, and no request is lost."""

import json
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.serve.running import Process, ask, process
from tests.support.models import sentences

from regard.translate.load import load

pytestmark = pytest.mark.slow
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "serving.md"
CLIENTS = 4


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def balancer(name: str, folder: Path, first: int, second: int) -> Iterator[int]:
    """A balancer in front of two ports."""
    if (program := shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin")) is None:
        pytest.skip(f"no {name}; install your system's package of that name")
    found = re.search(rf"<!-- {name} -->\n```\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found is not None
    port, text = free_port(), found[1]
    for shown, real in (("5000", port), ("5001", first), ("5002", second)):
        assert text.count(f"127.0.0.1:{shown}") == 1
        text = text.replace(f"127.0.0.1:{shown}", f"127.0.0.1:{real}")
    (folder / "configuration").write_text(text)
    alone = ["-db"] if name == "haproxy" else ["-p", str(folder), "-g", f"daemon off; pid {folder}/pid;"]
    running = subprocess.Popen([program, *alone, "-f" if name == "haproxy" else "-c", str(folder / "configuration")])
    try:
        until_ready(port)
        yield port
    finally:
        running.terminate()
        running.wait()


def until_ready(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if ask(port, "GET", "/ready").status == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError("not ready within a minute")


@pytest.mark.parametrize("name", ["haproxy", "nginx"])
def test_both_servers_are_replaced_and_no_request_is_lost(name: str, folders: dict[str, str], tmp_path: Path) -> None:
    ports = [free_port(), free_port()]
    limits = [
        word
        for limit in ("answer_seconds=60", "rate=1000000", "proxy=127.0.0.1", "notice_seconds=2")
        for word in ("--set", limit)
    ]

    def server(number: int, which: str) -> AbstractContextManager[Process]:
        arguments = ("--quiet", "--model", folders["en-de"], "--port", str(ports[number]), *limits)
        return process(tmp_path / f"log-{number}-{which}", *arguments)

    lines = sentences()[:40]
    expected = dict(zip(lines, load(folders["en-de"]).translate(lines), strict=True))
    answers: list[tuple[int, bool]] = []

    def client(number: int) -> None:
        at = number
        while not stop.is_set():
            line = lines[at % len(lines)]
            body = json.dumps({"q": line, "source": "en", "target": "de"}).encode()
            answer = ask(port, "POST", "/translate", body, **{"Content-Type": "application/json"})
            answers.append((answer.status, answer.status == 200 and answer.json["translatedText"] == expected[line]))
            at += 1

    with ExitStack() as stack:
        servers = [stack.enter_context(server(number, "old")) for number in (0, 1)]
        port = stack.enter_context(balancer(name, tmp_path, *ports))
        threads = stack.enter_context(ThreadPoolExecutor(CLIENTS))
        stop = threading.Event()
        stack.callback(stop.set)
        clients = [threads.submit(client, number) for number in range(CLIENTS)]
        for number, old in enumerate(servers):
            old.popen.send_signal(signal.SIGTERM)
            assert old.popen.wait(60) == 0
            stack.enter_context(server(number, "new"))
            until_ready(ports[number])
            count, checks = len(answers), time.monotonic() + 1.0  # two checks of the balancer
            while len(answers) < count + 10 or time.monotonic() < checks:
                time.sleep(0.05)
        stop.set()
        for one in clients:
            one.result()
    assert len(answers) > 20 and set(answers) == {(200, True)}
