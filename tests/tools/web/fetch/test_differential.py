"""Against two libraries with the same purpose: whatever either refuses we refuse, and public addresses pass.

`ssrfguard` and `microsoft-antissrf` (imported as AntiSSRF) are dev dependencies and nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mud_assistant.tools.web.fetch.addresses import Address, judge
from mud_assistant.tools.web.fetch.hosts import is_within
from mud_assistant.tools.web.fetch.url import UrlPolicy, UrlRefused, parse
from tests.effort import times
from tests.tools.web.fetch.test_urls import ACCEPTED, PIECES, REFUSED

ssrfguard: Any = pytest.importorskip("ssrfguard", reason="pip install ssrfguard (a dev dependency)")
AntiSSRF: Any = pytest.importorskip("AntiSSRF", reason="pip install microsoft-antissrf (a dev dependency)")

GUARD = ssrfguard.Policy()
MICROSOFT = AntiSSRF.AntiSSRFPolicy(AntiSSRF.PolicyConfigOptions.EXTERNAL_ONLY_LATEST)
#: Every range that either library knows, and every one of IPv6 that holds an IPv4 address.
RANGES = sorted(
    {str(block.network) for block in ssrfguard.DEFAULT_DENIED.blocks}
    | set(AntiSSRF.IPAddressRanges.recommended_latest)
    | {"2001:470::/32", "2606:4700::/32", "2a00::/12", "1.0.0.0/8", "8.8.8.0/24", "64:ff9b::/32", "::ffff:0:0:0/96"}
)


def refused_by_guard(address: str) -> bool:
    return not GUARD.permits_address(address)


def refused_by_microsoft(address: str) -> bool:
    return not MICROSOFT._is_network_connection_allowed([address])


def agrees(address: Address) -> None:
    """What either refuses, we refuse too."""
    text = str(address)
    if refused_by_guard(text) or refused_by_microsoft(text):
        assert judge(text) is not None, text


def edges() -> Iterator[Address]:
    """First and last of each range, and one beside them."""
    for written in RANGES:
        network = ip_network(written)
        kind = IPv4Address if network.version == 4 else IPv6Address
        first, last, most = int(network[0]), int(network[-1]), 2**network.max_prefixlen - 1
        yield from (kind(each) for each in (first - 1, first, first + 1, last - 1, last, last + 1) if 0 <= each <= most)


def test_at_the_edges_of_every_range_they_know() -> None:
    for address in edges():
        agrees(address)


@st.composite
def addresses(draw: st.DrawFn) -> Address:
    """An address in one of the ranges, or anywhere."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.ip_addresses())
    network = ip_network(draw(st.sampled_from(RANGES)))
    offset = draw(st.integers(0, network.num_addresses - 1))
    if network.version == 6 and draw(st.booleans()):
        offset = int(draw(st.ip_addresses(v=4))) % network.num_addresses
    return network[offset]


@settings(max_examples=times(600), deadline=None)
@given(addresses())
def test_whatever_either_refuses_we_refuse(address: Address) -> None:
    agrees(address)


def test_public_addresses_pass_all_three() -> None:
    """Random addresses of the most used global networks."""
    chance = random.Random(6)  # noqa: S311  (a sample, the same each time)
    networks = ["1.1.1.0/24", "8.8.0.0/16", "93.184.0.0/16", "151.101.0.0/16", "2606:4700::/32", "2a00:1450::/32"]
    for _ in range(600):
        network = ip_network(chance.choice(networks))
        address = str(network[chance.randrange(network.num_addresses)])
        assert judge(address) is None
        assert not refused_by_guard(address)
        assert not refused_by_microsoft(address)


def refused_by_us(url: str) -> bool:
    try:
        parse(url, UrlPolicy())
    except UrlRefused:
        return True
    return False


def url_refused_by_guard(url: str) -> bool:
    try:
        GUARD.check_url(url)
    except (ssrfguard.BlockedURLError, ssrfguard.BlockedAddressError):
        return True
    return False


#: Where their parser knows less than ours: none of these has two readings or hides an address.
def only_their_parser_balks(url: str) -> bool:
    """Their name codec is IDNA 2003, which knows the characters of Unicode 3.2 only."""
    return any(ord(character) > 0x7F for character in url)


@pytest.mark.parametrize("url", [url for url, _ in REFUSED + ACCEPTED])
def test_the_tables_of_urls_against_ssrfguard(url: str) -> None:
    if url_refused_by_guard(url):
        assert refused_by_us(url)


@settings(max_examples=times(600), deadline=None)
@example("http://example.com\\@evil.org/")
@example("http://[::ffff:1.2.3.4]/")
@given(st.lists(PIECES, max_size=10).map("".join).map("http://".__add__))
def test_whatever_url_ssrfguard_refuses_we_refuse(url: str) -> None:
    if url_refused_by_guard(url) and not only_their_parser_balks(url):
        assert refused_by_us(url)


@settings(max_examples=times(400), deadline=None)
@given(st.lists(PIECES, max_size=10).map("".join).map("http://".__add__))
def test_where_microsoft_sees_no_domain_or_another_we_do_not_go(url: str) -> None:
    """Their validator answers whether a URL is in a domain; two parsers must agree on that, as ours must."""
    try:
        safe = parse(url, UrlPolicy())
    except UrlRefused:
        return
    if safe.address is None:
        for domain in ("example.com", "evil.org"):
            is_in = is_within(safe.host, frozenset({domain}))
            assert AntiSSRF.URIValidator.in_domain(str(safe), domain) is is_in
