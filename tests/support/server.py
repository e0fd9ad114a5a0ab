"""A real server on loopback that serves bytes, and misbehaves where it is told to."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Served:
    """One file: its bytes, and how the server gives them."""

    content: bytes
    drops: list[int] = field(default_factory=list)
    """After how many bytes the connection is cut, request by request; then it is no longer."""
    codes: list[int] = field(default_factory=list)
    """Errors to answer first."""
    ranges: bool = True
    length: bool = True
    endless: bool = False
    redirect: str | None = None
    tag: str | None = '"1"'


class Server:
    """The files by path, and the headers of every request."""

    def __init__(self, port: int) -> None:
        self.files: dict[str, Served] = {}
        self.asked: list[dict[str, str]] = []
        self.port = port

    def serve(self, path: str, content: bytes, **how: Any) -> str:
        self.files[f"/{path}"] = Served(content, **how)
        return f"http://127.0.0.1:{self.port}/{path}"


@contextmanager
def running() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append({key.lower(): value for key, value in self.headers.items()})
            served = server.files.get(self.path)
            if served is None:
                self.send_error(404)
            elif served.codes:
                self.send_error(served.codes.pop(0))
            elif served.redirect is not None:
                self.send_response(302)
                self.send_header("Location", served.redirect)
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                self._give(served)

        def _give(self, served: Served) -> None:
            start = 0
            asked = self.headers.get("Range")
            if asked and served.ranges and self.headers.get("If-Range") in (None, served.tag):
                start = int(asked.removeprefix("bytes=").removesuffix("-"))
                if start >= len(served.content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(served.content)}")
                    self.end_headers()
                    return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(served.content) - 1}/{len(served.content)}")
            if served.length:
                self.send_header("Content-Length", str(len(served.content) - start))
            if served.tag:
                self.send_header("ETag", served.tag)
            self.end_headers()
            body = served.content[start:]
            if served.drops:
                body = body[: served.drops.pop(0)]
            try:
                self.wfile.write(body)
                while served.endless:
                    self.wfile.write(b"x" * 65536)
            except OSError:  # the reader has gone
                pass
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        server = Server(listener.server_address[1])
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()
