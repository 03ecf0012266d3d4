"""Reads an answer up to the error in its stream. What came before counts, wherever the bytes were split."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from llm.errors import LLMError
from llm.stream import StreamEvent

T = TypeVar("T")


class UntilError:
    """The part that parsers of streams share. `ended` says that the stream's own end mark was seen."""

    def __init__(self) -> None:
        self.ended = False
        self._carried: LLMError | None = None

    @property
    def complete(self) -> bool:
        """Whether the end mark or an error was seen. Nothing after either counts."""
        return self.ended or self._carried is not None

    def events(self, parts: Iterable[T], read: Callable[[T, list[StreamEvent]], None]) -> list[StreamEvent]:
        """Return the events of these parts; `read` adds them to a list. Those after an end or an error are left out."""
        events: list[StreamEvent] = []
        try:
            for part in parts:
                if self.complete:
                    break
                read(part, events)
        except LLMError as error:
            self._carried = error
        return events

    def last_events(self, parts: Iterable[T], read: Callable[[T, list[StreamEvent]], None]) -> list[StreamEvent]:
        """Return the events of the last parts. Raises the error that the stream carried."""
        events = self.events(parts, read)
        if self._carried is not None:
            raise self._carried
        return events
