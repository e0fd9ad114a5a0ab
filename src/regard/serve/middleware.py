"""The middleware around the application: check host, rate, size and read time of a request before its body is used; add
security headers, a log line and metrics to its response."""

import asyncio
import json
import logging
import time
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.hosts import called
from regard.serve.metrics import Metrics
from regard.serve.rates import Rates, network
from regard.serve.refused import Refused, shape
from regard.serve.settings import Settings

FILES = "/translate_file"
FREE = ("/health", "/ready", "/metrics")  # asked by machines that watch over this one
DISCARDED = 4 << 20  # bytes that are read to the end only so that the client reads our answer
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
}  # of every answer that does not say otherwise itself

log = logging.getLogger("regard.serve")


class Middleware:
    """ASGI middleware that checks every request and secures every response."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics, names: frozenset[str] | None) -> None:
        """Answers to these names; to any, if None."""
        self.app, self.settings, self.metrics, self.names = app, settings, metrics, names
        self.rates = Rates(settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.monotonic(), 500

        async def send_secured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            try:
                self._check_name(scope)
                if scope["path"] not in FREE:
                    self._check_rate(scope)
                body = await self._body(scope, receive)
            except Refused as refused:
                await _answer(refused, scope, send_secured)
                status = refused.status
            else:
                await self.app(scope, _replayed(body, receive), send_secured)
        finally:
            self._record(scope, status, time.monotonic() - started)

    def _check_name(self, scope: Scope) -> None:
        given = _header(scope, b"host")
        if self.names is not None and given and not called(given.decode("latin-1"), self.names):
            self.metrics.refused.labels("name").inc()
            raise Refused(421, "This server does not go by that name; allow it with --set hosts")

    def _check_rate(self, scope: Scope) -> None:
        try:
            self.rates.spend(network(scope["client"][0]) if scope.get("client") else "")
        except Refused:
            self.metrics.refused.labels("rate").inc()
            raise

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, if it is small enough and comes in time."""
        most = self.settings.file_bytes if scope["path"] == FILES else self.settings.body_bytes
        declared = _header(scope, b"content-length") or b"0"
        large = len(declared) > 18 or int(declared) > most
        body, size = bytearray(), 0
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(499, "The client has gone")
                    size += len(message.get("body", b""))
                    large = large or size > most
                    if large:
                        body.clear()
                    else:
                        body += message.get("body", b"")
                    if not message.get("more_body") or size > max(DISCARDED, 2 * most):
                        break
        except TimeoutError:
            self.metrics.refused.labels("slow").inc()
            raise Refused(408, "The request did not come in time") from None
        if large:
            self.metrics.refused.labels("size").inc()
            raise Refused(413, f"Request body is too large; {most} bytes are allowed")
        return bytes(body)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        self.metrics.requests.labels(route, str(status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        log.info("%s %s %d %.0f ms", scope["method"] if route != "other" else "-", route, status, 1000 * seconds)


def _header(scope: Scope, wanted: bytes) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == wanted), None)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body that was read, and after it whatever comes: that the client has gone."""
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


async def _answer(refused: Refused, scope: Scope, send: Send) -> None:
    content = json.dumps(shape(scope["path"], refused.sentence)).encode()
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
        **({"Connection": "close"} if refused.status in (408, 413) else {}),
        **refused.headers,
    }
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": raw})
    await send({"type": "http.response.body", "body": content})
