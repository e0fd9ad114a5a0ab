"""Check the Host header, as a defence against DNS rebinding.

A server on loopback trusts its clients, since they are on its own machine. But a foreign page can resolve its name to
our address (DNS rebinding); the browser then treats both as one site and lets the page read our answers. The Host
header still has the foreign name. An IP address as host is safe, since it can't be rebound.
"""

import ipaddress
import re
from collections.abc import Iterable

LOCAL = "localhost"
_HOST = re.compile(r"\[([0-9a-f:.]+)\](?::\d*)?|([^:\[\]]+)(?::\d*)?")


def names(host: str, address: str, more: Iterable[str]) -> frozenset[str] | None:
    """Return the accepted host names of a server; None for any, off loopback and without configured names."""
    given = frozenset(map(str.lower, more))
    return given | {LOCAL, host.lower()} if given or ipaddress.ip_address(address).is_loopback else None


def called(header: str, names: frozenset[str]) -> bool:
    """Return whether a Host header is an IP address or one of the names."""
    found = _HOST.fullmatch(header.lower())
    if found is None:
        return False
    host = found[1] or found[2].removesuffix(".")
    return host in names or host.endswith(f".{LOCAL}") or _is_address(host)


def same_origin(origin: str, host: str, names: Iterable[str]) -> bool:
    """Return whether an origin is the server's own: equal to the Host header, or to a configured name."""
    scheme, _, authority = origin.lower().partition("://")
    if scheme not in ("http", "https") or not authority:
        return False
    return authority == host.lower() or authority.partition(":")[0] in map(str.lower, names)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
