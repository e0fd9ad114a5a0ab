import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.server import Server, running

from regard.data.public import download as module
from regard.data.public.download import Remote, download
from regard.errors import UserError

CONTENT = random.Random(1).randbytes(700_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with running() as started:
        yield started


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fetch(address: str, path: Path, **known: object) -> list[tuple[str, int, int | None]]:
    told: list[tuple[str, int, int | None]] = []
    download(Remote(address=address, **known), path, lambda *done: told.append(done), wait=0.001)  # type: ignore[arg-type]
    return told


@pytest.mark.parametrize(
    "known", [{}, {"sha256": SHA256}, {"md5": MD5}, {"size": 700_000, "sha256": SHA256, "md5": MD5}]
)
def test_a_file_arrives(server: Server, tmp_path: Path, known: dict[str, object]) -> None:
    address = server.serve("a.bin", CONTENT)
    told = fetch(address, tmp_path / "한글 이름.bin", **known)
    assert (tmp_path / "한글 이름.bin").read_bytes() == CONTENT
    assert names(tmp_path) == ["한글 이름.bin", "한글 이름.bin.json"]
    assert json.loads((tmp_path / "한글 이름.bin.json").read_text()) == {
        "address": address, "size": 700_000, "sha256": SHA256,
    }  # fmt: skip
    assert told[0] == ("한글 이름.bin", 0, 700_000) and told[-1] == ("한글 이름.bin", 700_000, 700_000)
    fetch(address, tmp_path / "한글 이름.bin", **known)
    assert len(server.asked) == 1  # what is here is not asked for again


def test_dropped_connections_are_gone_on_from(server: Server, tmp_path: Path) -> None:
    address = server.serve("a.bin", CONTENT, drops=[1000, 0, 100_000, 0, 0, 300_000])
    fetch(address, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    assert [request.get("range") for request in server.asked] == [
        None, *["bytes=1000-"] * 2, *["bytes=101000-"] * 3, "bytes=401000-",
    ]  # fmt: skip
    assert {request.get("if-range") for request in server.asked[1:]} == {'"1"'}


def test_a_server_that_knows_no_ranges(server: Server, tmp_path: Path) -> None:
    fetch(server.serve("a.bin", CONTENT, drops=[1000, 2000], ranges=False), tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_no_length(server: Server, tmp_path: Path) -> None:
    """Without one only a published size or checksum tells a whole file from a part."""
    fetch(server.serve("a.bin", CONTENT, length=False), tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    fetch(server.serve("b.bin", CONTENT, length=False, drops=[5]), tmp_path / "b.bin", size=700_000)
    assert (tmp_path / "b.bin").read_bytes() == CONTENT
    with pytest.raises(UserError, match="not the right one"):
        fetch(server.serve("c.bin", CONTENT, length=False, drops=[5]), tmp_path / "c.bin", sha256=SHA256)


def test_giving_up_keeps_what_came(server: Server, tmp_path: Path) -> None:
    address = server.serve("a.bin", CONTENT, drops=[1000, *[0] * module.ATTEMPTS])
    with pytest.raises(UserError, match=f"^{address}: the connection ended early; .*1,000 bytes are kept") as raised:
        fetch(address, tmp_path / "a.bin")
    assert "\n" not in str(raised.value)
    assert names(tmp_path) == ["a.bin.part", "a.bin.part.json"]
    server.asked.clear()
    fetch(address, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT and server.asked[-1]["range"] == "bytes=1000-"
    assert names(tmp_path) == ["a.bin", "a.bin.json"]


def test_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with running() as server:
        address = server.serve("a.bin", CONTENT)
    with pytest.raises(UserError, match="refused; check the network"):
        fetch(address, tmp_path / "a.bin")


def test_errors_that_pass_and_errors_that_do_not(server: Server, tmp_path: Path) -> None:
    fetch(server.serve("a.bin", CONTENT, codes=[503, 500, 429]), tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    server.asked.clear()
    with pytest.raises(UserError, match="404 Not Found; the file may have moved"):
        fetch(server.serve("x", b"").replace("/x", "/nothing.bin"), tmp_path / "b.bin")
    assert len(server.asked) == 1 and names(tmp_path) == ["a.bin", "a.bin.json"]


def test_wrong_bytes(server: Server, tmp_path: Path) -> None:
    wrong = bytearray(CONTENT)
    wrong[350_000] ^= 1
    for known in ({"sha256": SHA256}, {"md5": MD5}):
        with pytest.raises(
            UserError, match="not the right one .its (sha256|md5) is [0-9a-f]+ where [0-9a-f]+ was publ"
        ):
            fetch(server.serve("a.bin", bytes(wrong)), tmp_path / "a.bin", **known)
        assert names(tmp_path) == []
    with pytest.raises(UserError, match="699,999 bytes where 700,000 were published"):
        fetch(server.serve("a.bin", CONTENT[:-1]), tmp_path / "a.bin", size=700_000)
    with pytest.raises(UserError, match="it is empty"):
        fetch(server.serve("a.bin", b""), tmp_path / "a.bin")
    assert names(tmp_path) == []


def test_the_first_download_is_the_checksum_where_none_is_published(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    address = server.serve("a.bin", CONTENT)
    fetch(address, path)
    path.write_bytes(CONTENT[::-1])
    with pytest.raises(UserError, match=f"^{path}: its sha256 is .* another than at the first download.*; remove it"):
        fetch(address, path)
    path.unlink()
    server.serve("a.bin", CONTENT[::-1])
    with pytest.raises(UserError, match="another than at the first download"):
        fetch(address, path)
    (tmp_path / "a.bin.json").unlink()  # as the sentence says: the new one is accepted
    fetch(address, path)
    assert path.read_bytes() == CONTENT[::-1]


def test_a_file_that_changed_between_two_attempts_is_not_mixed(server: Server, tmp_path: Path) -> None:
    address = server.serve("a.bin", CONTENT[::-1], drops=[1000, *[0] * module.ATTEMPTS])
    with pytest.raises(UserError, match="kept"):
        fetch(address, tmp_path / "a.bin")
    server.serve("a.bin", CONTENT, tag='"2"')
    fetch(address, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_without_a_mark_only_a_checksum_allows_going_on(server: Server, tmp_path: Path) -> None:
    address = server.serve("a.bin", CONTENT[::-1], tag=None, drops=[1000, *[0] * module.ATTEMPTS])
    with pytest.raises(UserError, match="kept"):
        fetch(address, tmp_path / "a.bin", sha256=SHA256)
    server.serve("a.bin", CONTENT, tag=None)
    server.asked.clear()
    fetch(address, tmp_path / "a.bin", sha256=SHA256)  # mixed, noticed, and got anew
    assert [request.get("range") for request in server.asked] == ["bytes=1000-", None]
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    server.serve("b.bin", CONTENT, tag=None, drops=[1000])
    server.asked.clear()
    fetch(address.replace("a.bin", "b.bin"), tmp_path / "b.bin")
    assert [request.get("range") for request in server.asked] == [None, None]


def test_a_part_that_is_whole_needs_no_more_bytes(server: Server, tmp_path: Path) -> None:
    """Killed after the last byte and before the renaming."""
    address = server.serve("a.bin", CONTENT)
    (tmp_path / "a.bin.part").write_bytes(CONTENT)
    (tmp_path / "a.bin.part.json").write_text(json.dumps({"address": address, "mark": '"1"'}))
    fetch(address, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    assert [request.get("range") for request in server.asked] == ["bytes=700000-"]
    (tmp_path / "b.bin.part").write_bytes(CONTENT + b"more")
    address = server.serve("b.bin", CONTENT)
    (tmp_path / "b.bin.part.json").write_text(json.dumps({"address": address, "mark": '"1"'}))
    fetch(address, tmp_path / "b.bin")
    assert (tmp_path / "b.bin").read_bytes() == CONTENT


def test_too_much(server: Server, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="700,000 bytes, but at most 1,000 are expected"):
        fetch(server.serve("a.bin", CONTENT), tmp_path / "a.bin", size=1000)
    with pytest.raises(UserError, match="sends more than the 1,000,000 bytes"):
        fetch(server.serve("a.bin", CONTENT, length=False, endless=True), tmp_path / "a.bin", size=1_000_000)
    assert "a.bin" not in names(tmp_path) and "a.bin.part" not in names(tmp_path)


def test_redirects(server: Server, tmp_path: Path) -> None:
    there = server.serve("a.bin", CONTENT)
    fetch(server.serve("old.bin", b"", redirect=there), tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for bad in (
        f"file://{secret}",
        "ftp://127.0.0.1/a",
        "data:,x",
        server.serve("loop", b"").replace("loop", "bad.bin"),
    ):
        with pytest.raises(UserError, match=r"bad.bin: "):
            fetch(server.serve("bad.bin", b"", redirect=bad), tmp_path / "b.bin")
    assert "b.bin" not in names(tmp_path)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/a", "127.0.0.1/a", "http://127.0.0.1"])
def test_other_addresses_are_none(address: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Remote(address=address)


def test_a_silent_server(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(module, "TIMEOUT", 0.05)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(UserError, match="timed out; check the network"),
    ):
        fetch(f"http://127.0.0.1:{silent.getsockname()[1]}/a.bin", tmp_path / "a.bin")


def test_a_disk_that_is_full(server: Server, tmp_path: Path) -> None:
    address = server.serve("a.bin", CONTENT)
    code = (
        "import resource, sys; from pathlib import Path; from regard.data.public.download import *\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "download(Remote(address=sys.argv[1]), Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", code, address, str(tmp_path / "a.bin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.endswith(f"UserError: {tmp_path}: File too large; make room there, or choose another place\n")
    fetch(address, tmp_path / "a.bin")
    assert server.asked[-1]["range"] == "bytes=300000-" and (tmp_path / "a.bin").read_bytes() == CONTENT


def test_killed_and_started_again(server: Server, tmp_path: Path) -> None:
    address = server.serve("a.bin", CONTENT, endless=True, length=False)
    code = (
        "import sys; from pathlib import Path; from regard.data.public.download import *\n"
        "download(Remote(address=sys.argv[1], size=1 << 40), Path(sys.argv[2]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, address, str(tmp_path / "a.bin")], env={**os.environ})
    part = tmp_path / "a.bin.part"
    while not part.exists() or part.stat().st_size < len(CONTENT):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    os.truncate(part, 300_000)  # as if it had been killed there
    server.serve("a.bin", CONTENT)
    server.asked.clear()
    fetch(address, tmp_path / "a.bin", sha256=SHA256)
    assert server.asked[0]["range"] == "bytes=300000-" and len(server.asked) == 1
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
