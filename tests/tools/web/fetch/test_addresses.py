"""Every reserved range: its first and last address are refused, their neighbours pass."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.web.fetch.addresses import Address, Network, judge, nat64_target, parse_address

#: Written out once more, so that a slip in the table shows: network, whether the one before and the one after pass.
IPV4 = [
    ("0.0.0.0/8", None, True),
    ("10.0.0.0/8", True, True),
    ("100.64.0.0/10", True, True),
    ("127.0.0.0/8", True, True),
    ("169.254.0.0/16", True, True),
    ("172.16.0.0/12", True, True),
    ("192.0.0.0/24", True, True),
    ("192.0.2.0/24", True, True),
    ("192.31.196.0/24", True, True),
    ("192.52.193.0/24", True, True),
    ("192.88.99.0/24", True, True),
    ("192.168.0.0/16", True, True),
    ("192.175.48.0/24", True, True),
    ("198.18.0.0/15", True, True),
    ("198.51.100.0/24", True, True),
    ("203.0.113.0/24", True, True),
    ("224.0.0.0/4", True, False),
    ("240.0.0.0/4", False, None),
    ("168.63.129.16/32", True, True),
]
IPV6 = [
    ("::/3", None, True),
    ("4000::/2", True, False),
    ("8000::/1", False, None),
    ("2001::/23", True, True),
    ("2001:db8::/32", True, True),
    ("2002::/16", True, True),
    ("2620:4f:8000::/48", True, True),
    ("3fff::/20", True, True),
]


def before(network: Network) -> Address:
    return type(network.network_address)(int(network.network_address) - 1)


def after(network: Network) -> Address:
    return type(network.network_address)(int(network.broadcast_address) + 1)


@pytest.mark.parametrize(("written", "passes_before", "passes_after"), IPV4 + IPV6)
def test_a_range_and_its_neighbours(written: str, passes_before: bool | None, passes_after: bool | None) -> None:
    network = ip_network(written)
    assert judge(network.network_address) is not None
    assert judge(network.broadcast_address) is not None
    assert judge(str(network.network_address)) is not None
    if passes_before is not None:
        assert (judge(before(network)) is None) is passes_before
    if passes_after is not None:
        assert (judge(after(network)) is None) is passes_after


#: The addresses of section 3's table of what others let through, and every way of wrapping an IPv4 address in IPv6.
@pytest.mark.parametrize(
    "address",
    [
        "100.64.0.1",
        "224.0.0.1",
        "ff02::1",
        "192.0.0.8",
        "fec0::1",
        "3fff::1",
        "2002:7f00:1::",
        "64:ff9b::a9fe:a9fe",
        "::127.0.0.1",
        "5f00::1",
        "::ffff:0:7f00:1",
        "168.63.129.16",
        "192.0.0.9",
        "192.88.99.1",
        "2001:10::1",
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "192.0.0.192",
        "fd00:ec2::254",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "fe80::1%eth0",
        "::1%25lo",
        "fc00::1",
        "2001:db8::1",
        "0.0.0.0",  # noqa: S104  (an address to judge)
        "2002:808:808::1",
    ],
)
def test_what_some_library_lets_through(address: str) -> None:
    assert judge(address) is not None


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.216.34",
        "2606:4700:4700::1111",
        "2a00:1450:4001::1",
        "2001:4860:4860::8888",
        "2606:4700::1111%eth0",
        "2606:4700::5efe:8.8.8.8",
        "2606:4700::200:5efe:1.1.1.1",
    ],
)
def test_public_addresses_pass(address: str) -> None:
    assert judge(address) is None


@pytest.mark.parametrize("group", ["0:5efe", "200:5efe", "100:5efe", "300:5efe"])
@pytest.mark.parametrize("inner", ["127.0.0.1", "10.1.2.3", "169.254.169.254"])
def test_isatap_is_judged_by_the_address_inside(group: str, inner: str) -> None:
    refused = judge(f"2606:4700:1:2:{group}:{inner}")
    assert refused is not None
    assert refused.name.startswith("ISATAP over")
    assert judge(f"2606:4700:1:2:{group}:8.8.8.8") is None


@pytest.mark.parametrize(
    "text", ["", "127.1", "0177.0.0.1", "0x7f.0.0.1", "2130706433", "1.2.3", "1.2.3.4.5", "::g", "[::1]", "localhost"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    refused = judge(text)
    assert refused is not None
    assert refused.name == "no address"


#: RFC 6052 section 2.4, the same 192.0.2.33 in each length of prefix.
RFC_6052 = [
    ("2001:db8::/32", "2001:db8:c000:221::"),
    ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
    ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
    ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
    ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
    ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
]


@pytest.mark.parametrize(("prefix", "address"), RFC_6052)
def test_where_a_nat64_prefix_hides_the_address(prefix: str, address: str) -> None:
    assert nat64_target(IPv6Address(address), IPv6Network(prefix)) == IPv4Address("192.0.2.33")


def test_a_nat64_prefix_is_an_exception_that_is_judged_by_what_is_inside() -> None:
    prefix = IPv6Network("64:ff9b::/96")
    assert judge("64:ff9b::8.8.8.8", nat64=prefix) is None
    for inner in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "168.63.129.16"):
        assert judge(f"64:ff9b::{inner}", nat64=prefix) is not None
    assert judge("64:ff9b:1::8.8.8.8", nat64=prefix) is not None
    assert judge("::ffff:8.8.8.8", nat64=prefix) is not None


def test_what_the_operator_allows_passes_and_nothing_beside_it() -> None:
    allowed = frozenset({ip_network("127.0.0.0/8"), ip_network("fd00:1::/64")})
    assert judge("127.0.0.1", allowed=allowed) is None
    assert judge("fd00:1::5", allowed=allowed) is None
    for other in ("126.255.255.255", "10.0.0.1", "::1", "::ffff:127.0.0.1", "fd00:2::5", "2606:4700::5efe:127.0.0.1"):
        assert (judge(other, allowed=allowed) is None) is (other == "126.255.255.255")


@given(st.ip_addresses())
def test_an_address_and_its_text_are_judged_alike(address: Address) -> None:
    assert judge(address) == judge(str(address)) == judge(f"{address}%zone")
    assert parse_address(address.exploded) == address


@given(st.ip_addresses(v=4))
def test_no_mapping_into_ipv6_opens_what_ipv4_refuses(address: IPv4Address) -> None:
    wrapped = [f"::ffff:{address}", f"::{address}", f"64:ff9b::{address}", f"::ffff:0:{address}"]
    assert all(judge(each) is not None for each in wrapped)
    isatap = ip_address(f"2606:4700::5efe:{address}")
    assert (judge(isatap) is None) == (judge(address) is None)
