"""Rate limiting: a token bucket for each key or address, in bounded memory."""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from regard.serve.refused import Refused

MOST = 10_000  # buckets; the least recently used is evicted, and is nearly full by then
BURST_SECONDS = 10  # seconds' worth of requests allowed at once


class Rates:
    """Limit the requests a minute for each name; 0 for no limit."""

    def __init__(self, a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.a_second = a_minute / 60
        self.burst = max(1.0, self.a_second * BURST_SECONDS)
        self.clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Remaining tokens by name, and when they were counted."""

    def spend(self, name: str) -> None:
        """Count a request; raise Refused if it exceeds the rate."""
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
    """Return the unit of limits for an address: the address itself, or the /64 network of IPv6."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def trusted(address: str, proxy: str | None) -> bool:
    """Return whether an address is a trusted proxy; `proxy` is `*`, or comma-separated addresses and networks."""
    for one in (proxy or "").split(","):
        try:
            if one.strip() == "*" or ipaddress.ip_address(address) in ipaddress.ip_network(one.strip()):
                return True
        except ValueError:  # neither address nor network
            continue
    return False
