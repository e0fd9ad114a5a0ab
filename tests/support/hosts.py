"""Hosts on one machine: network namespaces with addresses of their own, on a bridge of 1 Gbit/s.

Where the kernel has netem, a round trip takes 10 ms.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

RATE, DELAY = "1gbit", "5ms"  # each way, so that a round trip takes 10 ms


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@dataclass
class Host:
    """A network namespace with one interface and one address."""

    name: str
    address: str
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, command: Sequence[str], log: Path, **environment: str) -> subprocess.Popen[str]:
        """Run a command on the host, in a session of its own; its output goes to a file."""
        known = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "eth0", **environment}
        with log.open("a") as file:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.name, *command],
                env=known, stdout=file, stderr=file, text=True, start_new_session=True,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def cut(self) -> None:
        """Take the host off the network: nothing arrives any more, and nobody is told."""
        _run("ip", "-n", self.name, "link", "set", "eth0", "down")

    def reconnect(self) -> None:
        _run("ip", "-n", self.name, "link", "set", "eth0", "up")

    def kill(self) -> None:
        """End everything on the host at once."""
        for pid in subprocess.run(
            ["ip", "netns", "pids", self.name], check=True, capture_output=True, text=True
        ).stdout.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue
        for process in self.processes:
            process.wait()
        self.processes.clear()


def _shape(host: Host) -> None:
    """Limit the rate, and delay every packet where the kernel can (netem); otherwise limit the rate alone."""
    add = ("tc", "-n", host.name, "qdisc", "add", "dev", "eth0", "root")
    try:
        _run(*add, "netem", "rate", RATE, "delay", DELAY, "limit", "10000")
    except subprocess.CalledProcessError:
        _run(*add, "tbf", "rate", RATE, "burst", "128kb", "latency", "50ms")


@contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    """Make hosts that reach each other, and remove them; skip the test where that is not possible."""
    if os.geteuid() or not all(map(shutil.which, ("ip", "tc"))) or sys.platform != "linux":
        pytest.skip("network namespaces need root, ip and tc (Debian: iproute2)")
    mark = f"rg{os.getpid() % 100000}"
    made: list[Host] = []
    try:
        try:
            _run("ip", "link", "add", mark, "type", "bridge")
            _run("ip", "link", "set", mark, "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here: {error.stderr!r}")
        for number in range(1, count + 1):
            host = Host(f"{mark}-{number}", f"10.93.{os.getpid() % 250}.{number}")
            made.append(host)
            outside = f"{mark}v{number}"
            _run("ip", "netns", "add", host.name)
            _run("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", host.name)
            _run("ip", "link", "set", outside, "master", mark, "up")
            _run("ip", "-n", host.name, "address", "add", f"{host.address}/24", "dev", "eth0")
            _run("ip", "-n", host.name, "link", "set", "lo", "up")
            _run("ip", "-n", host.name, "link", "set", "eth0", "up")
            _shape(host)
        yield made
    finally:
        for host in made:
            host.kill()
            subprocess.run(["ip", "netns", "delete", host.name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "delete", mark], check=False, capture_output=True)
