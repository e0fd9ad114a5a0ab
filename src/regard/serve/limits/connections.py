"""Limits on connections: how many, how long a head, and how slow a client may be."""

import asyncio
import re
from collections import Counter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.serve.limits.rates import network, trusted
from regard.serve.limits.shedding import Shedding
from regard.serve.metrics import Metrics
from regard.serve.settings import Settings

LONGEST_HEAD = 64 << 10  # bytes of a request line and its headers; a query string may hold a text
PART = 64 << 10  # bytes of an answer that a client must read in time
MOST_REFUSED = 100  # connections over the limit that get time to read the error
REFUSED_SECONDS = 1.0
READ_BYTES = 16384  # of a socket in one turn of the event loop, so that /health need not wait for many uploads
TOO_MANY = (
    "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 1\r\nContent-Length: 21\r\n"
    "Connection: close\r\n\r\nToo many connections\n"
)
_END_OF_HEAD = re.compile(rb"\n\r?\n")


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

    settings: Settings
    metrics: Metrics
    shedding: Shedding
    connected: Counter[str]
    """Connections by address."""
    refused: set["LimitedProtocol"]
    """Connections over the limit that have yet to read the error."""
    address = ""
    unread = 0
    """Bytes to come of the body of a request that is already answered."""
    admitted = False
    head_timer: asyncio.TimerHandle | None = None
    answer_timer: asyncio.TimerHandle | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.access_log = False  # a query string may hold a text
        self.conn = LimitedConnection(h11.SERVER, LONGEST_HEAD)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        settings, peer = self.settings, transport.get_extra_info("peername")
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
        transport.max_size = READ_BYTES  # type: ignore[attr-defined]  # the buffer that asyncio passes to recv()
        self._wait_for_head()

    def _refuse(self, transport: asyncio.Transport, status: str) -> None:
        """Send an error on a connection over the limit, and close it after the client had time to read it."""
        self.metrics.refused.labels("connections").inc()
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
        dropped = min(self.unread, len(data))
        self.unread -= dropped
        data = data[dropped:]
        if not data or self._shed(data):
            return
        cost = self.shedding.enter(data)
        super().data_received(data)
        if cost:
            self.loop.call_soon(self.shedding.leave, cost)  # after its task's first step, which admits it
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self.head_timer is None:
            self._wait_for_head()

    def _shed(self, data: bytes) -> bool:
        """Answer a request at once if the server is overloaded."""
        between = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
        shed = self.shedding.answer(data, self.server_state.default_headers) if between else None
        if shed is None:
            return False
        answer, self.unread = shed
        self.transport.write(answer)
        self._unset_keepalive_if_required()
        self._stop_waiting()
        self._wait_for_head()
        return True

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
        self.head_timer = self.loop.call_later(self.settings.body_seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def _watch_answer(self) -> None:
        size = self.transport.get_write_buffer_size()
        self.answer_timer = self.loop.call_later(self.settings.body_seconds, self._check_answer, size)

    def _check_answer(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() < PART:
            self.transport.abort()  # close() would wait until all data is sent
        else:
            self._watch_answer()

    def _stop_watching(self) -> None:
        if self.answer_timer is not None:
            self.answer_timer.cancel()
            self.answer_timer = None
