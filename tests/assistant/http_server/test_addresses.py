"""What a proxy says of its client counts only from the proxies that were named."""

from __future__ import annotations

import pytest

from mud_assistant.assistant.http_server.addresses import Proxies, checked_network, is_loopback, split_host

NAMED = Proxies(["127.0.0.1", "10.0.0.0/8", "2001:db8::/64"])


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "::ffff:127.0.0.1"]
)
def test_names_of_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["ai.example.org", "localhost.example.org", "0.0.0.1", "::", "10.0.0.1", "host.docker.internal", "127.x", ""],
)
def test_names_that_lead_elsewhere(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("host", "name", "port"),
    [
        ("LOCALHOST:1", "localhost", "1"),
        ("mud.lan.", "mud.lan", ""),
        ("[::1]:80", "::1", "80"),
        ("[fd00::5]", "fd00::5", ""),
        ("fd00::5", "fd00::5", ""),
        ("127.0.0.1:80.evil.example", "127.0.0.1:80.evil.example", ""),
        ("127.0.0.1:1:2", "127.0.0.1:1:2", ""),
        ("127.0.0.1, evil.example", "127.0.0.1, evil.example", ""),
        ("@localhost", "@localhost", ""),
        ("", "", ""),
    ],
)
def test_a_host_has_a_name_and_perhaps_a_port(host: str, name: str, port: str) -> None:
    assert split_host(host) == (name, port)


@pytest.mark.parametrize(
    ("peer", "headers", "client"),
    [
        ("127.0.0.1", {}, "127.0.0.1"),
        ("127.0.0.1", {"x-forwarded-for": "192.0.2.7"}, "192.0.2.7"),
        ("::ffff:127.0.0.1", {"x-forwarded-for": "192.0.2.7"}, "192.0.2.7"),
        ("127.0.0.1", {"x-forwarded-for": "127.0.0.1, 192.0.2.7"}, "192.0.2.7"),  # the first was the client's own
        ("127.0.0.1", {"x-forwarded-for": "198.51.100.1, 192.0.2.7:4711, 10.1.1.1"}, "192.0.2.7"),
        ("127.0.0.1", {"x-forwarded-for": "10.1.1.1, 10.1.1.2"}, "10.1.1.1"),
        ("127.0.0.1", {"x-forwarded-for": "192.0.2.7, unknown"}, "127.0.0.1"),
        ("127.0.0.1", {"x-forwarded-for": "[2001:db8:1::5]:80"}, "2001:db8:1::5"),
        ("127.0.0.1", {"forwarded": 'for=192.0.2.60;proto=http, For="[2001:db8:1::5]:4711"'}, "2001:db8:1::5"),
        ("127.0.0.1", {"forwarded": "for=198.51.100.1", "x-forwarded-for": "192.0.2.7"}, "127.0.0.1"),
        ("127.0.0.1", {"forwarded": "for=192.0.2.7", "x-forwarded-for": "192.0.2.7"}, "192.0.2.7"),
        ("192.0.2.99", {"x-forwarded-for": "127.0.0.1"}, "192.0.2.99"),
        ("?", {"x-forwarded-for": "127.0.0.1"}, "?"),
    ],
)
def test_who_asks_through_a_proxy(peer: str, headers: dict[str, str], client: str) -> None:
    assert NAMED.client_of(peer, headers) == client
    assert Proxies().client_of(peer, headers) == peer


def test_only_a_named_proxy_says_that_a_client_came_by_https() -> None:
    for headers in (
        {"x-forwarded-proto": "https"},
        {"x-forwarded-proto": "http, HTTPS"},
        {"forwarded": "for=192.0.2.7;proto=https"},
    ):
        assert NAMED.is_https("127.0.0.1", headers)
        assert not NAMED.is_https("192.0.2.7", headers)
        assert not Proxies().is_https("127.0.0.1", headers)
    assert not NAMED.is_https("127.0.0.1", {"x-forwarded-proto": "https, http"})
    assert not NAMED.is_https("127.0.0.1", {})


def test_a_proxy_is_an_address_or_a_network() -> None:
    assert checked_network("10.0.0.7/8") == "10.0.0.7/8"
    with pytest.raises(ValueError, match="write that of the proxy"):
        checked_network("proxy.example")
