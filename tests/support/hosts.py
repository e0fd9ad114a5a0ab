"""Hosts on one machine: network namespaces with addresses of their own, at 1 Gbit/s, and 10 ms for a round trip.

They are on a bridge where the kernel has netem; elsewhere delay.py is the cable between them.
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

RATE, DELAY = "1gbit", 5  # milliseconds each way, so that a round trip takes 10
CABLE = Path(__file__).with_name("delay.py")


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


def _has_netem(name: str) -> bool:
    """Return whether the kernel can delay packets itself."""
    command = ("tc", "-n", name, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
    if subprocess.run(command, check=False, capture_output=True).returncode:
        return False
    _run("tc", "-n", name, "qdisc", "del", "dev", "lo", "root")
    return True


def _bridged(mark: str, made: Sequence[Host]) -> None:
    """Connect hosts by a bridge; the kernel delays what they send."""
    _run("ip", "link", "add", mark, "type", "bridge")
    _run("ip", "link", "set", mark, "up")
    for number, host in enumerate(made):
        outside = f"{mark}v{number}"
        _run("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", host.name)
        _run("ip", "link", "set", outside, "master", mark, "up")
    for host in made:
        qdisc = ("netem", "rate", RATE, "delay", f"{DELAY}ms", "limit", "10000")
        _run("tc", "-n", host.name, "qdisc", "add", "dev", "eth0", "root", *qdisc)


def _cabled(made: Sequence[Host]) -> subprocess.Popen[str]:
    """Connect hosts by a process that delays what they send."""
    command = [sys.executable, str(CABLE), str(DELAY), *(host.name for host in made)]
    cable = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert cable.stdout is not None and cable.stdout.readline() == "ready\n"
    for host in made:
        qdisc = ("tbf", "rate", RATE, "burst", "256kb", "latency", "50ms")
        _run("tc", "-n", host.name, "qdisc", "add", "dev", "eth0", "root", *qdisc)
    return cable


@contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    """Make hosts that reach each other, and remove them; skip the test where that is not possible."""
    if os.geteuid() or not all(map(shutil.which, ("ip", "tc"))) or sys.platform != "linux":
        pytest.skip("network namespaces need root, ip and tc (Debian: iproute2)")
    mark = f"rg{os.getpid() % 100000}"
    made: list[Host] = []
    cable = None
    try:
        for number in range(1, count + 1):
            host = Host(f"{mark}-{number}", f"10.93.{os.getpid() % 250}.{number}")
            try:
                _run("ip", "netns", "add", host.name)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"no network namespaces here: {error.stderr!r}")
            made.append(host)
        if _has_netem(made[0].name):
            _bridged(mark, made)
        else:
            cable = _cabled(made)
        for host in made:
            _run("ip", "-n", host.name, "address", "add", f"{host.address}/24", "dev", "eth0")
            _run("ip", "-n", host.name, "link", "set", "lo", "up")
            _run("ip", "-n", host.name, "link", "set", "eth0", "up")
        yield made
    finally:
        for host in made:
            host.kill()
        if cable is not None:
            cable.kill()
            cable.communicate()
        for host in made:
            subprocess.run(["ip", "netns", "delete", host.name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "delete", mark], check=False, capture_output=True)
