"""A cable between network namespaces that delays every frame, for kernels without netem.

python delay.py MILLISECONDS NAMESPACE...   # makes eth0 in each; says "ready", and runs until it is ended

Each namespace gets a TAP interface. A frame that one sends is written to the others so many milliseconds later: to the
one with its address, or to all. Frames may be large (MTU), so that Python keeps up with a gigabit a second.
"""

import errno
import fcntl
import os
import selectors
import struct
import subprocess
import sys
import time
from collections import deque

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
MTU = 64_000
BATCH = 64  # frames that are read before those that are due are written


def interface(namespace: str, number: int) -> int:
    """Make eth0 in a namespace, and return the file that it sends to and receives from."""
    cable = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    name = f"rgt{os.getpid() % 100000}x{number}"
    fcntl.ioctl(cable, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    for command in (
        f"ip link set {name} address {address(number).hex(':')} mtu {MTU}",
        f"ip link set {name} netns {namespace} name eth0",
    ):
        subprocess.run(command.split(), check=True)
    return cable


def address(number: int) -> bytes:
    return bytes((2, 0, 0, 0, 0, number + 1))  # a MAC address of one's own


def relay(cables: list[int], delay: float) -> None:
    """Pass frames on, each after the delay."""
    waiting: deque[tuple[float, bytes, int]] = deque()
    selector = selectors.DefaultSelector()
    for number, cable in enumerate(cables):
        selector.register(cable, selectors.EVENT_READ, number)
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for key, _ in selector.select(timeout):
            for frame in frames(key.fd):
                waiting.append((time.monotonic() + delay, frame, key.data))
        while waiting and waiting[0][0] <= time.monotonic():
            _, frame, sender = waiting.popleft()
            receivers = [number for number in range(len(cables)) if address(number) == frame[:6]]
            for number in receivers or [number for number in range(len(cables)) if number != sender]:
                send(cables[number], frame)


def frames(cable: int) -> list[bytes]:
    """Return the frames that an interface has sent."""
    found: list[bytes] = []
    try:
        while len(found) < BATCH:
            found.append(os.read(cable, MTU + 1_000))
    except BlockingIOError:
        pass
    return found


def send(cable: int, frame: bytes) -> None:
    """Give a frame to an interface; it is lost if that is down, or has too many."""
    try:
        os.write(cable, frame)
    except OSError as error:
        if error.errno not in (errno.EIO, errno.EAGAIN, errno.ENOBUFS):
            raise


if __name__ == "__main__":
    ends = [interface(namespace, number) for number, namespace in enumerate(sys.argv[2:])]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    relay(ends, float(sys.argv[1]) / 1000)
