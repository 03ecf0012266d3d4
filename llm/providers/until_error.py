"""An answer up to the error in its stream: what came before it counts, wherever the bytes were split."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from llm.errors import LLMError
from llm.stream import StreamEvent

T = TypeVar("T")


class UntilError:
    """Gathers the events of a stream; `error` is what it carried, to be raised at its end."""

    def __init__(self) -> None:
        self.error: LLMError | None = None

    def events(self, parts: Iterable[T], read: Callable[[T, list[StreamEvent]], None]) -> list[StreamEvent]:
        """The events of these parts, which `read` adds to a list; those behind an error are left out."""
        events: list[StreamEvent] = []
        try:
            for part in parts:
                if self.error is not None:
                    break
                read(part, events)
        except LLMError as error:
            self.error = error
        return events
