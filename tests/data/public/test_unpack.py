import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.data.public import unpack as module
from regard.data.public.unpack import unpack
from regard.errors import UserError

FILES = {
    "plain.txt": b"one\n",
    "폴더/안녕하세요.txt": "가나다\n".encode(),
    "שלום/🎉 e\u0301.txt": b"two\n",
    "deep/er/empty.txt": b"",
}


def tar(path: Path, *members: tarfile.TarInfo | tuple[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode, format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def zipped(path: Path, *members: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members:
            archive.writestr(member, content)
    return path


def special(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "mode"),
    [("a.tar", "w"), ("a.tgz", "w:gz"), ("a.tar.gz", "w:gz"), ("a.tar.bz2", "w:bz2"), ("a.tar.xz", "w:xz")],
)
def test_tar(tmp_path: Path, name: str, mode: str) -> None:
    archive = tar(tmp_path / name, special("deep", tarfile.DIRTYPE), *FILES.items(), ("./dot.txt", b"."), mode=mode)
    unpack(archive, tmp_path / "out")
    assert contents(tmp_path / "out") == {**FILES, "dot.txt": b"."}
    unpack(archive, tmp_path / "some", ["plain.txt", "폴더/안녕하세요.txt"])
    assert sorted(contents(tmp_path / "some")) == ["plain.txt", "폴더/안녕하세요.txt"]


def test_zip(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", ("deep/", b""), *FILES.items())
    unpack(archive, tmp_path / "out")
    assert contents(tmp_path / "out") == FILES
    unpack(archive, tmp_path / "some", ["폴더/안녕하세요.txt"])
    assert sorted(contents(tmp_path / "some")) == ["폴더/안녕하세요.txt"]


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_a_single_file(tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / f"train.ko{ending}").write_bytes(pack("안녕\n".encode() * 1000))
    unpack(tmp_path / f"train.ko{ending}", tmp_path / "out", ["train.ko"])
    assert contents(tmp_path / "out") == {"train.ko": "안녕\n".encode() * 1000}


HOSTILE_NAMES = ["../out.txt", "a/../../out.txt", "/tmp/out.txt", "..", "a\\..\\out.txt", "new\nline", "x" * 300]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("wanted", [None, ["fine.txt"]], ids=["all", "one"])
def test_names_that_lead_outside(tmp_path: Path, name: str, wanted: list[str] | None) -> None:
    for archive in (
        tar(tmp_path / "a.tar", ("fine.txt", b"x"), (name, b"x")),
        zipped(tmp_path / "a.zip", ("fine.txt", b"x"), (name, b"x")),
    ):
        with pytest.raises(UserError, match="do not use this archive"):
            unpack(archive, tmp_path / "in" / "out", wanted)
        assert contents(tmp_path / "in") == {} and sorted(path.name for path in (tmp_path / "in").iterdir()) == []


def test_names_with_nul(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.pax_headers = {"path": "a.txt\0.exe"}
    archive = tar(tmp_path / "a.tar", info)
    assert b"a.txt\0.exe" in archive.read_bytes()
    with pytest.raises(UserError, match="is no name"):
        unpack(archive, tmp_path / "out")
    archive = zipped(tmp_path / "a.zip", ("a.txtX.exe", b"x"))
    archive.write_bytes(archive.read_bytes().replace(b"a.txtX.exe", b"a.txt\0.exe"))
    with pytest.raises(UserError, match="is no name"):
        unpack(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_names_that_are_no_unicode(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT, encoding="cp949") as made:
        made.addfile(tarfile.TarInfo("한글.txt"))
    with pytest.raises(UserError, match="is no name"):
        unpack(archive, tmp_path / "out")


@pytest.mark.parametrize(
    "member",
    [
        special("link", tarfile.SYMTYPE, "/etc/passwd"),
        special("link", tarfile.SYMTYPE, "fine.txt"),
        special("link", tarfile.LNKTYPE, "fine.txt"),
        special("device", tarfile.CHRTYPE),
        special("device", tarfile.BLKTYPE),
        special("pipe", tarfile.FIFOTYPE),
        special("sparse", tarfile.GNUTYPE_SPARSE),
        special("odd", b"Z"),
    ],
    ids=lambda member: f"{member.name}-{member.type.decode()}",
)
def test_only_files_come_out_of_a_tar(tmp_path: Path, member: tarfile.TarInfo) -> None:
    archive = tar(tmp_path / "a.tar", ("fine.txt", b"x"), member, ("link/inside.txt", b"x"))
    with pytest.raises(UserError, match="is a link or a device|not a whole archive"):
        unpack(archive, tmp_path / "out", ["fine.txt"])
    assert not (tmp_path / "out").exists()


def test_holes_are_a_bomb_that_takes_no_bytes(tmp_path: Path) -> None:
    """A file of a terabyte, all of it a hole, that calls itself an ordinary one."""
    info = tarfile.TarInfo("a.txt")
    info.pax_headers = {"GNU.sparse.size": str(1 << 40), "GNU.sparse.numblocks": "0", "GNU.sparse.map": f"{1 << 40},0"}
    archive = tar(tmp_path / "a.tar", info)
    with tarfile.open(archive) as read:
        assert (read.getmembers()[0].type, read.getmembers()[0].size) == (tarfile.REGTYPE, 1 << 40)
    with pytest.raises(UserError, match="is a link or a device, not a file"):
        unpack(archive, tmp_path / "out")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_only_files_come_out_of_a_zip(tmp_path: Path, kind: int) -> None:
    info = zipfile.ZipInfo("link")
    info.external_attr = (kind | 0o777) << 16
    with pytest.raises(UserError, match="is a link or a device"):
        unpack(zipped(tmp_path / "a.zip", (info, b"/etc/passwd")), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_encrypted_zip(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", ("a.txt", b"x"))
    content = bytearray(archive.read_bytes())
    at = content.index(b"PK\x01\x02") + 8
    content[at : at + 2] = struct.pack("<H", 1)
    archive.write_bytes(content)
    with pytest.raises(UserError, match="is encrypted"):
        unpack(archive, tmp_path / "out")


def test_two_members_of_one_name(tmp_path: Path) -> None:
    for members in ([("a", b"1"), ("./a", b"2")], [("a", b"1"), ("a/b", b"2")], [("a/b", b"1"), ("a", b"2")]):
        with pytest.raises(UserError, match="two members of one name"):
            unpack(tar(tmp_path / "a.tar", *members), tmp_path / "out")
        assert not (tmp_path / "out").exists()


ZEROS = bytes(module.SMALL + 1)


@pytest.mark.parametrize("name", ["a.zip", "a.tgz", "a.tar.xz", "a.gz", "a.bz2"])
def test_bombs(tmp_path: Path, name: str) -> None:
    archive = tmp_path / name
    if name == "a.zip":
        zipped(archive, ("a", ZEROS))
    elif name in ("a.gz", "a.bz2"):
        archive.write_bytes((gzip if name == "a.gz" else bz2).compress(ZEROS))
    else:
        tar(archive, ("a", ZEROS), mode="w:gz" if name == "a.tgz" else "w:xz")
    assert archive.stat().st_size * module.RATIO < len(ZEROS)
    with pytest.raises(UserError, match="unpacks to far more than a text does"):
        unpack(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_bomb_in_what_nobody_wants(tmp_path: Path) -> None:
    """In a tar it must be read to come to what follows; a header as long as that is not."""
    archive = tar(tmp_path / "a.tgz", ("a", ZEROS), ("b", b"x"), mode="w:gz")
    with pytest.raises(UserError, match="far more than"):
        unpack(archive, tmp_path / "out", ["b"])
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, len(ZEROS)
    with gzip.open(tmp_path / "b.tgz", "wb") as file:
        file.write(header.tobuf(tarfile.PAX_FORMAT) + ZEROS)
    with pytest.raises(UserError, match="a header of 16,777,217 bytes"):
        unpack(tmp_path / "b.tgz", tmp_path / "out")


def test_too_many_members(tmp_path: Path) -> None:
    many = [(f"{number}", b"") for number in range(module.MEMBERS + 1)]
    for archive in (tar(tmp_path / "a.tar", *many), zipped(tmp_path / "a.zip", *many)):
        with pytest.raises(UserError, match="more than 10,000 members"):
            unpack(archive, tmp_path / "out", ["0"])
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["a.zip", "a.tgz", "a.tar.bz2", "a.tar.xz", "a.tar", "a.gz", "a.xz", "a.bz2"])
def test_broken_archives(tmp_path: Path, name: str) -> None:
    noise = b"".join(bytes([(number * 7919 >> 3) % 251]) for number in range(40_000))
    archive = tmp_path / name
    if name == "a.zip":
        zipped(archive, ("a", noise))
    elif ".t" in name:
        tar(archive, ("a", noise), mode={"a.tgz": "w:gz", "a.tar.bz2": "w:bz2", "a.tar.xz": "w:xz"}.get(name, "w"))
    else:
        archive.write_bytes({"a.gz": gzip, "a.xz": lzma, "a.bz2": bz2}[name].compress(noise))
    whole = archive.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"<html>not found</html>" * 100):
        archive.write_bytes(damaged)
        with pytest.raises(UserError, match=f"^{archive}: not a whole archive .*; remove it and get it again"):
            unpack(archive, tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_what_is_wanted_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no b.txt; it is another release than regard knows"):
        unpack(tar(tmp_path / "a.tar", ("a.txt", b"x")), tmp_path / "out", ["a.txt", "b.txt"])
    assert not (tmp_path / "out").exists()
    (tmp_path / "a.rar").write_bytes(b"x")
    with pytest.raises(UserError, match="its name tells no kind"):
        unpack(tmp_path / "a.rar", tmp_path / "out")
