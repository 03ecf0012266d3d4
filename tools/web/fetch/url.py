"""The one normal form of a URL, the one limit on its length, and the rules for which URLs are asked for. Pure.

`normalise` takes a URL apart with two parsers and builds it anew from its parts. Its `normal` form is compared, cached,
cited and remembered as seen; the URL that is sent keeps the escapes it was given with. `parse` judges a URL by the
owner's policy before any look-up. The addresses of its name are judged later (`judge.py`), by the table of `addresses`.
The model is told the name of the rule and nothing else. Hosts and domains have their normal form in `hosts`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv6Network, ip_network
from urllib.parse import SplitResult, quote, urljoin, urlsplit, urlunsplit

import hyperlink
from msgspec import Struct

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.addresses import NAT64_LENGTHS, Address, Network, judge, parse_address
from mud_assistant.tools.web.fetch.hosts import BadHost, ipv6, is_within, normal_name, own_domains, refuse_local

#: The most characters of a URL as given, and of its path and query as sent: what browsers and servers agree on.
MAX_URL_CHARS = 2048
DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_PORT = 65535
#: Refused besides the backslash: control, surrogate, private-use and unassigned characters, and every kind of space and
#: line end.
_FORBIDDEN_CATEGORIES = frozenset({"Cc", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^\[\]:]*)(?::(?P<port>[0-9]{1,5}))?", re.ASCII)
_KEPT = "/?:@!$&'()*+,;=-._~%[]"
#: urlsplit drops tabs and line ends silently.
_CONTROLS = re.compile("[\x00-\x1f\x7f]")
_STRAY_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")
#: Escaped or not, these are the same (RFC 3986 section 6.2.2). The dot is left out: `%2e%2e` is not turned into steps.
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~")
#: A fragment that begins so is a route for the page's scripts, so another one means another page.
_ROUTES = ("!", "/")

#: Where a host that the owner names may be: at home or on this machine, never link-local (where clouds keep their
#: metadata) nor in another special network.
HOME_NETWORKS: frozenset[Network] = frozenset(
    map(
        ip_network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "fc00::/7", "::1/128"),
    )
)


class UrlRefused(WebError):
    """Raised for a URL that may not be asked for. `rule` names what forbids it, which is all the model is told."""

    def __init__(self, rule: str) -> None:
        said = f"this URL is not allowed: {rule}"
        super().__init__(ErrorKind.POLICY, said, told=said)
        self.rule = rule


class SafeUrl(Struct, frozen=True):
    """A URL whose text may be asked for; `str` of it is what is sent.

    `host` is an ASCII name, an IPv4 address, or an IPv6 address without brackets; `target` is path and query.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def address(self) -> Address | None:
        """The address that the host is, None when it is a name."""
        return parse_address(self.host)

    @property
    def netloc(self) -> str:
        """The host, and the port unless it is the scheme's own: what the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port: the part that may be logged."""
        return f"{self.scheme}://{self.netloc}"

    @property
    def normal(self) -> str:
        """The one form for all ways to write this URL: escapes in capitals, and only where they are needed."""
        return self.origin + _ESCAPED.sub(_plain, _STRAY_PERCENT.sub("%25", self.target))

    def __str__(self) -> str:
        """Return the URL as it is sent, without a fragment."""
        return self.origin + self.target


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
            object.__setattr__(self, names, own_domains(getattr(self, names)))


def parse(url: str, policy: UrlPolicy) -> SafeUrl:
    """Return the URL, built from its parts. Raises UrlRefused; an address instead of a name is judged at once."""
    safe = normalise(url)
    if safe.port not in policy.ports:
        raise UrlRefused("port")
    if is_within(safe.host, policy.block_domains):
        raise UrlRefused("blocked domain")
    if policy.allow_domains and not is_within(safe.host, policy.allow_domains):
        raise UrlRefused("domain not on the allow list")
    address = safe.address
    if address is None and not is_within(safe.host, policy.private_names):
        try:
            refuse_local(safe.host)
        except BadHost as refused:
            raise UrlRefused(str(refused)) from None
    rule = None if address is None else judge(address, nat64=policy.nat64, allowed=policy.allow_private)
    if rule is not None:
        raise UrlRefused(rule.name)
    return safe


def try_normalise(url: str) -> SafeUrl | None:
    """Return the normal form, None for a URL that has none, so that it could be asked for under no policy."""
    try:
        return normalise(url)
    except UrlRefused:
        return None


def normal_url(url: str) -> str:
    """Return the normal form as text, to tell pages apart. Of fragments only a route (`#!`, `#/`) is kept.

    Text without a normal form is returned unchanged.
    """
    safe = try_normalise(url)
    if safe is None:
        return url
    fragment = url.partition("#")[2]
    return f"{safe.normal}#{fragment}" if fragment.startswith(_ROUTES) else safe.normal


def host_of(url: str) -> str:
    """Return the URL's host in its normal form; empty when it has none."""
    safe = try_normalise(url)
    return safe.host if safe else ""


def web_url(value: object) -> str:
    """Return a provider's URL, quoted as URLs are; empty when it is no http(s) URL.

    Existing escapes stay. Some libraries decode URLs (ddgs does), so blanks and letters are quoted again.
    """
    if not isinstance(value, str) or len(value) > MAX_URL_CHARS or _CONTROLS.search(value.strip()):
        return ""
    try:
        parts = urlsplit(value.strip())
    except ValueError:
        return ""
    path, query, fragment = (quote(_STRAY_PERCENT.sub("%25", part), safe=_KEPT, errors="replace") for part in parts[2:])
    built = urlunsplit((parts.scheme, parts.netloc, path, query, fragment))
    return built if try_normalise(built) else ""


def join(base: SafeUrl, reference: str, policy: UrlPolicy) -> SafeUrl:
    """Return where a redirect from `base` leads, judged from the beginning. Raises UrlRefused."""
    _refuse_characters(reference)
    try:
        joined = urljoin(str(base), reference)
    except ValueError:
        raise UrlRefused("broken URL") from None
    safe = parse(joined, policy)
    if base.scheme == "https" and safe.scheme != "https":
        raise UrlRefused("redirect from https to http")
    return safe


def normalise(url: str) -> SafeUrl:
    """Return the URL in the one form in which URLs are compared, whatever the policy says. Raises UrlRefused."""
    _refuse_characters(url)
    try:
        ours, theirs = urlsplit(url), hyperlink.URL.from_text(url)
        port = ours.port
    except ValueError:  # hyperlink's errors are ValueErrors
        raise UrlRefused("broken URL") from None
    scheme = ours.scheme
    if scheme not in DEFAULT_PORTS:
        raise UrlRefused("scheme")
    if not ours.netloc:
        raise UrlRefused("no host")
    if "@" in ours.netloc or theirs.userinfo:
        raise UrlRefused("user name in the URL")
    port = DEFAULT_PORTS[scheme] if port is None else port
    if port == 0:
        raise UrlRefused("port")
    host = _host(ours.netloc)
    if not agree(ours, theirs):
        raise UrlRefused("two readings of the URL")
    target = "?".join(quote(part, safe=_KEPT) for part in (ours.path or "/", ours.query) if part)
    if len(target) > MAX_URL_CHARS:
        raise UrlRefused("URL too long")
    return SafeUrl(scheme, host, port, target)


def agree(ours: SplitResult, theirs: hyperlink.URL) -> bool:
    """Tell whether two parsers read the same URL.

    With a URL that has two readings, the one that is checked may not be the one that is used.
    """
    query = "&".join(name if value is None else f"{name}={value}" for name, value in theirs.query)
    scheme = theirs.scheme.lower()
    return (
        (scheme, theirs.host.lower()) == (ours.scheme, ours.hostname)
        and (theirs.port or DEFAULT_PORTS.get(scheme)) == (ours.port or DEFAULT_PORTS.get(ours.scheme))
        and "/".join(theirs.path) == ours.path.removeprefix("/")
        and query == ours.query
    )


def _plain(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def _host(netloc: str) -> str:
    """Return the host of an authority without user information, in its normal form. Raises UrlRefused."""
    match = _AUTHORITY.fullmatch(netloc)
    if match is None:
        raise UrlRefused("broken host or port")
    written = match["host"]
    try:
        return str(ipv6(written[1:-1])) if written.startswith("[") else normal_name(written)
    except BadHost as refused:
        raise UrlRefused(str(refused)) from None


def _refuse_characters(url: str) -> None:
    """Raise UrlRefused for a text too long, or with a character that parsers treat differently."""
    if len(url) > MAX_URL_CHARS:
        raise UrlRefused("URL too long")
    if "\\" in url:
        raise UrlRefused("backslash")
    if any(unicodedata.category(character) in _FORBIDDEN_CATEGORIES for character in url):
        raise UrlRefused("space or control character")
