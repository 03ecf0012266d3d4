"""Tells which Host and Origin headers are those of the game's own web site. Pure.

The Portal's web proxy hands both on as the browser sent them, so the same rules hold on the Portal's port and on that
of the Server. A page elsewhere whose name was pointed at this machine (DNS rebinding) comes with its own name, which
is none of ours; an address written out in numbers cannot be pointed elsewhere.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

_LOCAL = "localhost"
_PORTS = {"http": 80, "https": 443}
_LONGEST = 300
_ANY = "*"


class OwnAddresses(Struct, frozen=True):
    """The names and origins of one web site. A name that begins with a dot stands for all names below it as well."""

    names: frozenset[str] = frozenset({_LOCAL})
    #: Whole origins, such as https://game.example, of a proxy that does not hand the Host header on.
    origins: frozenset[str] = frozenset()

    @classmethod
    def of(cls, names: Iterable[str], origins: Iterable[str] = ()) -> OwnAddresses:
        """Make them from names as settings have them; the name "*" is left out, as it would allow any."""
        own = {name.strip().casefold().rstrip(".") for name in names}
        return cls(
            frozenset({_LOCAL, *own} - {"", _ANY}),
            frozenset(origin.strip().casefold().rstrip("/") for origin in origins if _ANY not in origin),
        )

    def is_own_host(self, host: str) -> bool:
        """Tell whether a Host header names this web site: by a name of it, localhost, or an address in numbers."""
        parts = _split(f"http://{host}")
        return parts is not None and parts.netloc == host.casefold() and self._is_own_name(parts.hostname or "")

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Tell whether an Origin header is this web site's own, as seen from the Host header of the same request."""
        if origin.casefold() in self.origins:
            return True
        parts = _split(origin)
        if parts is None or parts.scheme not in _PORTS or origin.casefold() != f"{parts.scheme}://{parts.netloc}":
            return False
        asked = _split(f"{parts.scheme}://{host}")
        if asked is None or not self.is_own_host(host):
            return False
        default = _PORTS[parts.scheme]
        return (parts.hostname, parts.port or default) == (asked.hostname, asked.port or default)

    def _is_own_name(self, name: str) -> bool:
        if not name:
            return False
        plain = name.rstrip(".")
        if plain in self.names or any(_is_below(plain, own) for own in self.names if own.startswith(".")):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _is_below(name: str, own: str) -> bool:
    return name == own[1:] or name.endswith(own)


def _split(url: str) -> SplitResult | None:
    """Return the parts of an address with a host and nothing behind it, None for anything else."""
    if len(url) > _LONGEST or not url.isascii() or any(sign <= " " or sign in "@\\?#" for sign in url):
        return None
    try:
        parts = urlsplit(url.casefold())
        _ = parts.port  # raises for what is no port
    except ValueError:
        return None
    return parts if parts.hostname and not parts.path else None
