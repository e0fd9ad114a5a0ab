"""Which names a server goes by.

Whoever reaches a server on loopback is trusted, for that is its own machine. But a page from elsewhere can give its
name our address (DNS rebinding); a browser then takes the two for one site, and lets the page read our answers. What it
still says is the name. An address is no name, and can't be given to another.
"""

import ipaddress
import re
from collections.abc import Iterable

LOCAL = "localhost"
_HOST = re.compile(r"\[([0-9a-f:.]+)\](?::\d*)?|([^:\[\]]+)(?::\d*)?")


def names(host: str, address: str, more: Iterable[str]) -> frozenset[str] | None:
    """What a server that listens there is called; None for anything, off loopback and without a name of its own."""
    given = frozenset(map(str.lower, more))
    return given | {LOCAL, host.lower()} if given or ipaddress.ip_address(address).is_loopback else None


def called(header: str, names: frozenset[str]) -> bool:
    """Whether a Host header says an address or one of the names."""
    found = _HOST.fullmatch(header.lower())
    if found is None:
        return False
    host = found[1] or found[2].removesuffix(".")
    return host in names or host.endswith(f".{LOCAL}") or _is_address(host)


def same_origin(origin: str, host: str, names: Iterable[str]) -> bool:
    """Whether a page of this origin is the server's own: by its Host header, or by a name that it was given."""
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
