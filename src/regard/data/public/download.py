"""Download of a file to disk, complete and verified; an interrupted download resumes.

Beside NAME is NAME.json, with its address and SHA-256; during the download there are NAME.part and NAME.part.json.
Where no checksum is published, that of the first download is used from then on.
"""

import hashlib
import ssl
import time
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO, Annotated, Any, cast
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from pydantic import Field

from regard import files
from regard.config.checked import Frozen
from regard.errors import UserError

ATTEMPTS = 5  # in a row without progress
TIMEOUT = 30.0  # seconds without data from the server
LARGEST = 16 << 30  # bytes of a file of unpublished size
BLOCK = 1 << 18

_PASSING = {408, 425, 429, 500, 502, 503, 504}  # temporary HTTP errors
_LOST = (URLError, HTTPException, ConnectionError, TimeoutError, ssl.SSLError)

DownloadProgress = Callable[[str, int, int | None], None]
"""Called with a name, the bytes done, and the total bytes if known."""


class Remote(Frozen):
    """A published file with its size and checksums, as far as they are known."""

    address: Annotated[str, Field(pattern="^https?://[^/]+/.+")]
    size: Annotated[int, Field(ge=1)] | None = None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    md5: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None

    @property
    def has_checksum(self) -> bool:
        return self.sha256 is not None or self.md5 is not None


def download(remote: Remote, path: Path, progress: DownloadProgress | None = None, *, wait: float = 1.0) -> None:
    """Download the file, or resume its download; if it exists, verify its checksum.

    After a lost connection it retries, first after `wait` seconds, then after twice as many. A failure is a UserError.
    """
    record, part = _beside(path), path.with_name(f"{path.name}.part")
    with files.disk_mistakes(path.parent), files.one_writer(path):
        if path.exists():
            if wrong := _difference(remote, path, record):
                raise UserError(f"{path}: {wrong}; remove it and get it again")
            return
        resumed = part.exists()
        _fetch(remote, part, progress or (lambda *_: None), wait)
        wrong = _difference(remote, part, record)
        if wrong and resumed:  # the file has changed since its first bytes were received
            part.unlink()
            _fetch(remote, part, progress or (lambda *_: None), wait)
            wrong = _difference(remote, part, record)
        if wrong:
            part.unlink()
            _beside(part).unlink(missing_ok=True)
            raise UserError(f"{remote.address}: sent a file that is not the right one ({wrong}); try again later")
        known = {"address": remote.address, "size": part.stat().st_size, "sha256": files.sha256(part)}
        files.write_json(record, known)
        part.replace(path)
        _beside(part).unlink(missing_ok=True)
        files.sync_directory(path.parent)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _difference(remote: Remote, path: Path, record: Path) -> str | None:
    """Return how the file differs from the published one or, if its checksum is unknown, from the first download."""
    size = path.stat().st_size
    if size == 0:
        return "it is empty"
    if remote.size is not None and size != remote.size:
        return f"{size:,} bytes where {remote.size:,} were published"
    for kind, expected in (("sha256", remote.sha256), ("md5", remote.md5)):
        if expected is not None and (found := _digest(kind, path)) != expected:
            return f"its {kind} is {found} where {expected} was published"
    if not remote.has_checksum and record.exists():
        known = files.read_json(record)
        if not isinstance(known, dict) or known.get("address") != remote.address:
            return None
        if (found := _digest("sha256", path)) != known.get("sha256"):
            return f"its sha256 is {found}, another than at the first download, recorded in {record}"
    return None


def _digest(kind: str, path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


def _fetch(remote: Remote, part: Path, progress: DownloadProgress, wait: float) -> None:
    """Receive until the file is complete; give up after ATTEMPTS without progress."""
    furthest, failures = _size(part), 0
    while True:
        try:
            if _receive(remote, part, progress):
                return
            reason = "the connection ended early"
        except HTTPError as error:
            reason = f"the server answers {error.code} {error.reason}"
            error.close()
            if error.code == 416:  # no bytes after ours: the part is complete, or not the beginning of this file
                if str(error.headers.get("Content-Range")) == f"bytes */{_size(part)}":
                    return
                part.unlink(missing_ok=True)
            elif error.code not in _PASSING:
                raise UserError(f"{remote.address}: {reason}; the file may have moved, look for it by hand") from None
        except _LOST as error:
            reason = str(getattr(error, "reason", None) or error) or type(error).__name__
            if isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError):
                raise UserError(f"{remote.address}: {reason}; check this machine's clock and certificates") from None
        failures = 1 if _size(part) > furthest else failures + 1
        furthest = max(furthest, _size(part))
        if failures == ATTEMPTS:
            kept = f"{_size(part):,} bytes are kept, so the same command goes on"
            raise UserError(f"{remote.address}: {reason}; check the network and try again ({kept})") from None
        time.sleep(wait * 2 ** (failures - 1))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _receive(remote: Remote, part: Path, progress: DownloadProgress) -> bool:
    """Return headers that ask for the missing bytes only, if a validator or the checksum can verify them."""
    limit = remote.size or LARGEST
    headers = _headers(remote, part)
    with _open(request.Request(remote.address, headers=headers)) as response:  # noqa: S310 (Remote admits http(s) only)
        start, total = _range(response)
        have = _size(part) if "Range" in headers and response.status == 206 else 0
        if start != have:
            raise HTTPException("the server sends another part of the file than was asked for")
        if total is not None and total > limit:
            raise UserError(
                f"{remote.address}: {total:,} bytes, but at most {limit:,} are expected; look for it by hand"
            )
        name = part.name.removesuffix(".part")
        mark = _mark(response.headers)
        files.write_json(_beside(part), {"address": remote.address, "mark": mark})
        with part.open("ab" if have else "wb") as file:
            progress(name, have, total or remote.size)
            while block := _block(response):
                have += len(block)
                if have > limit:
                    break
                file.write(block)
                progress(name, have, total or remote.size)
    if have > limit:
        part.unlink()
        raise UserError(f"{remote.address}: sends more than the {limit:,} bytes that are expected; nothing is kept")
    return have == (total or remote.size or have)


def _block(response: HTTPResponse) -> bytes:
    try:
        return response.read1(BLOCK)
    except OSError as error:  # distinguished from those of the disk
        raise HTTPException(str(error)) from error


def _headers(remote: Remote, part: Path) -> dict[str, str]:
    """Request the missing bytes if they can be verified to belong to the part: by its validator, or by the checksum."""
    headers = {"User-Agent": "regard (a command for machine translation)", "Accept-Encoding": "identity"}
    known = files.read_json(_beside(part)) if part.exists() and _beside(part).exists() else {}
    if not isinstance(known, dict) or known.get("address") != remote.address:
        return headers
    mark = known.get("mark")
    if _size(part) and (remote.has_checksum or mark):
        headers["Range"] = f"bytes={_size(part)}-"
        if isinstance(mark, str):
            headers["If-Range"] = mark
    return headers


def _mark(headers: HTTPMessage) -> str | None:
    """Return the server's validator of this version of the file."""
    tag = headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")


def _range(response: HTTPResponse) -> tuple[int, int | None]:
    """Return the offset of the received bytes, and the size of the whole file."""
    if response.status != 206:
        length = response.headers.get("Content-Length") or ""
        return 0, int(length) if length.isdecimal() else None
    span, _, total = (response.headers.get("Content-Range") or "").removeprefix("bytes ").partition("/")
    start = span.partition("-")[0]
    return int(start) if start.isdecimal() else -1, int(total) if total.isdecimal() else None


class _Redirects(request.HTTPRedirectHandler):
    """A redirect handler for http and https only, and never from https to http."""

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> request.Request | None:
        scheme = urlsplit(newurl).scheme
        if scheme not in ("http", "https") or (req.type == "https" and scheme == "http"):
            fp.close()
            raise UserError(f"{req.full_url}: leads to {newurl}, which is not safe; look for the file by hand")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(asked: request.Request) -> HTTPResponse:
    """Open an address as urllib does, but with no other protocols than http and https."""
    opener = request.OpenerDirector()
    kinds: list[Any] = [
        request.ProxyHandler, request.HTTPHandler, request.HTTPSHandler, _Redirects, request.HTTPDefaultErrorHandler,
        request.HTTPErrorProcessor,
    ]  # fmt: skip
    for kind in kinds:
        opener.add_handler(kind())
    return cast(HTTPResponse, opener.open(asked, timeout=TIMEOUT))
