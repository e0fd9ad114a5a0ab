"""Training over hosts with addresses of their own, which are cut off, killed and come back."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.command import SMALL
from tests.support.hosts import Host, hosts
from tests.support.training import losses

from regard.train import checkpoint

pytestmark = pytest.mark.slow
WAIT = 12.0  # seconds: train.wait_minutes below
ENDLESS = 1_000_000
SETTINGS = [setting for setting in SMALL if not setting.startswith("train.steps")]
SETTINGS += [
    "train.update_batches=6",
    f"train.wait_minutes={WAIT / 60}",
    "train.checkpoint_every=20",
    "model.dropout=0.1",
]


@pytest.fixture(scope="module")
def three() -> Iterator[list[Host]]:
    with hosts(3) as made:
        yield made


def command(digits: Path, out: Path, steps: int) -> list[str]:
    chosen = [word for setting in (*SETTINGS, f"train.steps={steps}") for word in ("--set", setting)]
    return ["-m", "regard", "train", "--preset", "tiny", "--data", str(digits), "--out", str(out), *chosen]


def begin(
    host: Host, first: Host, digits: Path, out: Path, steps: int, port: int, *, nodes: str = "3", restarts: int = 0
) -> subprocess.Popen[str]:
    """Start torchrun on a host, as one types it there."""
    run = [sys.executable, "-m", "torch.distributed.run", "--nnodes", nodes, "--nproc-per-node", "1"]
    run += ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{first.address}:{port}", "--rdzv-id", out.name]
    # By default torchrun finds out by its name which host has the store; here all have the machine's name.
    conf = f"is_host={int(host is first)},last_call_timeout=3,join_timeout=120"
    run += ["--local-addr", host.address, "--rdzv-conf", conf, "--max-restarts", str(restarts)]
    log = out.parent / f"{out.name}.{host.name}.log"
    # A store that torchrun keeps over all restarts is never told to a host that joins later.
    own = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"} if restarts else {}
    return host.start([*run, *command(digits, out, steps)], log, **own)


def said(out: Path, host: Host) -> str:
    return (out.parent / f"{out.name}.{host.name}.log").read_text()


def until(found: Callable[[], object], seconds: float = 300.0, why: Callable[[], str] = str) -> float:
    """Wait until something is so, and return how long that took."""
    started = time.monotonic()
    while not found():
        assert time.monotonic() - started < seconds, why()
        time.sleep(0.1)
    return time.monotonic() - started


def ended(processes: list[subprocess.Popen[str]], seconds: float = 300.0) -> float:
    """Wait until all processes have ended, and return how long that took."""
    return until(lambda: all(process.poll() is not None for process in processes), seconds)


def last(out: Path) -> int:
    return max(checkpoint.steps(out / "checkpoints"), default=0)


def events(out: Path) -> list[dict[str, Any]]:
    """The beginnings of the run in its log."""
    if not (out / "log.jsonl").exists():
        return []
    lines = (out / "log.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["event"] in ("begin", "resume")]


def same(one: Path, other: Path, step: int) -> bool:
    ours, theirs = (checkpoint.load(checkpoint.folder(run / "checkpoints", step)) for run in (one, other))
    return all(torch.equal(ours.weights[name], tensor) for name, tensor in theirs.weights.items()) and all(
        torch.equal(ours.tensors[name], tensor) for name, tensor in theirs.tensors.items()
    )


def test_hosts_that_fail(three: list[Host], digits: Path, tmp_path: Path) -> None:
    """One is cut off, another killed; each time the others end with a sentence, and the same command goes on."""
    out = tmp_path / "failing"
    running = [begin(host, three[0], digits, out, ENDLESS, 29401) for host in three]
    until(lambda: last(out) >= 20, why=lambda: said(out, three[0]))
    three[2].cut()
    took = ended(running[:2], 120)
    assert took < WAIT + 60, "the wait, and what torchrun takes to end"
    told = "another process of this run was lost after step"
    assert told in said(out, three[0]) or told in said(out, three[1])
    three[2].kill()
    three[2].reconnect()
    before = last(out)
    running = [begin(host, three[0], digits, out, ENDLESS, 29402) for host in three]
    until(lambda: last(out) > before, why=lambda: said(out, three[0]))
    three[1].kill()
    ended([running[0], running[2]], 120)
    for host in three:
        host.kill()
    target = last(out) // 20 * 20 + 40
    for where, port in ((out, 29403), (tmp_path / "unbroken", 29404)):
        running = [begin(host, three[0], digits, where, target, port) for host in three]
        ended(running)
        assert [process.returncode for process in running] == [0, 0, 0], said(where, three[0])
    assert same(out, tmp_path / "unbroken", target)
    assert [record["event"] for record in events(out)] == ["begin", "resume", "resume"]
    # One process that accumulates makes the same updates, but for rounding.
    alone = [sys.executable, *command(digits, tmp_path / "alone", target)]
    subprocess.run(alone, check=True, capture_output=True)
    assert losses(tmp_path / "alone") == pytest.approx(losses(tmp_path / "unbroken"), abs=2e-3)


def test_the_number_of_hosts_changes_under_way(three: list[Host], digits: Path, tmp_path: Path) -> None:
    """torchrun goes on with those that are left, and takes back the one that returns; the updates stay the same."""
    out = tmp_path / "elastic"

    def start(host: Host) -> subprocess.Popen[str]:
        return begin(host, three[0], digits, out, ENDLESS, 29405, nodes="2:3", restarts=9)

    running = [start(host) for host in three]
    until(lambda: last(out) >= 20, why=lambda: said(out, three[0]))
    three[2].kill()
    until(lambda: events(out)[-1]["processes"] == 2, why=lambda: said(out, three[0]))
    reached = last(out)
    until(lambda: last(out) > reached, why=lambda: said(out, three[0]))
    running[2] = start(three[2])
    until(lambda: events(out)[-1]["processes"] == 3, why=lambda: said(out, three[0]))
    for process in running:
        process.terminate()
    ended(running, 120)
    assert "with everything saved" in "".join(said(out, host) for host in three)
    assert {record["processes"] for record in events(out)} == {2, 3}
    subprocess.run([sys.executable, *command(digits, tmp_path / "alone", last(out))], check=True, capture_output=True)
    both = list(zip(losses(out), losses(tmp_path / "alone"), strict=False))
    assert both and all(ours == pytest.approx(theirs, abs=2e-2) for ours, theirs in both)


def test_data_that_differ_between_hosts(three: list[Host], digits: Path, tmp_path: Path) -> None:
    other = tmp_path / "data"
    other.mkdir()
    for path in digits.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    manifest = (other / "manifest.json").read_text()
    (other / "manifest.json").write_text(f"{manifest}\n")
    out = tmp_path / "differing"
    running = [
        begin(host, three[0], data, out, 20, 29406, nodes="2")
        for host, data in zip(three, (digits, other), strict=False)
    ]
    ended(running)
    assert all(process.returncode for process in running)
    assert "not the same on all hosts; copy the same prepared data to each" in said(out, three[0]) + said(out, three[1])
