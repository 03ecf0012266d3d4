"""The durable journal of one assistant. What a method writes is on disk when it returns.

Values never change, so the writer's thread makes the records of them, and the reactor's thread does not wait for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from mud_assistant.assistant.events.classify import Attention
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import JournalUnwritable
from mud_assistant.assistant.journal.protocol import (
    NO_CHANGE,
    Accepted,
    Cleared,
    Forgotten,
    InterruptedRun,
    Parked,
    StreamChange,
    UnknownEffect,
)
from mud_assistant.assistant.journal.records import CALL, EVENT, EXECUTED, RESPONSE
from mud_assistant.assistant.journal.store import JournalStore
from mud_assistant.assistant.journal.tables import inbox, removal, runs, stream
from mud_assistant.assistant.journal.tables import promised_goals as promised
from mud_assistant.assistant.journal.tables.acquaintances import meet
from mud_assistant.assistant.journal.tables.inbox import Taken
from mud_assistant.assistant.journal.tables.lease import Lease
from mud_assistant.assistant.journal.tables.noting import note
from mud_assistant.assistant.journal.tables.removal import Pruned, prune
from mud_assistant.assistant.journal.tables.runs import RunPlace
from mud_assistant.assistant.journal.waiting import WaitingEvents
from mud_assistant.llm.messages import ToolCall
from mud_assistant.llm.response import LLMResponse
from mud_assistant.tools.memories import Memory
from mud_assistant.tools.result import Executed

_log = Logger()


class StoredJournal:
    """The journal of `assistant` in an open store. Call `start` before any write.

    Every write raises Fenced when another process has started the same assistant since, and JournalUnwritable when the
    disk does not take it. Cancelling only drops the result: the write is done all the same. `remember` says what of an
    event is remembered; it is called on the store's thread, and what it returns is written with the event. `on_lost`
    is called there with the memories of the assistant that a forgetting takes, and writes with it.
    """

    def __init__(
        self,
        store: JournalStore,
        assistant: str,
        inbox_limit: int = 500,
        name: str = "",
        remember: Callable[[Accepted], Memory | None] = lambda _: None,
        *,
        on_lost: Callable[[Database, str, list[Memory]], object] = lambda *_: None,
    ) -> None:
        self._inbox_limit = inbox_limit
        self._remember = remember
        self._on_lost = on_lost
        self._wall = store.wall
        self.lease = Lease(store, assistant, name)
        self.waiting = WaitingEvents()
        #: How many times a run may have been left open, and the same count when no run was open. When both are equal,
        #: no run can be open, and `interrupted` need not look.
        self._opens = 0
        self._opens_when_none = 0

    @property
    def assistant(self) -> str:
        """The assistant this journal belongs to."""
        return self.lease.assistant

    async def start(self) -> int:
        """Take the lease; return the token under which this process now writes.

        Runs that an earlier process left open, and did not suspend, count as crashed.
        """

        def work(db: Database) -> int:
            token = self.lease.take(db)
            runs.blame_interrupted(db, self.assistant, token)
            return token

        self._opens += 1
        self.waiting.drop()
        return self.lease.hold(await self.lease.store.write(work))

    async def accept(self, event: Event, attention: Attention) -> None:
        """Take an event, unless it was ever accepted before. Raises InboxFullError."""
        now, accepted = self._wall(), Accepted(event, attention)

        def work(db: Database) -> Taken:
            record = EVENT.encode(event)
            taken = inbox.take(db, self.assistant, accepted, record, limit=self._inbox_limit, now=now)
            if taken is not Taken.BEFORE:
                meet(db, self.assistant, event)
                if (memory := self._remember(accepted)) is not None:
                    note(db, self.assistant, memory)
            return taken

        taken = await self.waiting.during(self.lease.write(work))
        if taken is Taken.NEW:
            self.waiting.took(accepted)
        elif taken is Taken.IN_PLACE:
            self.waiting.drop()

    async def pending(self) -> Sequence[Accepted]:
        """Return the inbox, oldest first. Events that can no longer be read are parked."""
        if (known := self.waiting.events) is not None and not self.lease.is_lost:
            return known
        drops = self.waiting.drops
        readable, unreadable = await self.lease.read(lambda db: inbox.pending(db, self.assistant))
        if unreadable:
            await self.lease.write(lambda db: inbox.park(db, self.assistant, unreadable))
        else:
            self.waiting.fill(readable, drops)
        return tuple(readable)

    async def open_run(self, events: Sequence[Accepted]) -> str:
        """Open a run; return its id, which is never used twice."""
        self._opens += 1
        ids, token, now = [accepted.event.id for accepted in events], self.lease.token, self._wall()
        run_id = await self.lease.write(lambda db: runs.open_run(db, self.assistant, token, ids, now))
        self.waiting.opened(run_id, ids)
        return run_id

    def record_response(self, run_id: str, step: int, response: LLMResponse) -> Deferred[None]:
        """Record a model's answer. Raises UnknownRun and AlreadyRecorded."""
        place = RunPlace(self.assistant, run_id, step)
        return self.lease.write(lambda db: runs.record_response(db, place, RESPONSE.encode(response)))

    def record_intent(
        self, run_id: str, step: int, index: int, call: ToolCall, *, effect: bool, goals: Sequence[Goal] = ()
    ) -> Deferred[None]:
        """Record that a call is about to run, and the goals that it promises, together. Raises UnknownRun."""
        place, now = RunPlace(self.assistant, run_id, step, index), self._wall()

        def work(db: Database) -> None:
            runs.record_intent(db, place, CALL.encode(call), now, effect=effect)
            promised.add(db, place.assistant, goals, now)

        return self.lease.write(work)

    def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> Deferred[None]:
        """Record the result of a call. Raises UnknownRun."""
        place = RunPlace(self.assistant, run_id, step, index)
        return self.lease.write(lambda db: runs.record_result(db, place, EXECUTED.encode(executed)))

    def record_read(self, run_id: str, step: int, index: int, executed: Executed) -> Deferred[None]:
        """Record a call that only read, with its result, in one write. Raises UnknownRun."""
        place, began = RunPlace(self.assistant, run_id, step, index), self._wall() - executed.seconds

        def work(db: Database) -> None:
            runs.record_read(db, place, CALL.encode(executed.call), EXECUTED.encode(executed), began)

        return self.lease.write(work)

    async def close_run(
        self, run_id: str, outcome: Outcome, change: StreamChange = NO_CHANGE, goals: Sequence[Goal] = ()
    ) -> tuple[int, ...]:
        """Record the outcome, the stream's changes and those of goals; return the numbers of the new entries.

        Settled events leave the inbox; the third crash parks an event. Also ends an interrupted run: its crash was
        counted at `start`, and a bug now counts as one more. Raises UnknownRun.
        """
        now, opens = self._wall(), self._opens

        def work(db: Database) -> tuple[tuple[int, ...], bool]:
            runs.close_run(db, self.assistant, run_id, outcome, now)
            promised.change(db, self.assistant, goals, now)
            rows = stream.rows_of(change)
            return stream.apply(db, self.assistant, rows, change.forget), runs.any_open(db, self.assistant)

        numbers, more = await self.waiting.during(self.lease.write(work))
        self.waiting.closed(run_id, outcome)
        if not more:
            self._opens_when_none = opens
        return numbers

    async def save_goals(self, goals: Sequence[Goal]) -> None:
        """Write these goals, each in the place of the one with its id, if there is one."""
        now = self._wall()
        await self.lease.write(lambda db: promised.save(db, self.assistant, goals, now))

    async def goals(self, *, with_ended: bool = False) -> Sequence[Goal]:
        """Return the open goals, the oldest first, and those that have ended too if told to.

        One that cannot be read is left out and logged.
        """
        found, unreadable = await self.lease.read(lambda db: promised.load(db, self.assistant, with_ended=with_ended))
        if unreadable:
            _log.warn("{count} promises of {name} cannot be read", count=unreadable, name=self.assistant)
        return found

    async def suspend_run(self, run_id: str) -> None:
        """Leave the run open, to be taken up again without counting a crash. Raises UnknownRun."""
        await self.lease.write(lambda db: runs.suspend_run(db, self.assistant, run_id))

    async def interrupted(self) -> InterruptedRun | None:
        """Take up the oldest open run and return it, None when there is none. Call it only while no run is in progress.

        The run was left open by an earlier process, or by this one when the disk did not take its end. Once it is
        closed, the next call returns the next one. Asks the file only when a run may be open.
        """
        opens, token = self._opens, self.lease.token
        if opens == self._opens_when_none:
            return None
        found = await self.lease.write(lambda db: runs.interrupted(db, self.assistant, token))
        if found is None:
            self._opens_when_none = opens
        return found

    async def parked(self) -> Sequence[Parked]:
        """Return the parked events: they are no longer tried."""
        return await self.lease.read(lambda db: inbox.parked(db, self.assistant))

    async def unpark(self, event_id: str) -> bool:
        """Make a parked event pending again, in its old place. Return False when it is not parked."""
        self.waiting.drop()
        return await self.waiting.during(self.lease.write(lambda db: inbox.unpark(db, self.assistant, event_id)))

    async def discard(self, event_id: str) -> bool:
        """Mark a parked event as dealt with. Return False when it is not parked."""
        return await self.lease.write(lambda db: inbox.discard(db, self.assistant, event_id))

    async def prune(self, older_than_days: float, max_bytes: int) -> Pruned:
        """Remove finished runs and events that are older, then the oldest beyond `max_bytes`; return how many."""
        return await prune(self.lease, older_than_days, max_bytes)

    async def forget_player(self, principal_id: str) -> Forgotten:
        """Remove a player's events, the runs over them, notes about the player, their stream entries and their goals.

        Return counts. Events that wait, or whose run is open, stay and are counted: deal with them and call again. The
        file is then rewritten, and nothing else is written meanwhile. Raises Fenced and JournalUnwritable.
        """
        name, lost = self.assistant, self._on_lost
        done = await self.lease.write(
            lambda db: removal.forget(db, name, principal_id, lambda gone: lost(db, name, gone))
        )
        try:
            return replace(done, erased=await self.lease.store.compact())
        except JournalUnwritable:  # no room to rewrite it: done at the next start
            return done

    async def forget_event(self, event_id: str, memory_id: str = "") -> int:
        """Remove one settled event, the finished runs over it, its entries and its memory. Return how many memories.

        The file is then rewritten without them, at the next start at the latest.
        """
        name, lost = self.assistant, self._on_lost
        dropped = await self.lease.write(
            lambda db: removal.forget_event(db, name, event_id, memory_id, lambda gone: lost(db, name, gone))
        )
        await self.lease.compact()
        return dropped

    async def clear_mind(self, *, memories: bool) -> Cleared:
        """Remove the stream with its summaries, and all memories if told to. The file is then rewritten."""
        done = await self.lease.write(lambda db: removal.clear_mind(db, self.assistant, with_memories=memories))
        return replace(done, erased=await self.lease.compact())

    async def unknown_effects(self) -> Sequence[UnknownEffect]:
        """Return the effects of finished runs of which it is unknown whether they happened."""
        return await self.lease.read(lambda db: runs.unknown_effects(db, self.assistant))
