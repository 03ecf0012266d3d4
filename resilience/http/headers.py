"""The headers of a response as they came, and those of requests that are sent again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, AnyStr

from twisted.web.http_headers import Headers

#: Headers that belong to a connection, or that say where the body ends. They are ours to write.
_OURS = frozenset(
    {b"connection", b"content-length", b"expect", b"keep-alive", b"proxy-connection", b"te", b"trailer"}
    | {b"transfer-encoding", b"upgrade"}
)


class ReceivedHeaders(Headers):
    """The headers of a response. Looking one up costs no more than it must; all else makes real `Headers` first."""

    __slots__ = ("_values",)

    def __init__(
        self, pairs: Iterable[tuple[bytes, bytes]] = (), values: Mapping[bytes, Sequence[bytes]] | None = None
    ) -> None:
        """Take names and values as they came, or the `values` by names in lower case."""
        #: None once they are real `Headers`.
        self._values: Mapping[bytes, Sequence[bytes]] | None = _gathered(pairs) if values is None else values

    def __getattr__(self, name: str) -> Any:
        """Become real `Headers` when their methods first look for what they keep."""
        if name != "_rawHeaders" or self._values is None:
            raise AttributeError(name)
        found, self._values = self._values, None
        super().__init__()
        for known, values in found.items():
            self.setRawHeaders(known, [value.strip() for value in values])
        return self._rawHeaders

    def by_name(self) -> Mapping[bytes, Sequence[bytes]]:
        """Return the values of each header by its name in lower case, with the blanks that came beside them."""
        if self._values is None:
            return {name.lower(): values for name, values in self.getAllRawHeaders()}
        return self._values

    def hasHeader(self, name: AnyStr) -> bool:  # noqa: N802  (Twisted's name)
        """Tell whether there is such a header."""
        return super().hasHeader(name) if self._values is None else _as_bytes(name) in self._values

    def getRawHeaders(self, name: Any, default: Any = None) -> Any:  # Any: Twisted's overloads of str and bytes
        """Return the values of a header: bytes for a name in bytes, else text, even where it is no UTF-8."""
        wanted = _as_bytes(name)
        values = super().getRawHeaders(wanted) if self._values is None else self._values.get(wanted)
        if not values:
            return default
        if isinstance(name, bytes):
            return [value.strip() for value in values]
        return [value.strip().decode("utf-8", "replace") for value in values]

    def copy(self) -> Headers:
        """Return a copy."""
        return Headers(dict(self.getAllRawHeaders()))


class SentHeaders(Headers):
    """Headers that many requests share: they are encoded once. Do not change them after their first request."""

    __slots__ = ("_encoded",)

    def __init__(self, raw_headers: Any = None) -> None:
        """Take the headers as `Headers` does."""
        super().__init__(raw_headers)
        self._encoded: tuple[bytes, bool] | None = None

    @property
    def encoded(self) -> tuple[bytes, bool]:
        """The lines of the headers, and whether a Host is among them."""
        if self._encoded is None:
            self._encoded = _encode(self)
        return self._encoded


def encode(headers: Headers) -> tuple[bytes, bool]:
    """Return the lines of the headers of a request, and whether a Host is among them.

    Headers that frame the body or control the connection are left out: only the exchange may say that. Twisted's
    `Headers` have already turned line breaks into blanks.
    """
    return headers.encoded if isinstance(headers, SentHeaders) else _encode(headers)


def _encode(headers: Headers) -> tuple[bytes, bool]:
    lines = []
    has_host = False
    for name, values in headers.getAllRawHeaders():
        lowered = name.lower()
        if lowered in _OURS:
            continue
        has_host = has_host or lowered == b"host"
        lines += [b"%b: %b\r\n" % (name, value) for value in values]
    return b"".join(lines), has_host


def _gathered(pairs: Iterable[tuple[bytes, bytes]]) -> Mapping[bytes, Sequence[bytes]]:
    values: dict[bytes, list[bytes]] = {}
    for name, value in pairs:
        values.setdefault(name.lower(), []).append(value)
    return values


def _as_bytes(name: str | bytes) -> bytes:
    return (name if isinstance(name, bytes) else name.encode("iso-8859-1")).lower()
