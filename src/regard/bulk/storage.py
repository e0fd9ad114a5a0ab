"""Files on a local disk or at any fsspec address, such as s3://bucket/corpus: find, read and write them whole."""

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from regard.errors import UserError
from regard.files import CHUNK, sync_directory

PARTIAL = ".partial"  # the ending of a file that is being written
WILDCARDS = "*?["


@dataclass(frozen=True)
class InputFile:
    """An input file: its address, its name below the part of the pattern without wildcards, and its state."""

    address: str
    name: str
    size: int
    version: str
    """The file's state, as the file system tells it; equal while the file is unchanged."""


def file_system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    try:
        system, path = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise UserError(f"{address}: can't be opened: {error}; install what it needs, or check the address") from None
    return system, path


def is_local(address: str) -> bool:
    """Return whether an address is on a disk of this machine, or one that is mounted here."""
    return isinstance(file_system(address)[0], LocalFileSystem)


def find_files(pattern: str) -> list[InputFile]:
    """Return the files that match a pattern such as corpus/*.txt.zst, by name; hidden ones are left out."""
    system, path = file_system(pattern)
    with reading(pattern):
        if system.isfile(path):
            found, above = [path], _parent(path)
        elif not any(character in path for character in WILDCARDS):
            raise UserError(f"{pattern}: no such file; name files, such as '{pattern.rstrip('/')}/*.txt'")
        else:
            found, above = [name for name in system.glob(path) if system.isfile(name)], fixed_part(path)
        files = [_input_file(system, name, above) for name in sorted(found)]
    files = [file for file in files if not any(part.startswith(".") for part in file.name.split("/"))]
    if not files:
        raise UserError(f"{pattern}: no file matches; check the folder, and quote the pattern for the shell")
    return files


def fixed_part(path: str) -> str:
    """Return the folders of a pattern before the first that has a wildcard."""
    parts = path.split("/")
    first = next(at for at, part in enumerate(parts) if any(character in part for character in WILDCARDS))
    return "/".join(parts[:first])


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _input_file(system: Any, path: str, above: str) -> InputFile:
    name = path.removeprefix(above).lstrip("/")
    return InputFile(system.unstrip_protocol(path), name, int(system.size(path) or 0), str(system.ukey(path)))


@contextmanager
def reading(address: str) -> Iterator[None]:
    """Raise UserError for an address that can't be read."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{address}: can't be read: {error.strerror or error}; check the file and its rights") from None


def open_file(address: str) -> io.BufferedReader:
    """Open a file for reading, as bytes."""
    system, path = file_system(address)
    with reading(address):
        return io.BufferedReader(system.open(path, "rb"))


def checksum(address: str) -> str:
    """Return the SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with open_file(address) as file, reading(address):
        while block := file.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def size(address: str) -> int | None:
    """Return a file's size in bytes, or None if there is none."""
    system, path = file_system(address)
    system.invalidate_cache(_parent(path))  # another machine may have written it a moment ago
    try:
        return int(system.size(path))
    except FileNotFoundError:
        return None


def read_small(address: str, most: int) -> bytes | None:
    """Return the content of a file of at most `most` bytes, or None if there is none."""
    found = size(address)
    if found is None:
        return None
    if found > most:
        raise UserError(f"{address}: more than {most:,} bytes, which is too large; restore it from a copy")
    with open_file(address) as file, reading(address):
        return file.read()


class HashedFile(io.RawIOBase):
    """A file to write to that counts and hashes what is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._digest = file, hashlib.sha256()
        self.count = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._file.write(data)
        self._digest.update(data)
        self.count += (length := memoryview(data).nbytes)
        return length

    def tell(self) -> int:
        return self.count

    def sha256(self) -> str:
        return self._digest.hexdigest()


@contextmanager
def whole_file(address: str) -> Iterator[HashedFile]:
    """Yield a file to write to, which gets its name when it is complete; after an error there is none."""
    system, path = file_system(address)
    folder = _parent(path)
    temporary = f"{folder}/.{path.rpartition('/')[2]}.{uuid4().hex}{PARTIAL}"
    try:
        system.makedirs(folder, exist_ok=True)
        with system.open(temporary, "wb") as file:
            yield HashedFile(file)
            if isinstance(system, LocalFileSystem):
                file.flush()
                os.fsync(file.fileno())
        _rename(system, temporary, path)
    except BaseException as error:
        if system.exists(temporary):
            system.rm_file(temporary)
        if isinstance(error, OSError):
            raise UserError(f"{address}: can't be written: {error.strerror or error}; see to the disk there") from None
        raise


def _rename(system: Any, temporary: str, path: str) -> None:
    if isinstance(system, LocalFileSystem):
        Path(temporary).replace(path)
        sync_directory(Path(path).parent)
    else:
        system.mv(temporary, path)


def remove_partial(folder: str) -> None:
    """Remove the unfinished files that killed workers left below a local folder."""
    system, path = file_system(folder)
    for name in system.glob(f"{path}/**/.*{PARTIAL}"):
        system.rm_file(name)
