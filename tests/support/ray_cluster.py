"""A Ray cluster of two nodes on this machine, on loopback, for tests and benchmarks."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

STARTED = 120.0  # seconds that a node may take on a busy machine


@dataclass
class Node:
    """A node of the cluster: the processes of a session, which `ray start` or another command began."""

    process: subprocess.Popen[bytes]

    def processes(self, name: str) -> list[int]:
        """The node's processes whose command line contains a name."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if name in words and os.getsid(int(path.name)) == self.process.pid:
                    found.append(int(path.name))
            except OSError:  # it ended just now
                continue
        return found

    def kill(self) -> None:
        """End everything of the node."""
        for pid in self.processes(""):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()


@dataclass
class Cluster:
    """Nodes with one core each, and how to reach them."""

    address: str
    environment: dict[str, str]
    nodes: list[Node] = field(default_factory=list)

    def add(self, cores: int = 1) -> Node:
        """Start a node; the first one is the head."""
        place = ["--head", f"--port={self.address.rpartition(':')[2]}", "--include-dashboard=false"]
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
        command += [f"--address={self.address}"] if self.nodes else place
        command += ["--node-ip-address=127.0.0.1", f"--num-cpus={cores}", f"--object-store-memory={200 << 20}"]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, env=self.environment, stdout=quiet, stderr=quiet, start_new_session=True)
        node = Node(process)
        self.nodes.append(node)
        end = time.monotonic() + STARTED
        while time.monotonic() < end and process.poll() is None:
            if node.processes("raylet/raylet") and _answers(self.address):
                return node
            time.sleep(0.2)
        raise RuntimeError("the node did not start")


@contextmanager
def two_nodes() -> Iterator[Cluster]:
    """A head and a second node, of one core each; both are ended, and nothing else is."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    environment = {**os.environ, **token, "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}
    cluster = Cluster(address, environment)
    try:
        cluster.add()
        cluster.add()
        yield cluster
    finally:
        for node in reversed(cluster.nodes):
            node.kill()


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True
