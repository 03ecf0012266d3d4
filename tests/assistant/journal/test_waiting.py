"""The inbox in memory gives the answers of its table, whatever happens to the events and in whatever order."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, NothingToDo, Outcome
from mud_assistant.assistant.journal import Accepted, InboxFullError, StoredJournal
from mud_assistant.assistant.journal.store import JournalStore
from mud_assistant.assistant.journal.tables import inbox
from tests.assistant.journal.keeping import ANNA, TRIGGER, Place, event, opened, started

OVERHEARD = Attention(Classification.CONTEXT, 1)
LIMIT = 5
OUTCOMES: Sequence[Outcome] = (
    Answered(("say",)),
    NothingToDo(),
    Failed("down"),
    Failed("a bug", bug=True),
    Cancelled(),
)


async def in_table(journal: StoredJournal) -> tuple[Accepted, ...]:
    """What the table says of the inbox."""
    readable, unreadable = await journal.lease.read(lambda db: inbox.pending(db, journal.assistant))
    assert not unreadable
    return tuple(readable)


async def count_reads(journal: StoredJournal, store: JournalStore) -> int:
    """How many reads of the file asking for the inbox takes."""
    reads, read = 0, store.read

    def counted(work: Any) -> Deferred[Any]:
        nonlocal reads
        reads += 1
        return read(work)

    store.read = counted  # type: ignore[method-assign]
    try:
        await journal.pending()
    finally:
        store.read = read  # type: ignore[method-assign]
    return reads


class Days:
    """Whatever may happen to an inbox, chosen at random."""

    def __init__(self, journal: StoredJournal, random: Random) -> None:
        self.journal = journal
        self._random = random
        self._number = 0

    async def go_on(self) -> None:
        """Let one thing happen."""
        await self._random.choice((self._hear, self._hear, self._hear, self._cancelled, self._run, self._run,
                                   self._take_up, self._unpark, self._discard, self._forget))()  # fmt: skip

    def _next(self) -> int:
        """The number of a new event, or of one that was taken before."""
        self._number += self._random.random() < 0.8
        return self._number

    async def _hear(self) -> None:
        try:
            await self.journal.accept(event(self._next()), self._random.choice((TRIGGER, OVERHEARD)))
        except InboxFullError:
            assert len(await in_table(self.journal)) == LIMIT

    async def _cancelled(self) -> None:
        accepting = Deferred.fromCoroutine(self.journal.accept(event(self._next()), TRIGGER))
        accepting.addErrback(lambda failure: failure.trap(CancelledError, InboxFullError))
        reading = Deferred.fromCoroutine(self.journal.pending())
        accepting.cancel()
        await reading

    async def _run(self) -> None:
        waiting = await self.journal.pending()
        run = await self.journal.open_run(self._random.sample(waiting, self._random.randint(0, len(waiting))))
        if self._random.random() < 0.2:
            await self._hear()
        if self._random.random() < 0.9:
            await self.journal.close_run(run, self._random.choice(OUTCOMES))

    async def _take_up(self) -> None:
        if (left := await self.journal.interrupted()) is not None:
            await self.journal.close_run(left.id, self._random.choice(OUTCOMES))

    async def _unpark(self) -> None:
        for parked in (await self.journal.parked())[:1]:
            assert await self.journal.unpark(parked.event_id)

    async def _discard(self) -> None:
        for parked in (await self.journal.parked())[:1]:
            assert await self.journal.discard(parked.event_id)

    async def _forget(self) -> None:
        await self.journal.forget_event(f"event-{self._number}")


@pytest.mark.parametrize("seed", range(12))
async def test_it_answers_as_the_table_does_also_after_the_file_was_opened_again(
    place: Place, reactor: Any, seed: int
) -> None:
    random = Random(seed)  # noqa: S311  (no secret)
    for _ in range(3):
        async with opened(place, reactor) as store:
            journal = StoredJournal(store, "sage", LIMIT)
            await journal.start()
            days = Days(journal, random)
            for _ in range(25):
                await days.go_on()
                assert await journal.pending() == await in_table(journal)


async def test_a_turn_reads_nothing_from_the_file(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        store = journal.lease.store
        assert await count_reads(journal, store) == 1
        for number in range(3):
            await journal.accept(event(number), TRIGGER)
            assert await count_reads(journal, store) == 0
            await journal.close_run(await journal.open_run(await journal.pending()), NothingToDo())
        assert await count_reads(journal, store) == 0


async def test_an_event_on_its_way_is_seen(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        assert await journal.pending() == ()
        accepting = Deferred.fromCoroutine(journal.accept(event(1), TRIGGER))
        assert [one.event for one in await journal.pending()] == [event(1)]
        await accepting


async def test_a_cancelled_accept_that_a_reading_did_not_see_is_not_lost(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        reading = Deferred.fromCoroutine(journal.pending())
        accepting = Deferred.fromCoroutine(journal.accept(event(1), TRIGGER))
        accepting.addErrback(lambda failure: failure.trap(CancelledError))
        accepting.cancel()
        assert await reading == ()
        assert [one.event for one in await journal.pending()] == [event(1)]


async def test_after_another_start_the_table_is_asked(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as old:
        await old.accept(event(1), TRIGGER)
        assert len(await old.pending()) == 1
        async with opened(place, reactor) as store:
            new = StoredJournal(store, "sage")
            await new.start()
            await new.close_run(await new.open_run(await new.pending()), NothingToDo())
            with pytest.raises(Exception, match="taken over"):
                await old.accept(event(2), TRIGGER)
            assert await old.pending() == ()


async def test_a_player_who_is_forgotten_leaves_what_waits(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        for number in (1, 2):
            await journal.accept(event(number), TRIGGER)
        first, _ = await journal.pending()
        await journal.close_run(await journal.open_run([first]), NothingToDo())
        await journal.forget_player(ANNA.id)
        assert await journal.pending() == await in_table(journal)
