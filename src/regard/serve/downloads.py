"""Store of translated files for download: limited in time and total size, under unguessable names.

Files stay in memory, so that no user's text is left on a disk, however the server ends.
"""

import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from regard.serve.refused import Refused

MOST = 10_000  # files; even an empty one takes memory
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f/\\\ud800-\udfff\"<>|:*?]+")


@dataclass(frozen=True)
class File:
    name: str
    """File name shown to the user."""
    content: bytes
    until: float


class DownloadStore:
    """Translated files in memory by download name, oldest first."""

    def __init__(self, most_bytes: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.most_bytes, self.seconds, self.clock = most_bytes, seconds, clock
        self._files: OrderedDict[str, File] = OrderedDict()
        self._bytes = 0

    def put(self, name: str, content: bytes) -> str:
        """Store a file and return its download name."""
        if len(content) > self.most_bytes:
            raise Refused(413, "The translated file is too large to be kept")
        token = secrets.token_urlsafe(24) + PurePath(name).suffix.lower()
        self._files[token] = File(name, content, self.clock() + self.seconds)
        self._bytes += len(content)
        self._tidy()
        return token

    def get(self, token: str) -> File | None:
        self._tidy()
        return self._files.get(token)

    def take(self, token: str) -> File | None:
        """Return a file and remove it."""
        self._tidy()
        found = self._files.pop(token, None)
        if found is not None:
            self._bytes -= len(found.content)
        return found

    def _tidy(self) -> None:
        while self._files:
            oldest = next(iter(self._files.values()))
            if oldest.until > self.clock() and self._bytes <= self.most_bytes and len(self._files) <= MOST:
                return
            self._files.popitem(last=False)
            self._bytes -= len(oldest.content)


def safe_name(name: str) -> str:
    """Return a file name without folders and without unsafe characters."""
    last = re.split(r"[/\\]", name)[-1]
    return _UNSAFE.sub("", last).strip(" .")[-100:]
