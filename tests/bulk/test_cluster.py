"""Bulk translation on a real Ray cluster: equal to one machine's output, and finished whatever is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from backports import zstd
from tests.support.ray_cluster import Cluster, two_nodes

import regard
from regard.errors import UserError

pytestmark = pytest.mark.slow
SHARDS = 40
LINES = 25
WORDS = [
    "I am tired.",
    "Where is the {} station?",
    "",
    "She has {} cats. He has none!",
    "안녕 {} 👋",
    "שלום {} e\u0301",
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with two_nodes() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    for shard in range(SHARDS):
        lines = [WORDS[line % len(WORDS)].format(f"{shard} {line}") for line in range(LINES)]
        (folder / f"{shard:02}.txt.zst").write_bytes(zstd.compress("".join(f"{line}\n" for line in lines).encode()))
    return folder


@pytest.fixture(scope="module")
def expected(corpus: Path) -> bytes:
    """What `regard translate` makes of all shards, one after the other, on one machine.

    The native engine's text does not depend on the neighbours in a batch. CTranslate2's may, in a near tie, so it
    would be compared shard by shard.
    """
    try:
        regard.load("en-de", engine="native")
    except UserError as error:
        pytest.skip(str(error))
    source = b"".join(zstd.decompress(path.read_bytes()) for path in sorted(corpus.iterdir()))
    return subprocess.run(
        [sys.executable, "-m", "regard", "translate", "--engine", "native"],
        input=source,
        capture_output=True,
        check=True,
    ).stdout


def joined(out: Path) -> bytes:
    return b"".join(zstd.decompress(path.read_bytes()) for path in sorted(out.glob("*.zst")))


def begin(cluster: Cluster | None, corpus: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    where = "local" if cluster is None else cluster.address
    command = [sys.executable, "-m", "regard", "translate", "--cluster", where, f"{corpus}/*.zst", "--out", str(out)]
    command += ["--engine", "native"]
    environment = None if cluster is None else cluster.environment
    return subprocess.Popen(
        [*command, "--json", *more], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(run: subprocess.Popen[str], code: int = 0) -> dict[str, object]:
    out, err = run.communicate(timeout=600)
    assert run.returncode == code, err
    figures: dict[str, object] = json.loads(out)
    return figures


def in_the_middle(out: Path, run: subprocess.Popen[str]) -> None:
    """Wait until some shards are written."""
    while len(list(out.glob("*.zst"))) < 3:
        assert run.poll() is None, run.communicate()
        time.sleep(0.05)


def test_a_cluster_of_this_machine_alone(corpus: Path, expected: bytes, tmp_path: Path) -> None:
    figures = ended(begin(None, corpus, tmp_path / "out", "--workers", "1", "--cores", "2"))
    assert joined(tmp_path / "out") == expected
    assert (figures["lines_in"], figures["lines_out"]) == (SHARDS * LINES, SHARDS * LINES)
    assert (figures["shards"], figures["failed"], figures["translated"]) == (SHARDS, 0, SHARDS)


def kill_a_worker(cluster: Cluster, run: subprocess.Popen[str]) -> None:
    os.kill(cluster.nodes[0].processes("ray::RayWorker")[0], signal.SIGKILL)


def kill_the_second_raylet(cluster: Cluster, run: subprocess.Popen[str]) -> None:
    os.kill(cluster.nodes[1].processes("raylet/raylet")[0], signal.SIGKILL)
    cluster.nodes.pop().kill()


def kill_the_driver(cluster: Cluster, run: subprocess.Popen[str]) -> None:
    run.kill()


@pytest.mark.parametrize("kill", [kill_a_worker, kill_the_driver, kill_the_second_raylet])
def test_whatever_is_killed_the_output_is_complete(
    kill: Callable[[Cluster, "subprocess.Popen[str]"], None],
    cluster: Cluster,
    corpus: Path,
    expected: bytes,
    tmp_path: Path,
) -> None:
    while len(cluster.nodes) < 2:
        cluster.add()
    run = begin(cluster, corpus, tmp_path / "out")
    in_the_middle(tmp_path / "out", run)
    kill(cluster, run)
    if kill is kill_the_driver:
        run.communicate()
        assert len(list((tmp_path / "out").glob("*.zst"))) < SHARDS
        run = begin(cluster, corpus, tmp_path / "out")
    figures = ended(run)
    assert joined(tmp_path / "out") == expected
    assert (figures["shards"], figures["failed"], figures["lines_out"]) == (SHARDS, 0, SHARDS * LINES)
    assert not list((tmp_path / "out").glob(".*.partial"))
    again = ended(begin(cluster, corpus, tmp_path / "out"))
    assert (again["translated"], again["shards"]) == (0, SHARDS)


def test_a_poison_line_and_an_unreadable_shard_are_named(
    cluster: Cluster, corpus: Path, expected: bytes, tmp_path: Path
) -> None:
    while len(cluster.nodes) < 2:
        cluster.add()
    (tmp_path / "in").mkdir()
    for path in sorted(corpus.iterdir())[:4]:
        (tmp_path / "in" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "in" / "98.txt.zst").write_bytes(zstd.compress(b"a\n" + b"x" * (2 << 20)))
    (tmp_path / "in" / "99.txt.zst").write_bytes(zstd.compress(b"a\n" * 9999)[:-5])
    run = begin(cluster, tmp_path / "in", tmp_path / "out")
    out, err = run.communicate(timeout=600)
    figures = json.loads(out)
    assert run.returncode == 1 and (figures["shards"], figures["failed"]) == (4, 2)
    assert "98.txt.zst, line 2: longer than" in figures["failures"]["98.txt.zst"]
    assert "99.txt.zst: broken zstd data after line" in figures["failures"]["99.txt.zst"]
    assert "98.txt.zst" in err.splitlines()[-1] and "2 of 6 shards failed, the others are complete" in err
    assert err.count("tried again") == 2, "each once, on the other node"
    assert expected.startswith(joined(tmp_path / "out")) and len(list((tmp_path / "out").glob("*.zst"))) == 4
    (tmp_path / "in" / "98.txt.zst").write_bytes(zstd.compress(b"Good night.\n"))
    (tmp_path / "in" / "99.txt.zst").unlink()
    mended = ended(begin(cluster, tmp_path / "in", tmp_path / "out"))
    assert (mended["shards"], mended["translated"], mended["failed"]) == (5, 1, 0)
    assert joined(tmp_path / "out").decode().splitlines()[-1] == regard.load("en-de", engine="native").translate(
        "Good night."
    )
