"""API keys: random, shown once, and stored only as SHA-256 in a readable text file.

A line is `HASH NAME`, or `HASH NAME +write` for a key that may write corrections; # begins a comment. A key has 256
random bits, so its hash needs no salt and no slow function.
"""

import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from regard.errors import UserError
from regard.files import write_bytes

WRITE = " +write"
LARGEST = 1 << 20  # bytes of the key file
_LINE = re.compile(r"([0-9a-f]{64})\s+(\S.*)")
_NAME = re.compile(r"[^\s#](?:[^\r\n]{0,62}[^\s])?")


@dataclass(frozen=True)
class Keys:
    """The holders of keys by the keys' hashes."""

    names: dict[str, str]
    writers: frozenset[str] = frozenset()
    """Names of those who may write corrections."""

    def holder(self, key: str) -> str | None:
        """Return the holder of a key. Every hash is compared, in constant time."""
        given = _hashed(key)
        found = [name for known, name in self.names.items() if hmac.compare_digest(known, given)]
        return found[0] if found else None


def read_keys(path: Path) -> Keys:
    try:
        content = path.read_bytes() if path.stat().st_size <= LARGEST else b"\xff"
        text = content.decode()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; make a key with --new-key NAME") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not a file of keys; name the one that --new-key wrote") from None
    names: dict[str, str] = {}
    writers = set()
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.partition("#")[0].strip()
        if not entry:
            continue
        found = _LINE.fullmatch(entry)
        if found is None:
            raise UserError(f"{path}, line {number}: not `HASH NAME`; make a key with --new-key NAME")
        name = found[2].removesuffix(WRITE).rstrip()
        names[found[1]] = name
        if found[2].endswith(WRITE):
            writers.add(name)
    return Keys(names, frozenset(writers))


def new_key(path: Path, name: str, *, write: bool = False) -> str:
    """Create and return a key, and append its hash to the file; `write` gives it the right to write corrections."""
    if not _NAME.fullmatch(name) or "#" in name or name.endswith(WRITE):
        raise UserError(f"{name!r} can't be the name of a key; use up to 64 letters, without # and line breaks")
    before = path.read_bytes() if path.exists() else b"# SHA-256 of each key, and whose it is\n"
    if path.exists() and name in read_keys(path).names.values():
        raise UserError(f"{path}: {name!r} has a key already; remove its line first, or choose another name")
    key = secrets.token_urlsafe(32)
    write_bytes(
        path, before + b"\n" * (not before.endswith(b"\n")) + f"{_hashed(key)} {name}{WRITE * write}\n".encode()
    )
    os.chmod(path, 0o600)  # noqa: PTH101
    return key


def _hashed(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
