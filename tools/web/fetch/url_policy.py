"""The operator's rules for URLs: ports, domains, which URLs a model may open, and exceptions to the address table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv6Network, ip_network

from tools.web.fetch.addresses import NAT64_LENGTHS, Network
from tools.web.fetch.hosts import domains, is_within

MAX_PORT = 65535


#: Where a host that the owner names may be: at home or on this machine, never link-local (where clouds keep their
#: metadata) nor in another special network.
HOME_NETWORKS: frozenset[Network] = frozenset(
    map(
        ip_network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "fc00::/7", "::1/128"),
    )
)


class UrlOrigin(StrEnum):
    """Which URLs the model may open: any, or only those that appeared in a search result or a player's message."""

    ANY = "any"
    SEEN = "seen"


@dataclass(frozen=True, slots=True)
class UrlPolicy:
    """Which URLs may be asked for. A domain in a list includes its subdomains; the block list wins.

    `nat64` is the prefix of a network that reaches IPv4 only through NAT64. `allow_private` are the operator's own
    networks, from which pages may be read in spite of the table; none by default. `private_names` are the operator's
    own hosts, such as nas.lan, with their subdomains: they may be asked for and may have a private address
    (`HOME_NETWORKS`). Raises ValueError for settings that make no sense.
    """

    ports: frozenset[int] = frozenset({80, 443})
    allow_domains: frozenset[str] = frozenset()
    block_domains: frozenset[str] = frozenset()
    url_origin: UrlOrigin = UrlOrigin.ANY
    nat64: IPv6Network | None = None
    allow_private: frozenset[Network] = frozenset()
    private_names: frozenset[str] = frozenset()

    def allowed_for(self, host: str) -> frozenset[Network]:
        """Return the networks a host may be in, in spite of the table.

        A host in `private_names` may also be in one of the `HOME_NETWORKS`, but in no other special network.
        """
        return self.allow_private | HOME_NETWORKS if is_within(host, self.private_names) else self.allow_private

    def __post_init__(self) -> None:
        """Check ports and NAT64 prefix, and bring the domains into their normal form. Raises ValueError."""
        if not all(0 < port <= MAX_PORT for port in self.ports):
            raise ValueError("a port is a number from 1 to 65535")
        if self.nat64 is not None and self.nat64.prefixlen not in NAT64_LENGTHS:
            raise ValueError("a NAT64 prefix has 32, 40, 48, 56, 64 or 96 bits")
        for names in ("allow_domains", "block_domains", "private_names"):
            object.__setattr__(self, names, domains(getattr(self, names)))
