"""Archives that were made to break whoever unpacks them: always one sentence, and nothing but the folder is touched."""

import gzip
import io
import shutil
import struct
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
from tests.mutants import mutants

from regard.data.public import unpack as module
from regard.data.public.unpack import unpack
from regard.errors import UserError


def refuse(archive: Path, content: bytes, match: str) -> None:
    archive.write_bytes(content)
    with pytest.raises(UserError, match=match):
        unpack(archive, archive.parent / "in" / "out")
    assert not (archive.parent / "in" / "out").exists()


def header(name: str, kind: bytes, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.USTAR_FORMAT)


def block(content: bytes) -> bytes:
    return content.ljust(-(-len(content) // 512) * 512, b"\0")


def pax(**records: str) -> bytes:
    """A pax header, whose records need not make sense."""
    body = b""
    for key, value in records.items():
        record = f" {key.replace('_', '.')}={value}\n".encode()
        length = len(record) + 2
        body += f"{length + (length > 99)}".encode() + record
    return header("x", tarfile.XHDTYPE, len(body)) + block(body)


FILE = header("a.txt", tarfile.REGTYPE, 3) + block(b"abc")
END = bytes(1024)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE])
def test_headers_that_follow_one_another(tmp_path: Path, kind: bytes) -> None:
    """Python's reader calls itself once for each."""
    chained = (header("x", kind, 512) + block(b"a")) * 400
    refuse(tmp_path / "a.tar", chained + FILE + END, "not a whole archive")


@pytest.mark.parametrize(
    "records",
    [
        {"GNU_sparse_map": "1,2,x", "GNU_sparse_size": "9"},
        {"GNU_sparse_size": "x"},
        {"GNU_sparse_major": "1", "GNU_sparse_minor": "0", "GNU_sparse_realsize": "x"},
        {"GNU_sparse_major": "1", "GNU_sparse_minor": "0", "GNU_sparse_name": "b"},
        {"size": "x" * 90},
        {"size": "-512"},
        {"path": "a\udc80".encode("utf-8", "surrogatepass").decode("latin-1")},
        {"hdrcharset": "BINARY", "path": "../b"},
    ],
    ids="-".join,
)
def test_pax_headers_that_make_no_sense(tmp_path: Path, records: dict[str, str]) -> None:
    archive = tmp_path / "a.tar"
    archive.write_bytes(pax(**records) + FILE + END)
    try:
        unpack(archive, tmp_path / "in" / "out")
    except UserError as error:
        assert "not a whole archive" in str(error) or "do not use this archive" in str(error)
    assert {path.name for path in tmp_path.iterdir()} <= {"a.tar", "in"}
    assert all(path.name == "out" for path in (tmp_path / "in").iterdir())


def test_sparse_numbers(tmp_path: Path) -> None:
    refuse(tmp_path / "a.tar", pax(GNU_sparse_map="1,2,x", GNU_sparse_size="9") + FILE + END, "not a whole archive")
    numbers = pax(GNU_sparse_major="1", GNU_sparse_minor="0") + header("a", tarfile.REGTYPE, 512) + block(b"1\nx\n2\n")
    refuse(tmp_path / "a.tar", numbers + END, "not a whole archive")


def test_a_long_header_is_not_searched(tmp_path: Path) -> None:
    """Python before 3.11.10 takes half a minute for one of 64 KiB, all of it figures."""
    began = time.process_time()
    refuse(
        tmp_path / "a.tar", header("x", tarfile.XHDTYPE, 1 << 16) + b"1" * (1 << 16) + FILE + END, "a header of 65,536"
    )
    assert time.process_time() - began < 10


def test_a_header_that_is_damaged_is_not_the_end(tmp_path: Path) -> None:
    second = bytearray(header("b.txt", tarfile.REGTYPE, 3) + block(b"abc"))
    second[0] ^= 1
    refuse(tmp_path / "a.tar", FILE + bytes(second) + END, "not a whole archive .bad checksum")
    refuse(tmp_path / "a.tar", FILE + FILE[:100], "not a whole archive .truncated header")
    negative = bytearray(FILE[:512])
    negative[124:136] = b"\xff" * 12
    negative[148:156] = b" " * 8
    negative[148:156] = b"%06o\0 " % sum(negative)
    refuse(tmp_path / "a.tar", bytes(negative) + END, "a header of -1 bytes")


@pytest.mark.parametrize("name", ["가/" * 1500, "a/" * 3000, "/".join(["x" * 250] * 24), "d/" * 40 + "x"])
def test_long_paths(tmp_path: Path, name: str) -> None:
    name = name.rstrip("/")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, b"x")
    refuse(tmp_path / "a.zip", packed.getvalue(), "has too long a name; do not use this archive")
    spelt = name.encode()
    tar = header("x", tarfile.GNUTYPE_LONGNAME, len(spelt)) + block(spelt) + FILE + END
    refuse(tmp_path / "a.tar", tar, "has too long a name|a header of")


def zipped(name: str = "한글.txt") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, b"x" * 50)
        archive.writestr("plain.txt", b"y" * 50)
    return packed.getvalue()


def test_zip_names_that_are_no_text(tmp_path: Path) -> None:
    whole = zipped()
    name = "한글.txt".encode()
    assert whole.count(name) == 2, "before the content, and in the directory"
    refuse(tmp_path / "a.zip", whole.replace(name, b"\xff" + name[1:]), "not a whole archive")
    at = whole.index(name)
    refuse(tmp_path / "a.zip", whole[:at] + b"\xff" + whole[at + 1 :], "not a whole archive")


def test_a_zip_whose_members_lie_nowhere(tmp_path: Path) -> None:
    whole = bytearray(zipped())
    at = whole.rindex(b"PK\x05\x06")
    struct.pack_into("<I", whole, at + 16, 0xFFFFFF00)
    refuse(tmp_path / "a.zip", bytes(whole), "not a whole archive")
    for place in (0, 0x7FFFFFFF, 0xFFFFFFFE):
        whole = bytearray(zipped())
        struct.pack_into("<I", whole, whole.index(b"PK\x01\x02") + 42, place + 1)
        refuse(tmp_path / "a.zip", bytes(whole), "not a whole archive")


def archives() -> dict[str, bytes]:
    """One of each kind, with what can go wrong in it."""
    tars = {}
    for kind in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=kind) as archive:
            for name in ("plain.txt", "폴더/안녕.txt", "l" * 120):
                info = tarfile.TarInfo(name)
                info.size = 20
                archive.addfile(info, io.BytesIO(b"x" * 20))
        tars[kind] = packed.getvalue()[:8192]
    sparse = pax(GNU_sparse_major="1", GNU_sparse_minor="0", GNU_sparse_name="real", GNU_sparse_realsize="100")
    sparse += header("s", tarfile.REGTYPE, 512) + block(b"1\n0\n10\n") + END
    return {
        "pax.tar": tars[tarfile.PAX_FORMAT],
        "gnu.tar": tars[tarfile.GNU_FORMAT],
        "sparse.tar": sparse,
        "a.zip": zipped("폴더/안녕.txt"),
        "a.gz": gzip.compress(b"text\n" * 20, mtime=0),
    }


def sealed(content: bytes) -> bytes:
    """A tar whose headers have the checksums that their bytes ask for, so that more than the first is read."""
    fixed = bytearray(content)
    for at in range(0, len(fixed) - 511, 512):
        if fixed[at + 257 : at + 262] == b"ustar":
            fixed[at + 148 : at + 156] = b" " * 8
            fixed[at + 148 : at + 156] = b"%06o\0 " % sum(fixed[at : at + 512])
    return bytes(fixed)


def strike(folder: Path, name: str, count: int) -> None:
    archive = folder / name
    (folder / "in").mkdir()
    for number, mutant in enumerate(mutants(archives()[name], count)):
        archive.write_bytes(sealed(mutant) if name.endswith(".tar") else mutant)
        try:
            unpack(archive, folder / "in" / "out")
        except UserError as error:
            assert str(error).startswith(f"{archive}: ")
            assert not (folder / "in" / "out").exists()
        except Exception as error:
            raise AssertionError(f"mutant {number}") from error
        shutil.rmtree(folder / "in" / "out", ignore_errors=True)
        assert sorted(path.name for path in folder.rglob("*")) == sorted([name, "in"])


@pytest.mark.parametrize("name", archives())
def test_mutants(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL", 1 << 20)
    strike(tmp_path, name, 150)


@pytest.mark.slow
@pytest.mark.parametrize("name", archives())
def test_many_mutants(tmp_path: Path, name: str) -> None:
    strike(tmp_path, name, 2000)
