"""Not too often: a token bucket for each key or address, in bounded memory."""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from regard.serve.refused import Refused

MOST = 10_000  # buckets; the one that was used longest ago is forgotten, and is full by then or nearly so
BURST_SECONDS = 10  # so much of the rate may come at once


class Rates:
    """So many requests a minute for each name; 0 for any number."""

    def __init__(self, a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.a_second = a_minute / 60
        self.burst = max(1.0, self.a_second * BURST_SECONDS)
        self.clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """What is left for each, and when that was."""

    def spend(self, name: str) -> None:
        """Count a request; Refused if it is one too many."""
        if not self.a_second:
            return
        now = self.clock()
        left, then = self._buckets.pop(name, (self.burst, now))
        left = min(self.burst, left + (now - then) * self.a_second)
        allowed = left >= 1
        self._buckets[name] = (left - allowed, now)
        if len(self._buckets) > MOST:
            self._buckets.popitem(last=False)
        if not allowed:
            wait = math.ceil((1 - left) / self.a_second)
            raise Refused(429, f"Slowdown: {round(self.a_second * 60)} per 1 minute", retry_after=wait)


def network(address: str) -> str:
    """What counts as one address: of IPv6 the 64 bits that one household has."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def trusted(address: str, proxy: str | None) -> bool:
    """Whether this is the address of a proxy that is believed: `*`, or addresses and networks between commas."""
    for one in (proxy or "").split(","):
        try:
            if one.strip() == "*" or ipaddress.ip_address(address) in ipaddress.ip_network(one.strip()):
                return True
        except ValueError:  # neither
            continue
    return False
