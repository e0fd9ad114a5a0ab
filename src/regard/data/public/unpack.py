"""Extraction of untrusted archives: nothing outside the folder, regular files only, and limited sizes.

Names, types and sizes are checked while the archive is read, whatever its headers claim beforehand.
"""

import bz2
import errno
import gzip
import lzma
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Any, Self

from regard.errors import UserError

MEMBERS = 10_000
BYTES = 64 << 30
LONGEST_NAME = 1000  # bytes of a member's path; systems allow 4,096, including the folder that it is put in
DEEPEST = 32  # nested folders
LONGEST_HEADER = 4096  # bytes of a name or a pax header; Python before 3.11.10 takes time quadratic in them
RATIO = 200  # of unpacked to packed bytes; text reaches 20 at most
SMALL = 16 << 20  # bytes that any archive may unpack to, whatever the ratio
BLOCK = 1 << 20

_COMPRESSED: dict[str, Callable[[Path], BufferedIOBase]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
# What Python's readers raise for bytes that are not an archive: ValueError for numbers and names that can't be parsed,
# RecursionError for headers that follow one another without a member.
_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, lzma.LZMAError, zlib.error, struct.error, EOFError,
    NotImplementedError, RecursionError, LookupError, OverflowError, ValueError,
)  # fmt: skip
_EXTENDED = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip


def unpack(archive: Path, folder: Path, wanted: Collection[str] | None = None) -> None:
    """Create the folder and extract the archive's files, or the wanted ones; after an error there is no folder.

    The name determines the format: .zip, .tar, .tar.gz or .tgz, .tar.bz2, .tar.xz, and .gz, .bz2 and .xz of a single
    file.
    """
    folder.mkdir(parents=True)
    try:
        with _mistakes(archive):
            _Unpacking(archive, folder, wanted).run()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def _mistakes(archive: Path) -> Iterator[None]:
    try:
        yield
    except UserError:
        raise
    except _BROKEN as error:
        raise UserError(f"{archive}: not a whole archive ({error}); remove it and get it again") from None
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise UserError(f"{archive}: has two members of one name ({error.filename}); do not use it") from None
    except OSError as error:
        if error.errno not in (None, errno.EINVAL, errno.ENAMETOOLONG):  # invalid seeks and names, from zipfile
            raise
        raise UserError(f"{archive}: not a whole archive ({error}); remove it and get it again") from None


class _Unpacking:
    """One archive while it is unpacked."""

    def __init__(self, archive: Path, folder: Path, wanted: Collection[str] | None) -> None:
        self.archive, self.folder, self.wanted = archive, folder, wanted
        self.left = min(BYTES, max(SMALL, RATIO * archive.stat().st_size))
        """Bytes that may still be extracted."""
        self.members = 0
        self.written: set[str] = set()

    def run(self) -> None:
        name = self.archive.name
        name = f"{name.removesuffix('.tgz')}.tar.gz" if name.endswith(".tgz") else name
        opened = next((kind for ending, kind in _COMPRESSED.items() if name.endswith(ending)), None)
        if name.endswith(".zip"):
            self._zip()
        elif Path(name).stem.endswith(".tar") or name.endswith(".tar"):
            with (opened or _plain)(self.archive) as stream:
                self._tar(stream)
        elif opened is not None:
            with opened(self.archive) as stream:
                self._write(Path(name).stem, _Counted(stream, self.spend))
        else:
            raise UserError(f"{self.archive}: no archive that regard can unpack; its name tells no kind")
        if missing := sorted(set(self.wanted or ()) - self.written):
            raise UserError(f"{self.archive}: has no {missing[0]}; it is another release than regard knows")

    def _tar(self, stream: BufferedIOBase) -> None:
        counted: Any = _Counted(stream, self.spend)
        with tarfile.open(fileobj=counted, mode="r|", encoding="utf-8", tarinfo=_Header) as tar:
            for member in tar:
                self._count(member.name)
                if member.isdir():
                    continue
                if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
                    raise self._refused(member.name, "is a link or a device, not a file")
                content = tar.extractfile(member)
                assert content is not None
                self._write(member.name, content)

    def _zip(self) -> None:
        with zipfile.ZipFile(self.archive) as archive:
            for member in archive.infolist():
                self._count(member.orig_filename)
                if member.is_dir():
                    continue
                if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
                    raise self._refused(member.filename, "is a link or a device, not a file")
                if member.flag_bits & 1:
                    raise self._refused(member.filename, "is encrypted")
                with archive.open(member) as content:
                    self._write(member.filename, _Counted(content, self.spend))

    def _count(self, name: str) -> None:
        self._parts(name)
        self.members += 1
        if self.members > MEMBERS:
            raise UserError(f"{self.archive}: has more than {MEMBERS:,} members; do not use it")

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise UserError(f"{self.archive}: unpacks to far more than a text does; do not use it")

    def _write(self, name: str, content: "IO[bytes] | _Counted") -> None:
        parts = self._parts(name)
        if self.wanted is not None and "/".join(parts) not in self.wanted:
            return
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            while block := content.read(BLOCK):
                file.write(block)
        self.written.add("/".join(parts))

    def _parts(self, name: str) -> list[str]:
        """Return the folders and the file of a member's name; reject one outside our folder."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or "\\" in name:
            raise self._refused(name, "would lie outside its folder")
        if any(ord(character) < 32 or 0xD800 <= ord(character) < 0xE000 for character in name):
            raise self._refused(name, "is no name")
        lengths = [len(part.encode()) for part in parts]
        if sum(lengths) > LONGEST_NAME or len(parts) > DEEPEST or any(length > 255 for length in lengths):
            raise self._refused(f"{name[:40]}…", "has too long a name")
        return parts

    def _refused(self, name: str, why: str) -> UserError:
        return UserError(f"{self.archive}: its member {name!r} {why}; do not use this archive")


class _Header(tarfile.TarInfo):
    """A tar header. tarfile takes a damaged one for the end of the archive, and does not check sizes."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if not any(buf):  # the end
                raise
            raise tarfile.ReadError(str(error)) from None
        if header.size < 0 or (header.type in _EXTENDED and header.size > LONGEST_HEADER):
            raise tarfile.ReadError(f"a header of {header.size:,} bytes")
        return header


class _Counted:
    """A stream that counts the bytes read from it."""

    def __init__(self, stream: "BufferedIOBase | IO[bytes]", spend: Callable[[int], None]) -> None:
        self._stream, self._spend = stream, spend

    def read(self, size: int) -> bytes:
        block = self._stream.read(size)
        self._spend(len(block))
        return block


def _plain(path: Path) -> BufferedIOBase:
    return path.open("rb")
