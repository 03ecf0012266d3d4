"""The table of addresses that an outside text must never make us connect to. Pure.

It joins IANA's special-purpose registry, Microsoft's recommended list and the metadata addresses of clouds. The table
is our own, because `ipaddress` changes its mind between patch releases and every library leaves a hole. For IPv6 the
rule is reversed: only 2000::/3 is allowed, which shuts out mapped, translated, local and multicast addresses without
naming them.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from msgspec import Struct

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Rule(Struct, frozen=True):
    """Why an address is refused.

    `name` may be shown to the model. `network` is for the log; it is None when the text is no address.
    """

    name: str
    network: Network | None = None


def _rules(named: dict[str, str]) -> tuple[Rule, ...]:
    return tuple(Rule(name, ip_network(network)) for network, name in named.items())


#: IANA's special-purpose registry, Microsoft's recommended list, cloud metadata.
REFUSED_IPV4 = _rules(
    {
        "0.0.0.0/8": "this network",
        "10.0.0.0/8": "private network",
        "100.64.0.0/10": "shared address space",
        "127.0.0.0/8": "loopback",
        "168.63.129.16/32": "cloud metadata",
        "169.254.0.0/16": "link-local",
        "172.16.0.0/12": "private network",
        "192.0.0.0/24": "protocol assignments",
        "192.0.2.0/24": "documentation",
        "192.31.196.0/24": "AS112",
        "192.52.193.0/24": "AMT",
        "192.88.99.0/24": "6to4 relay",
        "192.168.0.0/16": "private network",
        "192.175.48.0/24": "AS112",
        "198.18.0.0/15": "benchmarking",
        "198.51.100.0/24": "documentation",
        "203.0.113.0/24": "documentation",
        "224.0.0.0/4": "multicast",
        "240.0.0.0/4": "reserved",
    }
)
ALLOWED_IPV6 = IPv6Network("2000::/3")
REFUSED_IPV6 = _rules(
    {
        "2001::/23": "protocol assignments",
        "2001:db8::/32": "documentation",
        "2002::/16": "6to4",
        "2620:4f:8000::/48": "AS112",
        "3fff::/20": "documentation",
    }
)
NO_ADDRESS = Rule("no address")
OUTSIDE_GLOBAL = "not global unicast"

#: The interface identifier of ISATAP (RFC 5214) but for its universal and group bits.
_ISATAP = 0x00005EFE
_UNIVERSAL_AND_GROUP = 0x03000000
#: RFC 6052 section 2.2: the lengths a NAT64 prefix may have. The IPv4 address follows it, without bits 64 to 71.
NAT64_LENGTHS = frozenset({32, 40, 48, 56, 64, 96})


def judge(
    address: str | Address, *, nat64: IPv6Network | None = None, allowed: frozenset[Network] = frozenset()
) -> Rule | None:
    """Return the rule that refuses to connect to `address`, or None when no rule does.

    An address in one of the `allowed` networks passes. One in the `nat64` prefix is judged by the IPv4 address in it.
    """
    parsed = parse_address(address)
    if parsed is None:
        return NO_ADDRESS
    if any(parsed in network for network in allowed):
        return None
    if isinstance(parsed, IPv4Address):
        return _first(REFUSED_IPV4, parsed)
    if nat64 is not None and parsed in nat64:
        return judge(nat64_target(parsed, nat64), allowed=allowed)
    return _judge_ipv6(parsed)


def parse_address(address: str | Address) -> Address | None:
    """Return the address without its zone id; None for text that is no address (old forms such as 127.1 are none)."""
    try:
        return ip_address(str(address).partition("%")[0])
    except ValueError:
        return None


def nat64_target(address: IPv6Address, prefix: IPv6Network) -> IPv4Address:
    """Return the IPv4 address that a NAT64 with this prefix connects to."""
    bits = int(address)
    if prefix.prefixlen == max(NAT64_LENGTHS):
        return IPv4Address(bits & 0xFFFFFFFF)
    before, after = bits >> 64, bits & ((1 << 56) - 1)
    joined = (before << 56) | after  # 120 bits: without the octet that RFC 6052 keeps zero
    return IPv4Address((joined >> (120 - prefix.prefixlen - 32)) & 0xFFFFFFFF)


def _judge_ipv6(address: IPv6Address) -> Rule | None:
    if address not in ALLOWED_IPV6:
        return Rule(OUTSIDE_GLOBAL, ALLOWED_IPV6)
    refused = _first(REFUSED_IPV6, address)
    if refused is not None:
        return refused
    if (int(address) >> 32) & 0xFFFFFFFF & ~_UNIVERSAL_AND_GROUP == _ISATAP:
        inner = _first(REFUSED_IPV4, IPv4Address(int(address) & 0xFFFFFFFF))
        return inner and Rule(f"ISATAP over {inner.name}", inner.network)
    return None


def _first(rules: tuple[Rule, ...], address: Address) -> Rule | None:
    return next((rule for rule in rules if rule.network is not None and address in rule.network), None)
