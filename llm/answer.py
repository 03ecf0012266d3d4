"""The response to one request, from its first byte to a finished answer."""

from __future__ import annotations

from collections.abc import Callable, Collection

from twisted.web.http_headers import Headers

from llm.accumulate import Accumulator
from llm.errors import LLMError, ProtocolError, StreamBroken
from llm.provider import LLMProvider
from llm.stream import Listener, StreamEvent

_OK = 200
#: Bytes of an error body worth reading.
_MAX_ERROR_BYTES = 64 * 1024


class AnswerSink:
    """Reads one HTTP response as this provider's stream; `result` gives the accumulated answer or raises."""

    def __init__(
        self, provider: LLMProvider, known: Collection[str], new_id: Callable[[], str], listener: Listener | None
    ) -> None:
        self._provider = provider
        self._parser = provider.stream_parser()
        self._listener = listener
        self._whole: list[bytes] | None = None
        self._whole_size = 0
        self._sniffed = False
        self.status = 0
        self.headers = Headers()
        self.accumulator = Accumulator(known, new_id)

    def head(self, status: int, headers: Headers) -> None:
        """Decide how to read the body: an error, one JSON document, or a stream (edge cases 50 to 52)."""
        self.status, self.headers = status, headers
        kind = _header(headers, "content-type").lower()
        encoding = _header(headers, "content-encoding").lower()
        if encoding not in {"", "identity"}:
            raise self._protocol_error(f"sent {encoding} though plain bytes were asked for")
        if status != _OK or "application/json" in kind or "text/html" in kind:
            self._whole = []
        self._sniffed = self._whole is not None or "event-stream" in kind or "ndjson" in kind

    def data(self, piece: bytes) -> bool:
        """Take bytes; True when the stream's end mark was seen or an error body is long enough."""
        if not self._sniffed and piece.strip():
            self._sniffed = True
            if piece.lstrip()[:1] in {b"{", b"["} and self._provider.dialect == "chat":
                self._whole = []
        if self._whole is not None:
            self._whole.append(piece)
            self._whole_size += len(piece)
            return self.status != _OK and self._whole_size > _MAX_ERROR_BYTES
        self._tell(self._parser.feed(piece))
        return self._parser.complete

    def result(self) -> Accumulator:
        """The accumulated answer. Raises the typed error for anything that is not one."""
        if self.status != _OK:
            body = b"".join(self._whole or ())
            raise self._provider.parse_error_response(self.status, self.headers, body)
        if self._whole is not None:
            self._tell(self._provider.parse_response(b"".join(self._whole)))
        else:
            self._tell(self._parser.end())
        return self.accumulator

    def broken(self, why: str) -> LLMError:
        """The error for an answer that began and did not end; its text is kept apart."""
        return StreamBroken(why, self._provider.name, self._provider.model, partial=self.accumulator.text)

    def _tell(self, events: list[StreamEvent]) -> None:
        for event in events:
            self.accumulator.feed(event)
            if self._listener is not None:
                self._listener(event)

    def _protocol_error(self, why: str) -> ProtocolError:
        return ProtocolError(why, self._provider.name, self._provider.model, self.status)


def _header(headers: Headers, name: str) -> str:
    value = headers.getRawHeaders(name, [""])[0]
    return value if isinstance(value, str) else ""
