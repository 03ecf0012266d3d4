"""What the operator says about URLs: ports, domains, whose URLs, and exceptions to the table of addresses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv6Network

from tools.web.addresses import NAT64_LENGTHS, Network
from tools.web.hosts import normal_name

MAX_PORT = 65535


class UrlOrigin(StrEnum):
    """Which URLs the model may open: any, or only those that appeared in a search result or a player's message."""

    ANY = "any"
    SEEN = "seen"


@dataclass(frozen=True, slots=True)
class UrlPolicy:
    """Which URLs may be asked for. A domain in a list stands for all below it too; the block list wins.

    `nat64` is the prefix of a network that reaches IPv4 only through NAT64. `allow_private` are networks of the
    operator's own that pages may be read from in spite of the table; none by default. Raises ValueError for settings
    that cannot be meant.
    """

    ports: frozenset[int] = frozenset({80, 443})
    allow_domains: frozenset[str] = frozenset()
    block_domains: frozenset[str] = frozenset()
    url_origin: UrlOrigin = UrlOrigin.ANY
    nat64: IPv6Network | None = None
    allow_private: frozenset[Network] = frozenset()

    def __post_init__(self) -> None:
        """Bring the domains into the form in which hosts are compared."""
        if not all(0 < port <= MAX_PORT for port in self.ports):
            raise ValueError("a port is a number from 1 to 65535")
        if self.nat64 is not None and self.nat64.prefixlen not in NAT64_LENGTHS:
            raise ValueError("a NAT64 prefix has 32, 40, 48, 56, 64 or 96 bits")
        object.__setattr__(self, "allow_domains", _normal(self.allow_domains))
        object.__setattr__(self, "block_domains", _normal(self.block_domains))


def _normal(domains: frozenset[str]) -> frozenset[str]:
    return frozenset(normal_name(domain.removeprefix("*.").removeprefix(".")) for domain in domains)
