"""The last live events, kept so that a stream that was interrupted goes on where it was."""

from __future__ import annotations

import json

from msgspec.structs import asdict

from mud_assistant.assistant.page.live.describing import for_viewer
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.live import LiveEvent, LiveKind

#: The most events that are kept, and the most bytes of them together.
MAX_EVENTS, MAX_RING_BYTES = 1000, 8 * 1024 * 1024
#: The kinds that hold no words, and stay when a player is forgotten.
_WITHOUT_WORDS = frozenset({LiveKind.STATE, LiveKind.SPENT, LiveKind.CIRCUIT, LiveKind.THINKING})


def server_sent(event: LiveEvent) -> bytes:
    """Return the event as a stream of server-sent events has it. Its JSON holds no line end and only ASCII."""
    data = json.dumps(asdict(event), separators=(",", ":"))
    return f"id: {event.id}\nevent: {event.kind.value}\ndata: {data}\n\n".encode()


class Published:
    """An event with its number and its bytes: those with all words, and those for a viewer."""

    __slots__ = ("_viewer", "bytes", "event", "number")

    def __init__(self, number: int, event: LiveEvent) -> None:
        self.number = number
        self.event = event
        self.bytes = server_sent(event)
        self._viewer: bytes | None = None

    def bytes_for(self, role: VisitorRole) -> bytes:
        """Return what somebody with this role is sent; empty when the event is not for them."""
        if role.may(VisitorRole.OPERATOR):
            return self.bytes
        if self._viewer is None:
            public = for_viewer(self.event)
            self._viewer = b"" if public is None else server_sent(public)
        return self._viewer


class EventRing:
    """The last events by their numbers. Words of a model as they came go once their step is over, which has them all.

    `start` tells this process from others: the id of an event is START-NUMBER.
    """

    def __init__(self, start: str, *, max_events: int = MAX_EVENTS, max_bytes: int = MAX_RING_BYTES) -> None:
        self.start = start
        self.number = 0
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._events: dict[int, Published] = {}
        self._bytes = 0
        #: The number of the last event that was dropped for want of room.
        self._dropped = 0
        #: The numbers of the words of each run that is going.
        self._deltas: dict[tuple[str, str], list[int]] = {}

    def __len__(self) -> int:
        """Return how many events are kept."""
        return len(self._events)

    @property
    def last_id(self) -> str:
        """The id of the last event."""
        return f"{self.start}-{self.number}"

    def next_id(self) -> str:
        """Count one more event and return its id."""
        self.number += 1
        return self.last_id

    def add(self, event: LiveEvent) -> Published:
        """Keep the event that has the id that `next_id` gave last."""
        published = Published(self.number, event)
        self._events[self.number] = published
        self._bytes += len(published.bytes)
        run = (event.assistant, event.run)
        if event.kind is LiveKind.DELTA:
            self._deltas.setdefault(run, []).append(self.number)
        elif event.kind in {LiveKind.STEP, LiveKind.OUTCOME}:
            for number in self._deltas.pop(run, ()):
                self._drop(number)
        while len(self._events) > self._max_events or self._bytes > self._max_bytes:
            self._dropped = next(iter(self._events))
            self._drop(self._dropped)
        return published

    def after(self, last_id: str) -> list[Published] | None:
        """Return what came after the event of this id; None when that is not known any more."""
        start, _, number = last_id.rpartition("-")
        if start != self.start or not (number.isascii() and number.isdigit()):
            return None
        last = int(number)
        if not self._dropped <= last <= self.number:
            return None
        return [one for one in self._events.values() if one.number > last]

    def forget(self, assistant: str) -> None:
        """Drop all events of this assistant that may hold words."""
        for number, one in list(self._events.items()):
            if one.event.assistant == assistant and one.event.kind not in _WITHOUT_WORDS:
                self._drop(number)
        self._deltas = {run: numbers for run, numbers in self._deltas.items() if run[0] != assistant}

    def clear(self) -> None:
        """Drop everything. No earlier id can be resumed after."""
        self._events.clear()
        self._deltas.clear()
        self._bytes = 0
        self.number += 1
        self._dropped = self.number

    def _drop(self, number: int) -> None:
        published = self._events.pop(number, None)
        if published is not None:
            self._bytes -= len(published.bytes)
