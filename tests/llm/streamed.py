"""A stream as its events, one after the other."""

from __future__ import annotations

from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.response import StreamEvent
from mud_assistant.llm.wire.building import EventRecorder


class EventParser:
    """Reads the bytes of one streamed answer into events, as a client reads them into an answer."""

    def __init__(self, provider: LLMProvider) -> None:
        self._recorder = EventRecorder()
        self._parser = provider.answer_parser(self._recorder)

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Return the events these bytes complete, up to an error. An error completes the stream too."""
        self._parser.feed(data)
        return self._recorder.take()

    def end(self) -> list[StreamEvent]:
        """Return the last events. Raises the error that the stream carried; StreamBroken when it had no end mark."""
        self._parser.end()
        return self._recorder.take()

    @property
    def complete(self) -> bool:
        """Whether the end mark or an error was seen."""
        return self._parser.complete
