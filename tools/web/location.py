"""Which pages are the same, and whose they are: pure, for keys, numbers and filters.

Nothing here decides what may be fetched; that is the safe fetcher's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

import idna

#: Longer ones are in no result worth keeping; browsers and the safe fetcher stop at about this many characters.
MAX_URL_CHARS = 2048
_PORTS = {"http": 80, "https": 443}
_NOT_IN_URLS = re.compile("[\x00-\x20\x7f-\x9f\\\\\u2028\u2029\ufeff]")
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def is_web_url(url: str) -> bool:
    """Whether it is an http(s) URL with a host, without user names and whatever makes two parsers disagree."""
    parts = _split(url)
    return parts is not None and len(url) <= MAX_URL_CHARS


def host_of(url: str) -> str:
    """The host as a look-up would have it (lower case, ASCII, no dot at the end); empty when there is none."""
    parts = _split(url)
    return "" if parts is None else domain(parts.hostname or "")


def domain(name: str) -> str:
    """A domain as people write it ("*.Example.org", ".example.org", "https://example.org/"), as hosts are compared."""
    name = name.strip()
    if "://" in name:
        name = name.split("://", 1)[1].split("/", 1)[0]
    name = name.removeprefix("*").strip("./").lower()
    if name.isascii():
        return name
    try:
        return idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError:
        return name


def is_within(host: str, domains: Iterable[str]) -> bool:
    """Whether the host is one of the domains or below one; both as `domain` has them."""
    return any(host == each or host.endswith("." + each) for each in domains if each)


def normal_url(url: str) -> str:
    """One form for all ways to write a URL; what is none of the web comes back as it is.

    Scheme and host in lower case, no default port, no fragment (but for the routes `#!` and `#/` that scripts read),
    percent escapes only where needed. The path and the query keep their letters: servers tell them apart.
    """
    parts = _split(url)
    if parts is None:
        return url
    scheme, host = parts.scheme.lower(), domain(parts.hostname or "")
    if ":" in host:
        host = f"[{host}]"
    port = f":{parts.port}" if parts.port not in {None, _PORTS[scheme]} else ""
    query = f"?{_unescaped(parts.query)}" if parts.query else ""
    fragment = f"#{parts.fragment}" if parts.fragment.startswith(("!", "/")) else ""
    return f"{scheme}://{host}{port}{_unescaped(parts.path) or '/'}{query}{fragment}"


def _split(url: str) -> SplitResult | None:
    """The parts of a web URL; None when it is none."""
    if _NOT_IN_URLS.search(url):
        return None
    try:
        parts = urlsplit(url)
        is_one = parts.scheme.lower() in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_one and "@" not in parts.netloc else None


def _unescaped(text: str) -> str:
    """`text` with escapes in capitals, and none where the character may stand for itself (RFC 3986 section 6.2.2)."""

    def plain(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        return character if character in _UNRESERVED else match[0].upper()

    return _ESCAPED.sub(plain, text)
