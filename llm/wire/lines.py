"""Pure incremental decoders: turn the bytes of a body into lines, NDJSON records and server-sent events.

The result is the same however the bytes are split.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from msgspec import Struct

from mud_assistant.llm.errors import ProtocolError

#: How many bytes one event or line may hold. Anything larger is an attack or a fault, not an answer.
MAX_EVENT_BYTES = 4 * 1024 * 1024
_LINE_END = re.compile(r"\r\n|\n|\r")


class LineDecoder:
    """A decoder from bytes to complete lines without their ends.

    LF, CRLF and lone CR end a line. A leading BOM is dropped, unless the text `has_begun` elsewhere.
    """

    def __init__(self, *, has_begun: bool = False) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pieces: list[str] = []
        self._held = 0
        self._started = has_begun
        self._after_cr = False

    @property
    def is_between(self) -> bool:
        """Whether all the bytes so far belong to complete lines."""
        return not (self._pieces or self._after_cr or self._decoder.getstate()[0])

    def feed(self, data: bytes, *, final: bool = False) -> list[str]:
        """Return the lines that `data` completes; with `final`, also a last line without an end.

        Raises ProtocolError when a line outgrows MAX_EVENT_BYTES.
        """
        text = self._decoder.decode(data, final)
        if text and not self._started:
            self._started = True
            text = text.removeprefix("\ufeff")
        if self._after_cr and text:
            text = text.removeprefix("\n")
            self._after_cr = False
        if "\r" in text:
            lines = list(self._lines(text))
        else:  # nearly all servers send only LF; this takes a third of the time
            *lines, rest = text.split("\n")
            if lines and self._pieces:
                lines[0] = "".join((*self._pieces, lines[0]))
                self._pieces, self._held = [], 0
            if rest:
                self._pieces.append(rest)
                self._held += len(rest)
        if self._held > MAX_EVENT_BYTES:
            raise ProtocolError(f"a line of more than {MAX_EVENT_BYTES} bytes")
        if final and self._pieces:
            lines.append("".join(self._pieces))
            self._pieces, self._held = [], 0
        return lines

    def _lines(self, text: str) -> Iterator[str]:
        start = 0
        for end in _LINE_END.finditer(text):
            self._pieces.append(text[start : end.start()])
            yield "".join(self._pieces)
            self._pieces, self._held = [], 0
            start = end.end()
        self._after_cr = text.endswith("\r") if text else self._after_cr
        if start < len(text):
            self._pieces.append(text[start:])
            self._held += len(text) - start


class ServerSentEvent(Struct, frozen=True):
    """One event. `field` is "data", or the non-standard field that carried it ("error")."""

    event: str
    data: str
    field: str = "data"


class SSEDecoder:
    """A decoder from bytes to server-sent events (WHATWG HTML section 9.2.6, read leniently)."""

    def __init__(self, *, has_begun: bool = False) -> None:
        self._lines = LineDecoder(has_begun=has_begun)
        self._event = ""
        self._data: list[str] = []
        self._held = 0

    @property
    def is_between(self) -> bool:
        """Whether all the bytes so far belong to complete events."""
        return self._lines.is_between and not (self._event or self._data)

    def feed(self, data: bytes, *, final: bool = False) -> list[ServerSentEvent]:
        """Return the events that `data` completes; with `final`, also one that no blank line ended.

        Raises ProtocolError when an event outgrows MAX_EVENT_BYTES.
        """
        events: list[ServerSentEvent] = []
        for line in self._lines.feed(data, final=final):
            if line.startswith("data: "):  # nearly all lines are of this kind
                self._add(line[6:])
            elif line:
                self._take(line, events)
            elif self._data:
                self._dispatch(events)
            else:
                self._event = ""
        if final:
            self._dispatch(events)
        return events

    def _add(self, value: str) -> None:
        self._held += len(value)
        if self._held > MAX_EVENT_BYTES:
            raise ProtocolError(f"an event of more than {MAX_EVENT_BYTES} bytes")
        self._data.append(value)

    def _take(self, line: str, events: list[ServerSentEvent]) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._add(value)
        elif name == "event":
            self._event = value
        elif name == "error":
            events.append(ServerSentEvent(self._event, value, "error"))

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        if data := "\n".join(self._data):
            events.append(ServerSentEvent(self._event, data))
        self._data, self._event, self._held = [], "", 0
