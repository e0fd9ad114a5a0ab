"""Reader and writer of zip packages, such as office documents and books, with limits on their contents.

Members that do not change are copied as they are, in their order and with their compression.
"""

import stat
import zlib
from collections.abc import Mapping
from copy import copy
from io import BytesIO
from pathlib import PurePosixPath
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from regard.errors import UserError

MOST_MEMBERS = 20_000
MOST_BYTES = 512 << 20  # size of all members, unpacked
MOST_RATIO = 1000  # ratio of unpacked to packed size, for members larger than SMALL
SMALL = 1 << 20  # bytes
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # signature of files that Office encrypts, and of its versions before 2007


def unpacked_bytes(content: bytes) -> int:
    """Return the declared size of a zip file's members, which is never exceeded when they are read; that of the file
    itself for anything else."""
    try:
        with ZipFile(BytesIO(content)) as file:
            return sum(info.file_size for info in file.infolist())
    except (BadZipFile, ValueError, NotImplementedError, OSError, EOFError):
        return len(content)


class Package:
    """The members of a zip file."""

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        if content.startswith(OLE):
            raise UserError(
                f"{name}: is encrypted, or has the format of Office before 2007; "
                "open it in an office program and save it without a password in the format of its name"
            )
        try:
            self._file = _opened(content)
            self._infos = self._file.infolist()
        except (BadZipFile, ValueError, NotImplementedError, OSError, EOFError) as error:
            raise self._broken(error) from None
        self._check()
        self.names = [info.filename for info in self._infos]
        self._members = {info.filename: info for info in self._infos}

    def _broken(self, error: Exception) -> UserError:
        return UserError(f"{self.name}: is not a whole file of its format ({error}); get it again, or save it anew")

    def _check(self) -> None:
        if len(self._infos) > MOST_MEMBERS:
            raise UserError(f"{self.name}: has {len(self._infos):,} members, but may have {MOST_MEMBERS:,}; divide it")
        if sum(info.file_size for info in self._infos) > MOST_BYTES:
            raise UserError(f"{self.name}: is over {MOST_BYTES:,} bytes when unpacked; divide it")
        if len({info.filename for info in self._infos}) < len(self._infos):
            raise UserError(f"{self.name}: has two members of one name; save it anew in an office program")
        for info in self._infos:
            self._check_member(info)

    def _check_member(self, info: ZipInfo) -> None:
        path = PurePosixPath(info.filename)
        if path.is_absolute() or ".." in path.parts or "\\" in info.filename or not info.filename:
            raise UserError(f"{self.name}: has a member outside its own folder ({info.filename[:80]}); do not trust it")
        if stat.S_ISLNK(info.external_attr >> 16):
            raise UserError(f"{self.name}: has a symbolic link in it ({info.filename[:80]}); do not trust it")
        if info.flag_bits & 1:
            raise UserError(f"{self.name}: is encrypted; save it without a password first")
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise UserError(f"{self.name}: is compressed in an unusual way; save it anew in an office program")
        if info.file_size > SMALL and info.file_size > MOST_RATIO * max(1, info.compress_size):
            raise UserError(f"{self.name}: {info.filename[:80]} unpacks to over {MOST_RATIO:,} times its size")

    def __contains__(self, member: str) -> bool:
        return member in self._members

    def read(self, member: str) -> bytes:
        if member not in self._members:
            raise UserError(f"{self.name}: has no {member} in it, so it is not what its name says; save it anew")
        try:
            return self._file.read(self._members[member])
        except (BadZipFile, zlib.error, ValueError, NotImplementedError, OSError, EOFError, RuntimeError) as error:
            raise self._broken(error) from None

    def written(self, changed: Mapping[str, bytes]) -> bytes:
        """Return the file with new contents for some members; a member with a new name is last."""
        out = BytesIO()
        with ZipFile(out, "w") as file:
            file.comment = self._file.comment
            for info in self._infos:
                content = changed[info.filename] if info.filename in changed else self.read(info.filename)
                file.writestr(_anew(info), content)
            for name in changed:
                if name not in self._members:
                    file.writestr(ZipInfo(name), changed[name], ZIP_DEFLATED)
        return out.getvalue()


def _opened(content: bytes) -> ZipFile:
    """Open a zip file; names that are not marked as UTF-8 are read so all the same, unless they can't be."""
    try:
        return ZipFile(BytesIO(content), metadata_encoding="utf-8")
    except UnicodeDecodeError:
        return ZipFile(BytesIO(content))


def _anew(info: ZipInfo) -> ZipInfo:
    """Return a member's description without its offset and sizes in the old file."""
    new = copy(info)
    new.flag_bits &= 0x800  # whether the name is UTF-8
    new.header_offset = 0
    return new
