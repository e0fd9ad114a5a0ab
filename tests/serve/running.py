"""A real server on loopback, in a thread of this process or in one of its own, and a client that speaks to it."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from regard.engines.engine import Engine, Progress, Request, quiet
from regard.search.hypothesis import Hypothesis
from regard.serve.limits.keys import Keys
from regard.serve.run import Server, bound, server
from regard.serve.settings import Settings
from regard.serve.state import AppState

BOUNDARY = "a-line-that-no-text-has"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Running:
    """A server that listens."""

    state: AppState
    server: Server
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        return ask(self.port, method, path, body, **headers)

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, fields: Any, **headers: str) -> Answer:
        """As JSON."""
        return self.ask("POST", path, json.dumps(fields).encode(), **{"Content-Type": "application/json", **headers})

    def post_form(self, path: str, fields: Mapping[str, Any], **headers: str) -> Answer:
        form = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        return self.ask("POST", path, urlencode(fields, doseq=True).encode(), **form)

    def post_multipart(self, path: str, fields: Mapping[str, Any], files: Mapping[str, tuple[str, bytes]]) -> Answer:
        return self.ask("POST", path, multipart(fields, files), **{"Content-Type": MULTIPART})

    def figure(self, name: str) -> float:
        """A figure of /metrics, by its name and labels."""
        lines = self.get("/metrics").content.decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == name)


MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"


def ask(port: int, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return Answer(response.status, {key.lower(): value for key, value in response.getheaders()}, response.read())
    finally:
        connection.close()


def multipart(fields: Mapping[str, Any], files: Mapping[str, tuple[str, bytes]]) -> bytes:
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in fields.items()]
    for name, (filename, content) in files.items():
        head = f'Content-Disposition: form-data; name="{name}"; filename="{filename}"\r\n'
        parts.append(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + content)
    between = f"\r\n--{BOUNDARY}\r\n".encode()
    return between[2:] + between.join(parts) + f"\r\n--{BOUNDARY}--\r\n".encode()


@contextmanager
def running(
    *models: str,
    keys: Keys | None = None,
    memory: Path | None = None,
    glossaries: Sequence[str] = (),
    **settings: Any,
) -> Iterator[Running]:
    """A server without the limits that a busy machine could reach, unless they are given."""
    unlimited = {"rate": 0, "answer_seconds": 600.0, "deadline": 600.0, "body_seconds": 600.0}
    state = AppState(models, Settings(**{**unlimited, **settings}), keys, memory=memory, glossaries=glossaries)
    listener = bound("127.0.0.1", 0)
    own = server(state, listener, "127.0.0.1")
    thread = threading.Thread(target=own.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield Running(state, own, listener.getsockname()[1])
    finally:
        own.should_exit = True
        thread.join()
        state.close()


@dataclass(frozen=True)
class Process:
    """`regard serve` as people start it."""

    popen: "subprocess.Popen[bytes]"
    port: int
    log: Path

    def cpu_seconds(self) -> float:
        """What it has computed so far, in all of its threads."""
        fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def process(log: Path, *arguments: str) -> Iterator[Process]:
    with log.open("wb") as errors:
        popen = subprocess.Popen([sys.executable, "-m", "regard", "serve", *arguments], stderr=errors)
    try:
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/\n", log.read_text())):
            assert popen.poll() is None, log.read_text()
            time.sleep(0.02)
        yield Process(popen, int(found[1]), log)
    finally:
        popen.kill()  # if it has not ended
        popen.wait()


class Gated:
    """An engine that waits to be let through, so that a test can see what happens meanwhile."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.gate = threading.Event()
        self.entered = 0
        """How often it was asked."""
        self.searched: list[list[int]] = []

    def search(self, sources: Any, request: Request, progress: Progress = quiet) -> list[list[Hypothesis]]:
        self.entered += 1
        assert self.gate.wait(60)
        self.searched += [list(source) for source in sources]
        return self.engine.search(sources, request, progress)


@contextmanager
def gated(running: Running, model: str) -> Iterator[Gated]:
    """The engine of a model behind a gate, which opens at the end."""
    translator = running.state.models.loaded(model).translator
    gate = Gated(translator.engine)
    translator.engine = gate
    try:
        yield gate
    finally:
        gate.gate.set()
        translator.engine = gate.engine


def raw(served: Running, head: str, body: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=60)
    connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n" + body)
    return connection


def status(connection: socket.socket) -> int:
    with connection, connection.makefile("rb") as answer:
        line = answer.readline()
        assert line, "closed without an answer"
        return int(line.split()[1])
