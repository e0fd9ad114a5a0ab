"""Run the server: listen, enforce limits on connections, and shut down gracefully."""

import asyncio
import logging
import re
import signal
import socket
import sys
import time
from collections import Counter
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.errors import UserError
from regard.serve.app import create_app
from regard.serve.hosts import names
from regard.serve.rates import network, trusted
from regard.serve.state import AppState

BACKLOG = 2048  # connections waiting to be accepted
LONGEST_HEAD = 64 << 10  # bytes of a request line and its headers; a query string may hold a text
PART = 64 << 10  # bytes of an answer that a client must read in time
MOST_REFUSED = 100  # connections over the limit that get time to read the error
REFUSED_SECONDS = 1.0
TOO_MANY = (
    "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 1\r\nContent-Length: 21\r\n"
    "Connection: close\r\n\r\nToo many connections\n"
)
SWITCH_SECONDS = 0.001  # thread switch interval, so that Python threads do not block the event loop
_END_OF_HEAD = re.compile(rb"\n\r?\n")


class Server(uvicorn.Server):
    """A server that, on a signal, reports not ready, finishes running requests, and then stops listening."""

    def __init__(self, config: uvicorn.Config, state: AppState) -> None:
        super().__init__(config)
        self.state = state
        self.asked: float | None = None
        """When the stop signal came."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.asked is not None or sig == signal.SIGINT:
            super().handle_exit(sig, frame)
            return
        self.asked = time.monotonic()
        self.state.draining = True

    async def on_tick(self, counter: int) -> bool:
        if self.asked is not None:
            patience = self.state.settings.drain_seconds
            if not self.state.at_work or time.monotonic() - self.asked > patience:
                return True
        return await super().on_tick(counter)


class LimitedConnection(h11.Connection):
    """A connection that limits every head to LONGEST_HEAD. h11 itself measures only incomplete heads, so that a head in
    one read may be as long as the read."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        if self.their_state is h11.IDLE:
            received, _ = self.trailing_data
            end = _END_OF_HEAD.search(received)
            if (len(received) if end is None else end.end()) > LONGEST_HEAD:
                raise h11.RemoteProtocolError("the head is too long", error_status_hint=431)
        return super().next_event()


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with limits on connections (total and per address), on the size of a head, and on the time to receive a
    head and to send an answer. No address is logged."""

    state: AppState
    seconds = 20.0
    connected: Counter[str]
    """Connections by address."""
    refused: set["LimitedProtocol"]
    """Connections over the limit that have yet to read the error."""
    address = ""
    admitted = False
    head_timer: asyncio.TimerHandle | None = None
    answer_timer: asyncio.TimerHandle | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.access_log = False  # a query string may hold a text
        self.conn = LimitedConnection(h11.SERVER, LONGEST_HEAD)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        settings, peer = self.state.settings, transport.get_extra_info("peername")
        self.address = network(peer[0]) if peer else ""
        if self.connected.total() >= settings.connections:
            self._refuse(transport, "503 Service Unavailable")
            return
        shared = trusted(self.address, settings.proxy)
        if not shared and self.connected[self.address] >= settings.address_connections:
            self._refuse(transport, "429 Too Many Requests")
            return
        self.connected[self.address] += 1
        self.admitted = True
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # report all data that is not sent at once
        self._wait_for_head()

    def _refuse(self, transport: asyncio.Transport, status: str) -> None:
        """Send an error on a connection over the limit, and close it after the client had time to read it."""
        self.state.metrics.refused.labels("connections").inc()
        transport.write(TOO_MANY.format(status=status).encode())
        if len(self.refused) >= MOST_REFUSED:
            transport.close()
            return
        self.refused.add(self)
        transport.write_eof()
        self.head_timer = self.loop.call_later(REFUSED_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        if not self.admitted:
            return
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self.head_timer is None:
            self._wait_for_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_answer()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_watching()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_watching()
        if not self.admitted:
            self.refused.discard(self)
            return
        self.connected[self.address] -= 1
        if not self.connected[self.address]:
            del self.connected[self.address]
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self.head_timer = self.loop.call_later(self.seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def _watch_answer(self) -> None:
        size = self.transport.get_write_buffer_size()
        self.answer_timer = self.loop.call_later(self.seconds, self._check_answer, size)

    def _check_answer(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() < PART:
            self.transport.abort()  # close() would wait until all data is sent
        else:
            self._watch_answer()

    def _stop_watching(self) -> None:
        if self.answer_timer is not None:
            self.answer_timer.cancel()
            self.answer_timer = None


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{host}:{port}: can't listen there ({reason}); choose another --port or --host") from None
    return listener


def server(state: AppState, listener: socket.socket, host: str) -> Server:
    """Return a configured server, which is given its socket later; `host` is the host it listens on."""
    settings = state.settings
    own = names(host, listener.getsockname()[0], settings.hosts)
    own_state = {"state": state, "seconds": settings.body_seconds, "connected": Counter(), "refused": set()}
    protocol = type("Protocol", (LimitedProtocol,), own_state)
    config = uvicorn.Config(
        create_app(state, own),
        http=protocol,
        ws="none",
        lifespan="off",
        backlog=BACKLOG,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=settings.proxy is not None,
        forwarded_allow_ips=settings.proxy,
        timeout_graceful_shutdown=2,
    )
    return Server(config, state)


def serve(state: AppState, listener: socket.socket, host: str) -> None:
    """Serve until a stop signal."""
    sys.setswitchinterval(SWITCH_SECONDS)
    for library in ("uvicorn", "python_multipart"):  # they log every bad request
        logging.getLogger(library).setLevel(logging.ERROR)
    try:
        server(state, listener, host).run(sockets=[listener])
    finally:
        state.close()
