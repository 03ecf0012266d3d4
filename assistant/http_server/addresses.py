"""Tells the addresses of this machine, and who a client behind a proxy is.

What a proxy adds to a request, anybody can write. It counts only from the proxies that the settings name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

#: The headers in which proxies say for whom they ask, and how that client came.
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-proto")
#: The port of a Host header that names none.
HTTP_PORT = "80"
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?")
#: An address with a port behind it, and one in brackets with or without.
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d+)?|([\d.]+):\d+")


def split_host(host: str) -> tuple[str, str]:
    """Return the name and the port of a Host header or a setting, in lower case; no brackets, no dot at the end.

    The port is empty where there is none. What is no host is returned whole, as a name that nobody has.
    """
    match = _HOST.fullmatch(host.lower())
    name, port = match.groups() if match else (host.lower(), "")
    return name.removeprefix("[").removesuffix("]").rstrip("."), port or ""


def is_loopback(host: str) -> bool:
    """Tell whether a name or an address always leads to this machine itself."""
    name = host.lower().rstrip(".")
    return is_loopback_address(name) or name == "localhost" or name.endswith(".localhost")


def is_loopback_address(written: str) -> bool:
    """Tell whether this is an address of this machine itself. A name is none."""
    found = _address(written)
    return found is not None and found.is_loopback


def checked_network(written: str) -> str:
    """Return the address or network that was written. Raises ValueError for anything else."""
    try:
        ip_network(written, strict=False)
    except ValueError:
        raise ValueError(
            f"'{written[:80]}' is no address: write that of the proxy, such as 127.0.0.1, or a network such as "
            "10.0.0.0/8"
        ) from None
    return written


class Proxies:
    """The proxies whose word counts, as addresses and networks. The names of `headers` are in lower case."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._networks = tuple(ip_network(name, strict=False) for name in named)

    def client_of(self, peer: str, headers: Mapping[str, str]) -> str:
        """Return the address of who asks: the last one in X-Forwarded-For or Forwarded that is no named proxy.

        It is `peer`, the other end of the connection, when that is no named proxy, or says nothing that can be read.
        Two headers that differ are believed neither: one of them may be the client's own.
        """
        if not self._has(_address(peer)):
            return peer
        told = [hops for hops in (_listed(headers), list(_elements(headers, "for"))) if hops]
        if len({hops[-1] for hops in told}) != 1:
            return peer
        client = peer
        for hop in reversed(told[0]):
            found = _address(hop)
            if found is None:
                break
            client = str(found)
            if not self._has(found):
                break
        return client

    def is_https(self, peer: str, headers: Mapping[str, str]) -> bool:
        """Tell whether a named proxy says that its client came by HTTPS."""
        if not self._has(_address(peer)):
            return False
        plain = headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
        return (plain or next(reversed(list(_elements(headers, "proto"))), "").lower()) == "https"

    def _has(self, address: IPv4Address | IPv6Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def _listed(headers: Mapping[str, str]) -> list[str]:
    return [hop.strip() for hop in headers.get("x-forwarded-for", "").split(",") if hop.strip()]


def _elements(headers: Mapping[str, str], name: str) -> Iterator[str]:
    """Yield the values of one parameter of Forwarded (RFC 7239), in order."""
    for element in headers.get("forwarded", "").split(","):
        for pair in element.split(";"):
            key, _, value = pair.strip().partition("=")
            if key.strip().lower() == name:
                yield value.strip().strip('"')


def _address(written: str) -> IPv4Address | IPv6Address | None:
    """Return an address, without a port, brackets and zone, and IPv4 as itself; None for a name."""
    match = _WITH_PORT.fullmatch(written)
    bare = (match.group(1) or match.group(2)) if match else written
    try:
        found = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
