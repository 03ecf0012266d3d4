"""Receives responses until one is a page: tells pages from redirects, and keeps a body within the caps.

The redirects that lead to one page, and the cookies set by the servers on the way, live as long as the path; none of it
is kept. Each cookie goes back only to the origin that set it (scheme, host and port), whatever domain it names, so no
list of public suffixes is needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import quote

from msgspec import Struct
from twisted.web.http_headers import Headers

from mud_assistant.llm.wire.rate_limits import Moment, retry_wish
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.body import BrokenPacking, Gunzip, Plain, charset_label, is_readable, media_type
from mud_assistant.tools.web.fetch.url import SafeUrl

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Statuses by which a server keeps strangers or robots out; it may let another reader in.
_KEPT_OUT = frozenset({401, 402, 403, 406, 407, 451})
_MAX_NAMED_CHARS = 60
_OTHER_BYTES = re.compile(rb"[\x80-\xff]+")
#: The parts of a type that a model is told; the rest of it is a stranger's text.
_FAMILIES = frozenset({"image", "audio", "video", "font"})
NOWHERE = "the page redirects without saying where to"
MAX_COOKIES = 20
MAX_COOKIE_CHARS = 4096
#: Servers write 1970 to take a cookie back; no server means a date in the years just after it.
_LONG_AGO = 2000
#: The characters of a name and a value (RFC 6265 section 4.1.1): none that could begin another header.
_PAIR = re.compile(r"(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128})=(?P<value>[!-+\--:<-\[\]-~]*)", re.ASCII)


class _Cookie(Struct, frozen=True):
    """A cookie's value, and the path of its origin below which it is sent."""

    value: str
    path: str


@dataclass(slots=True)
class RedirectPath:
    """The steps taken so far. A step is a URL with the cookies sent there: with other cookies it is another request."""

    steps: set[tuple[SafeUrl, str]] = field(default_factory=set)
    _cookies: dict[str, dict[str, _Cookie]] = field(default_factory=dict)

    def cookie_for(self, url: SafeUrl) -> str:
        """Return the Cookie header for a request, empty when there is none."""
        path = url.target.partition("?")[0]
        pairs = [
            f"{name}={cookie.value}"
            for name, cookie in self._cookies.get(url.origin, {}).items()
            if _is_in_folder(path, cookie.path)
        ]
        return "; ".join(pairs)

    def learn(self, url: SafeUrl, set_cookies: list[str]) -> None:
        """Keep the cookies that the server of `url` set, and remove those it takes back."""
        own = self._cookies.setdefault(url.origin, {})
        for written in set_cookies[:MAX_COOKIES]:
            pair, *attributes = (part.strip() for part in written.split(";"))
            found = _PAIR.fullmatch(pair)
            if found is None or len(written) > MAX_COOKIE_CHARS:
                continue
            named = {
                name.strip().lower(): value.strip() for name, _, value in (one.partition("=") for one in attributes)
            }
            if _is_gone(named):
                own.pop(found["name"], None)
            elif (found["name"] in own or len(own) < MAX_COOKIES) and ("secure" not in named or url.scheme == "https"):
                own[found["name"]] = _Cookie(found["value"], _path_of(named.get("path", ""), url))


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page. `url` is its address after all redirects.

    `body` is unpacked; `is_cut` tells that it is only the beginning, up to the cap. `charset` is what the server calls
    its character set, empty when it names none. `path` has the redirects to it, for a page that sends its readers on.
    """

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes
    is_cut: bool = False
    path: RedirectPath | None = field(default=None, repr=False, compare=False)


class Redirected(Exception):
    """Raised for a redirect; `location` is as the server wrote it."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


class PageSink:
    """Takes a response. It ends the exchange with WebError or Redirected once it is clear that this is no page."""

    def __init__(self, raw_bytes: int, decoded_bytes: int, now: float, wall: float | None = None) -> None:
        self._raw_bytes = raw_bytes
        self._decoded_bytes = decoded_bytes
        self._now = now
        self._wall = wall
        self._status = 0
        self._type: str | None = None
        self._unpacker: Plain | Gunzip = Plain(min(raw_bytes, decoded_bytes))
        self._pieces: list[bytes] = []
        self._raw_left = raw_bytes
        self._is_cut = False
        #: The cookies that the server sets, as it wrote them.
        self.cookies: list[str] = []

    def head(self, status: int, headers: Headers) -> None:
        """Check status and headers. Raises WebError, or Redirected, when the body is not wanted."""
        self._status = status
        self.cookies = _all(headers, "set-cookie")
        self._check_status(headers)
        self._type = _header(headers, "content-type")
        if self._type is not None and not is_readable(media_type(self._type, b"")):
            raise _unreadable(media_type(self._type, b""), _header(headers, "content-length"))
        encoding = ", ".join(_all(headers, "content-encoding")).strip().lower()
        if encoding in {"gzip", "x-gzip"}:
            self._unpacker = Gunzip(self._decoded_bytes)
        elif encoding not in {"", "identity"}:
            raise WebError(ErrorKind.PARSE, f"the page is packed in a way that was not asked for: {_shown(encoding)}")
        length = _header(headers, "content-length") or ""
        is_more = length.isascii() and length.isdigit() and int(length[:20]) > self._raw_bytes
        if is_more and media_type(self._type, b"") == "application/pdf":
            raise self._too_large()

    def data(self, piece: bytes) -> bool:
        """Unpack and keep a piece; return whether the cap is reached, so that no more is wanted. Raises WebError."""
        kept = piece[: self._raw_left]
        self._raw_left -= len(kept)
        try:
            self._pieces.append(self._unpacker.feed(kept))
        except BrokenPacking as error:
            raise WebError(ErrorKind.PARSE, f"the page's gzip cannot be read: {error}") from None
        self._is_cut = self._unpacker.is_cut or len(kept) < len(piece)
        return self._is_cut

    def page(self, url: str) -> Fetched:
        """Return the page, after the whole body has come. Raises WebError."""
        try:
            if not self._is_cut:
                self._unpacker.end()
        except BrokenPacking as error:
            raise WebError(ErrorKind.PARSE, f"the page's gzip cannot be read: {error}") from None
        body = b"".join(self._pieces)
        kind = media_type(self._type, body)
        if self._is_cut and kind == "application/pdf":  # its table of contents is at its end
            raise self._too_large()
        if not is_readable(kind):
            raise _unreadable(kind, str(len(body)))
        return Fetched(url, self._status, kind, charset_label(self._type), body, self._is_cut)

    def _check_status(self, headers: Headers) -> None:
        status = self._status
        if status in _REDIRECTS:
            raise Redirected(_location(headers))
        said = f"the page answered {status}{_phrase(status)}"
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            raise WebError(ErrorKind.RATE_LIMITED, said, retry_at=self._retry_at(headers), told=said)
        if status in _KEPT_OUT:
            raise WebError(ErrorKind.BLOCKED_OR_EMPTY, said, told=said)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise WebError(ErrorKind.SERVER, said, retry_at=self._retry_at(headers), told=said)
        if status >= HTTPStatus.BAD_REQUEST:
            raise WebError(ErrorKind.BAD_REQUEST, said, told=said)
        if status not in {HTTPStatus.OK, HTTPStatus.NON_AUTHORITATIVE_INFORMATION}:
            raise WebError(ErrorKind.PARSE, said, told=said)

    def _retry_at(self, headers: Headers) -> float | None:
        """Return when to come back, in clock seconds; the server gives a number of seconds or a date."""
        return retry_wish(headers, Moment(self._now, self._wall))

    def _too_large(self) -> WebError:
        most = min(self._raw_bytes, self._decoded_bytes)
        said = f"the page is too large: more than {most:,} bytes"
        return WebError(ErrorKind.PARSE, said, told=said)


def _location(headers: Headers) -> str:
    """Return where a redirect goes. Raises WebError for none, or for several places.

    Bytes that are not UTF-8 (most are Latin-1) are escaped one by one, and so are blanks: browsers do the same.
    """
    locations = {location_text(value) for value in headers.getRawHeaders(b"location", ())} - {""}
    if len(locations) != 1:
        raise WebError(ErrorKind.PARSE, NOWHERE, told=NOWHERE)
    return locations.pop()


def location_text(value: bytes) -> str:
    """Return a reference to another page in a form that can be joined to an address; empty for a blank one."""
    value = value.strip(b" \t\r\n")
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = _OTHER_BYTES.sub(lambda match: quote(match[0]).encode(), value).decode("ascii")
    return text.replace(" ", "%20")


def _unreadable(kind: str, length: str | None) -> WebError:
    size = f"{int(length):,} bytes" if length and length.isascii() and length.isdigit() else "of unknown size"
    said = f"the page is {_shown(kind)}, {size[:40]}, which cannot be read as text"
    family = kind.partition("/")[0]
    what = f"of type {family}" if family in _FAMILIES else "a file"
    return WebError(ErrorKind.PARSE, said, told=f"the page is {what}, {size[:40]}, which cannot be read as text")


def _shown(value: str) -> str:
    """Return a stranger's header value in a form that may be shown."""
    return one_line(value, max_chars=_MAX_NAMED_CHARS)


def _phrase(status: int) -> str:
    """Return the status's usual name; the server's own name for it is a stranger's text."""
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _header(headers: Headers, name: str) -> str | None:
    values = _all(headers, name)
    return values[-1] if values else None


def _all(headers: Headers, name: str) -> list[str]:
    return [value.decode("latin-1") for value in headers.getRawHeaders(name.encode("ascii"), ())]


def _path_of(named: str, url: SafeUrl) -> str:
    """Return the path a cookie is for: the one it names, else the folder of the page (RFC 6265 section 5.1.4)."""
    return named if named.startswith("/") else url.target.partition("?")[0].rpartition("/")[0] or "/"


def _is_in_folder(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def _is_gone(named: dict[str, str]) -> bool:
    """Tell whether a cookie is taken back: by its age, or by a date long past, as is usual."""
    age = named.get("max-age", "")
    if age.lstrip("-").isascii() and age.lstrip("-").isdigit():
        return int(age[:12]) <= 0
    try:
        return parsedate_to_datetime(named["expires"]).year <= _LONG_AGO if "expires" in named else False
    except (ValueError, TypeError):
        return False
