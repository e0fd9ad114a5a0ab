"""The middleware around the application: check host, rate, size and read time of a request before its body is used; add
security headers, a log line and metrics to its response."""

import asyncio
import json
import logging
import time
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.limits.admission import Lease
from regard.serve.limits.hosts import called, same_origin
from regard.serve.limits.rates import Rates, network
from regard.serve.refused import Refused, shape
from regard.serve.state import AppState

FILES = ("/translate_file", "/v2/document")
FREE = ("/health", "/ready", "/metrics")  # monitoring endpoints
SAFE = ("GET", "HEAD", "OPTIONS")
TRANSLATE_BY_GET = "/v2/translate"
TRANSLATIONS = ("/translate", "/v2/translate")
DISCARDED = 4 << 20  # bytes read and dropped, so that the client reads our answer
DISCARD_SECONDS = 2.0
POLICY = "content-security-policy"
HEADERS = {
    POLICY: "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}  # defaults for every response
RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

log = logging.getLogger("regard.serve")


class Middleware:
    """ASGI middleware that checks every request and secures every response."""

    def __init__(self, app: ASGIApp, state: AppState, names: frozenset[str] | None) -> None:
        """Wrap an application; `names` are the accepted host names, None for any."""
        self.app, self.names = app, names
        self.settings, self.metrics, self.admission = state.settings, state.metrics, state.admission
        self.rates = Rates(state.settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.monotonic(), 500
        incoming = Incoming(receive)

        async def send_secured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(one for one in RAW_HEADERS if one[0] not in given)]
            await send(message)

        try:
            try:
                lease = self._admit(scope)
            except Refused as refused:
                status = refused.status
                await _answer(refused, scope, incoming, send_secured)
                return
            try:
                body = await self._body(scope, incoming)
            except Refused as refused:
                status = refused.status
                await _answer(refused, scope, incoming, send_secured)
            else:
                scope["regard.lease"] = lease
                await self.app(scope, _replayed(body, receive), send_secured)
            finally:
                lease.release()
        finally:
            self._record(scope, status, time.monotonic() - started)

    def _admit(self, scope: Scope) -> Lease:
        """Check the head of a request before its body is read."""
        _check_framing(scope)
        self._check_name(scope)
        self._check_origin(scope)
        if scope["path"] not in FREE:
            self._check_rate(scope)
        declared = _declared(scope)
        size = self._most(scope) if declared is None else declared
        if size > self._most(scope):
            self.metrics.refused.labels("size").inc()
            raise _too_large(self._most(scope))
        try:
            return self.admission.enter(_address(scope), size, document=scope["path"] in FILES)
        except Refused:
            self.metrics.refused.labels("inflight").inc()
            raise

    def _check_origin(self, scope: Scope) -> None:
        """Reject cross-origin browser requests for work."""
        if scope["method"] in SAFE and scope["path"] != TRANSLATE_BY_GET:
            return
        site, origin = _header(scope, b"sec-fetch-site"), _header(scope, b"origin")
        if site is not None:
            same = site in (b"same-origin", b"none")
        else:
            same = origin is None or same_origin(
                origin.decode("latin-1"), (_header(scope, b"host") or b"").decode("latin-1"), self.settings.hosts
            )
        if not same:
            self.metrics.refused.labels("origin").inc()
            raise Refused(403, "Requests from pages of other origins are refused")

    def _check_name(self, scope: Scope) -> None:
        given = _header(scope, b"host")
        if self.names is not None and given and not called(given.decode("latin-1"), self.names):
            self.metrics.refused.labels("name").inc()
            raise Refused(421, "This server does not go by that name; allow it with --set hosts")

    def _check_rate(self, scope: Scope) -> None:
        try:
            self.rates.spend(_address(scope))
        except Refused:
            self.metrics.refused.labels("rate").inc()
            raise

    async def _body(self, scope: Scope, incoming: "Incoming") -> bytes:
        """Return the whole body if it is small enough and arrives in time."""
        most, body = self._most(scope), bytearray()
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                while True:
                    message = await incoming.receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(499, "The client has gone")
                    body += message.get("body", b"")
                    if len(body) > most:
                        self.metrics.refused.labels("size").inc()
                        raise _too_large(most)
                    if incoming.ended:
                        return bytes(body)
        except TimeoutError:
            self.metrics.refused.labels("slow").inc()
            raise Refused(408, "The request did not come in time") from None

    def _most(self, scope: Scope) -> int:
        """Return the largest accepted body in bytes."""
        return self.settings.file_bytes if scope["path"] in FILES else self.settings.body_bytes

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        self.metrics.requests.labels(route, str(status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        if status == 200 and route in TRANSLATIONS:
            self.metrics.translated_seconds.observe(seconds)
        log.info("%s %s %d %.0f ms", scope["method"] if route != "other" else "-", route, status, 1000 * seconds)


class Incoming:
    """The messages of a request's body, and whether the last one has arrived."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False

    async def receive(self) -> Message:
        message = await self._receive()
        self.ended = not message.get("more_body")
        return message

    async def discard(self) -> None:
        """Read and drop the body, or a bounded part of it."""
        left = DISCARDED
        while left > 0 and not self.ended:
            left -= len((await self.receive()).get("body", b""))


def _header(scope: Scope, wanted: bytes) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == wanted), None)


def _declared(scope: Scope) -> int | None:
    """Return the declared size of a body; None if it is chunked."""
    if _header(scope, b"transfer-encoding") is not None:
        return None
    length = _header(scope, b"content-length") or b"0"
    return int(length[:18])


def _address(scope: Scope) -> str:
    return network(scope["client"][0]) if scope.get("client") else ""


def _check_framing(scope: Scope) -> None:
    """Reject a body with ambiguous length (request smuggling)."""
    if _header(scope, b"transfer-encoding") is not None and _header(scope, b"content-length") is not None:
        raise Refused(400, "Invalid request: both Content-Length and Transfer-Encoding")


def _too_large(most: int) -> Refused:
    return Refused(413, f"Request body is too large; {most} bytes are allowed")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that replays the body, then passes on later messages, such as a disconnect."""
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


async def _answer(refused: Refused, scope: Scope, incoming: Incoming, send: Send) -> None:
    """Answer before the body is read, and close the connection; but first drop what the client still sends, for a
    limited time, since otherwise it could not read the answer."""
    content = json.dumps(shape(scope["path"], refused.sentence)).encode()
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
        **({"Connection": "close"} if _has_body(scope) else {}),
        **refused.headers,
    }
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": raw})
    await send({"type": "http.response.body", "body": content, "more_body": True})
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS if refused.status != 408 else 0):
            await incoming.discard()
    await send({"type": "http.response.body", "body": b""})


def _has_body(scope: Scope) -> bool:
    return _declared(scope) != 0
