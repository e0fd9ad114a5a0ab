"""`regard synthesise --cluster` on a real Ray: the bytes of one machine, whatever is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from tests.support.ray_cluster import Node

from regard.pairs.synthesise import Synthesis, SynthesisReport, synthesise
from regard.search.sampling import Sampling
from regard.translate.translator import Options

pytestmark = pytest.mark.slow
LINES = 21
SAID = [
    "I am tired.",
    "Where is the {} station?",
    "",
    "She has {} cats.",
    "한국어로 쓴 {} 문장입니다.",
    "התחנה הזאת {} יפה מאוד.",
    "The cafe\u0301 {} is open 👋.",
]
SURE = 0.79
COUNTS = ("lines", "written")
SAMPLING = Sampling(top_k=5, seed=3)


def written_corpus(folder: Path, shards: int) -> Path:
    folder.mkdir()
    for shard in range(shards):
        lines = [SAID[line % len(SAID)].format(f"{shard} {line}") for line in range(LINES)]
        if shard == 0:
            lines += [""] * 1000 + lines  # of two windows, each with seeds of its own
        (folder / f"{shard:02}.txt.zst").write_bytes(zstd.compress("".join(f"{line}\n" for line in lines).encode()))
    return folder


@contextmanager
def begun(corpus: Path, out: Path, *more: str) -> Iterator[Node]:
    """The command on a Ray of its own; at the end nothing of it is left."""
    command = [sys.executable, "-m", "regard", "synthesise", "--cluster", "local", "--workers", "1", "--model", "en-de"]
    command += ["--text", f"{corpus}/*.zst", "--out", str(out), "--json", "--min-confidence", str(SURE), *more]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        node = Node(process)
        try:
            yield node
        finally:
            node.kill()


def ended(node: Node) -> tuple[dict[str, Any], str]:
    out, err = node.process.communicate(timeout=900)
    assert node.process.returncode == 0, err.decode()
    return json.loads(out), err.decode()


def wait_for_some(node: Node, count: Callable[[], int]) -> None:
    while not count():
        assert node.process.poll() is None, node.process.communicate()
        time.sleep(0.02)


def written(out: Path) -> int:
    return len(list(out.glob("*.tsv.zst")))


def recorded(out: Path) -> int:
    path = out / "manifest.json"
    return len(json.loads(path.read_text())["shards"]) if path.exists() else 0


def alone(corpus: Path, folder: Path, options: Options) -> tuple[dict[str, bytes], list[SynthesisReport]]:
    """What one machine makes of every shard, file by file."""
    made, reports = {}, []
    for path in sorted(corpus.iterdir()):
        out = folder / f"{path.name}.alone.tsv"
        reports.append(synthesise("en-de", path, out, Synthesis(min_confidence=SURE), options=options))
        made[path.name.replace(".txt", ".tsv")] = out.read_bytes()
    return made, reports


@pytest.mark.parametrize(("what", "options"), [("worker", Options(beam=2)), ("driver", Options(sampling=SAMPLING))])
def test_whatever_is_killed_the_pairs_are_those_of_one_machine(what: str, options: Options, tmp_path: Path) -> None:
    shards = 40 if what == "worker" else 10  # sampling is slow
    corpus, out = written_corpus(tmp_path / "mono", shards), tmp_path / "bt"
    words = ["--beam", "2"] if options.sampling is None else ["--sample", "--top-k", "5", "--seed", "3"]
    with begun(corpus, out, *words) as node:
        wait_for_some(node, lambda: written(out) if what == "worker" else recorded(out))
        assert written(out) < shards
        if what == "worker":
            os.kill(node.processes("ray::RayWorker")[0], signal.SIGKILL)
            assert "was lost after" in ended(node)[1]
    done = {path.name: path.stat().st_mtime_ns for path in out.glob("*.tsv.zst")}
    with begun(corpus, out, *words) as node:
        figures, _ = ended(node)
    expected, reports = alone(corpus, tmp_path, options)
    assert {path.name: zstd.decompress(path.read_bytes()) for path in out.glob("*.tsv.zst")} == expected
    assert figures["dropped"] == sum((one.dropped for one in reports), Counter[str]())
    assert (figures["lines"], figures["written"]) == tuple(sum(getattr(one, n) for one in reports) for n in COUNTS)
    assert figures["dropped"]["low confidence"] and figures["dropped"]["wrong language"] and figures["written"]
    assert (figures["shards"], figures["failed"], figures["done"]) == (shards, 0, True)
    assert (figures["translated"] == 0) == (what == "worker") and not list(out.glob(".*.partial"))
    kept = [name for name, changed in done.items() if (out / name).stat().st_mtime_ns == changed]
    assert len(kept) == shards - figures["translated"] > 0, "what the manifest had is not made again"
