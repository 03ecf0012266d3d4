"""One response as it arrives: whether it is a page at all, where else it sends us, and its body within the caps."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from twisted.web.http_headers import Headers

from tools.clean import one_line
from tools.web.errors import Kind, WebError
from tools.web.media import charset_of, is_readable, media_type
from tools.web.unpacking import BrokenPacking, Gunzip, Plain, TooMuch

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Codes by which a server keeps strangers or robots out: another reader may be let in.
_KEPT_OUT = frozenset({401, 402, 403, 406, 407, 451})
_MAX_NAMED_CHARS = 60
#: What of a type a model is told: the rest of it is a stranger's text.
_FAMILIES = frozenset({"image", "audio", "video", "font"})
NOWHERE = "the page redirects without saying where to"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page. `url` is where it was found in the end; `body` is unpacked, and `charset` a codec for it."""

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes


class Redirected(Exception):
    """The response sends us elsewhere; `location` is as the server wrote it."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


class PageSink:
    """Takes a response; ends the exchange with WebError or Redirected as soon as it is clear that it is no page."""

    def __init__(self, raw_bytes: int, decoded_bytes: int, now: float) -> None:
        self._raw_bytes = raw_bytes
        self._decoded_bytes = decoded_bytes
        self._now = now
        self._status = 0
        self._type: str | None = None
        self._unpacker: Plain | Gunzip = Plain(decoded_bytes)
        self._pieces: list[bytes] = []

    def head(self, status: int, headers: Headers) -> None:
        """Decide whether the body is wanted."""
        self._status = status
        self._check_status(headers)
        self._type = _header(headers, "content-type")
        if self._type is not None and not is_readable(media_type(self._type, b"")):
            raise _unreadable(media_type(self._type, b""), _header(headers, "content-length"))
        encoding = ", ".join(_all(headers, "content-encoding")).strip().lower()
        if encoding in {"gzip", "x-gzip"}:
            self._unpacker = Gunzip(self._decoded_bytes)
        elif encoding not in {"", "identity"}:
            raise WebError(Kind.PARSE, f"the page is packed in a way that was not asked for: {_named(encoding)}")
        length = _header(headers, "content-length")
        if length is not None and length.isascii() and length.isdigit() and int(length[:20]) > self._raw_bytes:
            raise self._too_large()

    def data(self, piece: bytes) -> bool:
        """Unpack and keep a piece; there may always be more."""
        try:
            self._pieces.append(self._unpacker.feed(piece))
        except TooMuch:
            raise self._too_large() from None
        except BrokenPacking as error:
            raise WebError(Kind.PARSE, f"the page's gzip cannot be read: {error}") from None
        return False

    def page(self, url: str) -> Fetched:
        """The page, after the whole body has come. Raises WebError."""
        try:
            self._unpacker.end()
        except BrokenPacking as error:
            raise WebError(Kind.PARSE, f"the page's gzip cannot be read: {error}") from None
        body = b"".join(self._pieces)
        kind = media_type(self._type, body)
        if not is_readable(kind):
            raise _unreadable(kind, str(len(body)))
        return Fetched(url, self._status, kind, charset_of(self._type, kind, body), body)

    def _check_status(self, headers: Headers) -> None:
        status = self._status
        if status in _REDIRECTS:
            raise Redirected(_location(headers))
        said = f"the page answered {status}{_phrase(status)}"
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            raise WebError(Kind.RATE_LIMITED, said, retry_at=self._retry_at(headers), told=said)
        if status in _KEPT_OUT:
            raise WebError(Kind.BLOCKED_OR_EMPTY, said, told=said)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise WebError(Kind.SERVER, said, retry_at=self._retry_at(headers), told=said)
        if status >= HTTPStatus.BAD_REQUEST:
            raise WebError(Kind.BAD_REQUEST, said, told=said)
        if status not in {HTTPStatus.OK, HTTPStatus.NON_AUTHORITATIVE_INFORMATION}:
            raise WebError(Kind.PARSE, said, told=said)

    def _retry_at(self, headers: Headers) -> float | None:
        """When to come back, when the server says it in seconds."""
        seconds = _header(headers, "retry-after") or ""
        is_number = seconds.isascii() and seconds.isdigit() and len(seconds) <= 9  # noqa: PLR2004  (thirty years)
        return self._now + int(seconds) if is_number else None

    def _too_large(self) -> WebError:
        most = min(self._raw_bytes, self._decoded_bytes)
        return WebError(Kind.PARSE, f"the page is too large: more than {most:,} bytes")


def _location(headers: Headers) -> str:
    """Where a redirect goes. Raises WebError for none, several, or one that is no text."""
    try:
        locations = {value.decode("utf-8") for value in headers.getRawHeaders(b"location", ())}
    except UnicodeDecodeError:
        locations = set()
    if len(locations) != 1:
        raise WebError(Kind.PARSE, NOWHERE, told=NOWHERE)
    return locations.pop()


def _unreadable(kind: str, length: str | None) -> WebError:
    size = f"{int(length):,} bytes" if length and length.isascii() and length.isdigit() else "of unknown size"
    said = f"the page is {_named(kind)}, {size[:40]}, which cannot be read as text"
    family = kind.partition("/")[0]
    what = f"of type {family}" if family in _FAMILIES else "a file"
    return WebError(Kind.PARSE, said, told=f"the page is {what}, {size[:40]}, which cannot be read as text")


def _named(value: str) -> str:
    """A stranger's header value as it may be shown."""
    return one_line(value, max_chars=_MAX_NAMED_CHARS)


def _phrase(status: int) -> str:
    """The code's usual name; what the server calls it is a stranger's text."""
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _header(headers: Headers, name: str) -> str | None:
    values = _all(headers, name)
    return values[-1] if values else None


def _all(headers: Headers, name: str) -> list[str]:
    return [value.decode("latin-1") for value in headers.getRawHeaders(name.encode("ascii"), ())]
