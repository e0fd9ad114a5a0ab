"""Translated files that wait to be fetched: for a while, within a total size, under names that nobody can guess."""

import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from regard.serve.refused import Refused

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f/\\\ud800-\udfff\"<>|:*?]+")


@dataclass(frozen=True)
class File:
    path: Path
    name: str
    """What the person who fetches it sees."""
    size: int
    until: float


class Kept:
    """A temporary folder, removed at the end."""

    def __init__(self, most_bytes: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.most_bytes, self.seconds, self.clock = most_bytes, seconds, clock
        self._folder = TemporaryDirectory(prefix="regard-serve-")
        self._files: OrderedDict[str, File] = OrderedDict()

    def put(self, name: str, content: bytes) -> str:
        """Keep a file; the name to fetch it by."""
        if len(content) > self.most_bytes:
            raise Refused(413, "The translated file is too large to be kept")
        token = secrets.token_urlsafe(24) + PurePath(name).suffix.lower()
        path = Path(self._folder.name) / token
        path.write_bytes(content)
        self._files[token] = File(path, name, len(content), self.clock() + self.seconds)
        self._tidy()
        return token

    def get(self, token: str) -> File | None:
        self._tidy()
        return self._files.get(token)

    def close(self) -> None:
        self._folder.cleanup()

    def _tidy(self) -> None:
        total = sum(file.size for file in self._files.values())
        for token, file in list(self._files.items()):
            if file.until > self.clock() and total <= self.most_bytes:
                break  # the others came later
            file.path.unlink(missing_ok=True)
            total -= self._files.pop(token).size


def safe_name(name: str) -> str:
    """A file's name without folders and what has no place in a name."""
    last = re.split(r"[/\\]", name)[-1]
    return _UNSAFE.sub("", last).strip(" .")[-100:]
