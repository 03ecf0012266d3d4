"""Only the game's own names and origins are the page's: nothing that another site could bring to this machine."""

from __future__ import annotations

import pytest

from mud_assistant.assistant.worlds.evennia.page.addresses import OwnAddresses

OWN = OwnAddresses.of(["localhost", "*", "Game.Example", ".mud.example", ""], ["https://front.example/"])


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:4001", "LOCALHOST:4005", "127.0.0.1:4001", "192.168.1.7", "[::1]:4001", "[fe80::1]",
     "game.example", "game.example:80", "GAME.example.", "mud.example", "www.mud.example"],
)  # fmt: skip
def test_own_hosts(host: str) -> None:
    assert OWN.is_own_host(host)


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:4001", "localhost.evil.example", "127.0.0.1.evil.example", "127.1", "2130706433",
     "0x7f000001", "notmud.example", "sub.game.example", "*", "game.example/", "a@localhost", "localhost:4001@evil",
     "localhost,evil.example", "localhost evil", "localhost\tx", "localhost:port", "localhost:99999", "[::1", "::1",
     "localhost?x", "localhost#x", "xn--game.example", "gäme.example", "localhost" * 50, ".mud.example.evil.example"],
)  # fmt: skip
def test_hosts_of_others(host: str) -> None:
    assert not OWN.is_own_host(host)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:4001", "localhost:4001"),
        ("http://127.0.0.1:4005", "127.0.0.1:4005"),
        ("http://[::1]:4001", "[::1]:4001"),
        ("http://game.example", "game.example"),
        ("http://game.example", "game.example:80"),
        ("https://game.example", "game.example"),
        ("https://game.example", "game.example:443"),
        ("HTTP://Game.Example", "game.example"),
        ("https://front.example", "127.0.0.1:4001"),
    ],
)
def test_own_origins(origin: str, host: str) -> None:
    assert OWN.is_own_origin(origin, host)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("null", "localhost:4001"),
        ("", "localhost:4001"),
        ("http://evil.example", "localhost:4001"),
        ("http://evil.example", "evil.example"),
        ("http://localhost:4002", "localhost:4001"),
        ("http://localhost", "localhost:4001"),
        ("http://localhost:4001", "127.0.0.1:4001"),
        ("https://game.example", "game.example:80"),
        ("http://localhost:4001.evil.example", "localhost:4001"),
        ("http://localhost:4001/", "localhost:4001"),
        ("http://localhost:4001?x", "localhost:4001"),
        ("http://a@localhost:4001", "localhost:4001"),
        ("ftp://localhost:4001", "localhost:4001"),
        ("localhost:4001", "localhost:4001"),
        ("http://front.example", "127.0.0.1:4001"),
        ("http://localhost:4001 http://evil.example", "localhost:4001"),
    ],
)
def test_origins_of_others(origin: str, host: str) -> None:
    assert not OWN.is_own_origin(origin, host)


def test_a_star_in_the_settings_allows_nobody_more() -> None:
    own = OwnAddresses.of(["*"], ["https://*.example"])
    assert not own.is_own_host("evil.example")
    assert not own.is_own_origin("https://*.example", "localhost")
