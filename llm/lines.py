"""Pure incremental decoders: bytes of a body into lines, NDJSON records and server-sent events.

Any split of the bytes gives the same result (edge cases 21 to 26).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from llm.errors import ProtocolError

#: Bytes one event or line may hold; larger is not an answer but an attack or a fault.
MAX_EVENT_BYTES = 4 * 1024 * 1024

_LINE_END = re.compile(r"\r\n|\n|\r")


class LineDecoder:
    """Bytes in, complete lines out, without their ends. LF, CRLF and lone CR end a line; a leading BOM is dropped."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pieces: list[str] = []
        self._held = 0
        self._started = False
        self._after_cr = False

    def feed(self, data: bytes, *, final: bool = False) -> list[str]:
        """The lines that `data` completes; with `final` also an unended last one.

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
        else:  # as nearly all servers have it: a third of the time
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


@dataclass(slots=True)
class ServerSentEvent:
    """One event: `field` is "data", or the foreign field that carried it ("error", edge case 40).

    Not frozen, as the other values that are made by the hundred for one answer: that would cost thrice as much.
    """

    event: str
    data: str
    field: str = "data"


class SSEDecoder:
    """Bytes in, server-sent events out (WHATWG HTML section 9.2.6, read leniently)."""

    def __init__(self) -> None:
        self._lines = LineDecoder()
        self._event = ""
        self._data: list[str] = []
        self._held = 0

    def feed(self, data: bytes, *, final: bool = False) -> list[ServerSentEvent]:
        """The events that `data` completes; with `final` also one that no blank line ended (edge case 32).

        Raises ProtocolError when an event outgrows MAX_EVENT_BYTES.
        """
        events: list[ServerSentEvent] = []
        for line in self._lines.feed(data, final=final):
            if line.startswith("data: "):  # as nearly all are
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
