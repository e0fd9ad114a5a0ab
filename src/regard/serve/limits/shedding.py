"""Load shedding: while no text can be accepted, answer translation requests from their raw head, before HTTP is parsed.

Clients that ask again at once would otherwise keep the event loop busy, so that accepted requests wait for rejected
ones. Whatever is not plainly one request for a translation is left to the usual way.
"""

import json
import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus

from regard.serve.refused import shape
from regard.serve.state import CHARACTERS_A_TOKEN, AppState

_REQUEST = re.compile(rb"POST (/translate|/v2/translate) HTTP/1\.1\r\n((?:[!-~]+:[^\r\n\0]*\r\n)*)\r\n")
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,9})[ \t]*\r$", re.MULTILINE)
_UNUSUAL = re.compile(rb"^(?:transfer-encoding|expect|upgrade|connection:(?![ \t]*keep-alive[ \t]*\r$))", re.MULTILINE)


class Shedding:
    """The answers of an overloaded server."""

    def __init__(self, state: AppState, headers: Mapping[str, str]) -> None:
        """`headers` are those of every response."""
        self.state, self.headers = state, headers

    def enter(self, data: bytes) -> int:
        """Count a request that goes the usual way, since many may arrive before the first of them is admitted; return
        its estimated tokens, for `leave`."""
        found = _REQUEST.match(data)
        length = _LENGTH.search(found[2].lower()) if found is not None else None
        cost = 0 if length is None else min(int(length[1]), self.state.settings.body_bytes) // CHARACTERS_A_TOKEN
        self.state.batcher.entering += cost
        return cost

    def leave(self, cost: int) -> None:
        """Stop counting a request, which is admitted or rejected."""
        self.state.batcher.entering -= cost

    def answer(self, data: bytes, headers: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, int] | None:
        """Return the whole answer to a request, and how many bytes of its body are still to come; None to handle the
        request as usual. `headers` are uvicorn's own."""
        if self.state.draining or not self.state.overloaded:
            return None
        found = _REQUEST.match(data)
        if found is None:
            return None
        fields = found[2].lower()
        length = _LENGTH.findall(fields)
        if len(length) != 1 or fields.count(b"content-length") != 1 or _UNUSUAL.search(fields):
            return None
        unread = int(length[0]) - (len(data) - found.end())
        if unread < 0 or int(length[0]) > self.state.settings.body_bytes:
            return None
        path = found[1].decode()
        self.state.metrics.requests.labels(path, "503").inc()
        return self._answer(path, headers), unread

    def _answer(self, path: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        refused = self.state.batcher.overload()
        content = json.dumps(shape(path, refused.sentence)).encode()
        own = {
            **self.headers,
            **refused.headers,
            "content-type": "application/json",
            "content-length": str(len(content)),
        }
        lines = [name.encode() + b": " + value.encode() for name, value in own.items()]
        lines += [name + b": " + value for name, value in headers]
        status = HTTPStatus(refused.status)
        return f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() + b"\r\n".join([*lines, b"", content])
