"""Keeps the inbox of one assistant in memory beside its table, so that a run asks the file for nothing.

The table decides. The copy is made when the table is read, and changed as each write is acknowledged; that is in the
order in which the writer did them. It is dropped, and the table read again, after every write that failed, was
cancelled, or changed the inbox in a way that is not followed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from twisted.internet.defer import Deferred

from mud_assistant.assistant.events.outcome import Failed, Outcome, settles
from mud_assistant.assistant.journal.protocol import Accepted

T = TypeVar("T")


class WaitingEvents:
    """The pending events of one assistant, while they are known without asking the table."""

    def __init__(self) -> None:
        #: By id, oldest first. None while only the table knows them.
        self._events: dict[str, Accepted] | None = None
        #: The ids of the events of each open run.
        self._of_run: dict[str, Sequence[str]] = {}
        #: How many writes are on their way that may change the inbox.
        self._writes = 0
        self._drops = 0

    @property
    def events(self) -> Sequence[Accepted] | None:
        """The pending events, oldest first; None when the table must be read, which sees writes still on their way."""
        return None if self._events is None or self._writes else tuple(self._events.values())

    @property
    def drops(self) -> int:
        """How often the copy was dropped: what was read of the table before the last time may be old."""
        return self._drops

    def drop(self) -> None:
        """Forget the copy."""
        self._events = None
        self._drops += 1

    def fill(self, events: Sequence[Accepted], drops: int) -> None:
        """Take what was read of the table, unless the copy was dropped since `drops` was noted, before the reading."""
        if drops == self._drops:
            self._events = {accepted.event.id: accepted for accepted in events}

    async def during(self, write: Deferred[T]) -> T:
        """Return the result of a write that may change the inbox. Drop the copy when it fails or is cancelled."""
        self._writes += 1
        try:
            return await write
        except BaseException:
            self.drop()
            raise
        finally:
            self._writes -= 1

    def took(self, accepted: Accepted) -> None:
        """Add an event that was accepted."""
        if self._events is not None:
            self._events[accepted.event.id] = accepted

    def opened(self, run_id: str, event_ids: Sequence[str]) -> None:
        """Note the events of a run."""
        self._of_run[run_id] = event_ids

    def closed(self, run_id: str, outcome: Outcome) -> None:
        """Remove what the end of a run settled. A crash may have parked its events."""
        ids = self._of_run.pop(run_id, None)
        if ids is None or (isinstance(outcome, Failed) and outcome.bug):
            self.drop()
        elif settles(outcome) and self._events is not None:
            for event_id in ids:
                self._events.pop(event_id, None)
