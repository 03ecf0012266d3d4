"""What of a URL is asked for at all: it is taken apart by two parsers, judged, and built anew from its parts. Pure.

`parse` refuses before any look-up. What a name resolves to is judged later (`judging`), by the table of `addresses`.
The model is told the name of the rule and nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urljoin, urlsplit

import hyperlink

from tools.web.addresses import Address, judge, parse_address
from tools.web.errors import Kind, WebError
from tools.web.hosts import BadHost, ipv6, is_below, public_host
from tools.web.url_policy import UrlPolicy

#: Characters of a URL as it is given, and as it is sent (reference/web-tools.md section 3: 2,048 to 8,192).
MAX_URL_CHARS = 4096
DEFAULT_PORTS = {"http": 80, "https": 443}
#: Control, surrogate, private-use and unassigned characters, every kind of space and line end, besides the backslash.
_FORBIDDEN_CATEGORIES = frozenset({"Cc", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^\[\]:]*)(?::(?P<port>[0-9]{1,5}))?", re.ASCII)
_KEPT = "/?:@!$&'()*+,;=-._~%[]"


class UrlRefused(WebError):
    """A URL that is not asked for. `rule` is the name of what forbids it, which is all the model is told."""

    def __init__(self, rule: str) -> None:
        super().__init__(Kind.POLICY, f"this URL is not allowed: {rule}")
        self.rule = rule


@dataclass(frozen=True, slots=True)
class SafeUrl:
    """A URL that may be asked for, as far as its text goes; `str` of it is what is sent.

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

    def __str__(self) -> str:
        """The URL, without a fragment."""
        return self.origin + self.target


def parse(url: str, policy: UrlPolicy) -> SafeUrl:
    """The URL from its parts. Raises UrlRefused; an address instead of a name is judged at once."""
    safe = normalise(url)
    if safe.port not in policy.ports:
        raise UrlRefused("port")
    if is_below(safe.host, policy.block_domains):
        raise UrlRefused("blocked domain")
    if policy.allow_domains and not is_below(safe.host, policy.allow_domains):
        raise UrlRefused("domain not on the allow list")
    address = safe.address
    rule = None if address is None else judge(address, nat64=policy.nat64, allowed=policy.allow_private)
    if rule is not None:
        raise UrlRefused(rule.name)
    return safe


def join(base: SafeUrl, reference: str, policy: UrlPolicy) -> SafeUrl:
    """What a redirect from `base` leads to, judged from the beginning. Raises UrlRefused."""
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
    """The URL in the one form in which URLs are compared, whatever the policy says. Raises UrlRefused."""
    _refuse_characters(url)
    try:
        ours, theirs = urlsplit(url), hyperlink.URL.from_text(url)
        port = ours.port
    except ValueError:  # hyperlink's errors are
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
    return _built(scheme, host, port, quote(ours.path or "/", safe=_KEPT), ours.query)


def agree(ours: SplitResult, theirs: hyperlink.URL) -> bool:
    """Whether two parsers have read the same URL: with one that has two readings, the check and the use may differ."""
    query = "&".join(name if value is None else f"{name}={value}" for name, value in theirs.query)
    scheme = theirs.scheme.lower()
    return (
        (scheme, theirs.host.lower()) == (ours.scheme, ours.hostname)
        and (theirs.port or DEFAULT_PORTS.get(scheme)) == (ours.port or DEFAULT_PORTS.get(ours.scheme))
        and "/".join(theirs.path) == ours.path.removeprefix("/")
        and query == ours.query
    )


def _built(scheme: str, host: str, port: int, path: str, query: str) -> SafeUrl:
    target = f"{path}?{quote(query, safe=_KEPT)}" if query else path
    if len(target) > MAX_URL_CHARS:
        raise UrlRefused("URL too long")
    return SafeUrl(scheme, host, port, target)


def _host(netloc: str) -> str:
    """The host of an authority without user information, in its normal form."""
    match = _AUTHORITY.fullmatch(netloc)
    if match is None:
        raise UrlRefused("broken host or port")
    written = match["host"]
    try:
        return str(ipv6(written[1:-1])) if written.startswith("[") else public_host(written)
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
