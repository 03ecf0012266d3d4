"""The event drawn in docs/machines.md goes through the journal on disk: one scene for each arrow."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.outcome import Answered, Failed, Outcome
from mud_assistant.assistant.journal import StoredJournal
from tests.assistant.journal.keeping import TRIGGER, event, opened, rows
from tests.machines.drawing import Edge, assert_same, states

BUG = Failed("internal error", bug=True)
OVERHEARD = Attention(Classification.CONTEXT, 0)


class DrivenEvent:
    """One event in a journal of room for one, and what happens to it."""

    def __init__(self, path: Path, journal: StoredJournal) -> None:
        self.path = path
        self.journal = journal
        self.run = ""

    def state(self) -> str:
        """Return the state of the first event, as the rows have it."""
        open_run = "SELECT 1 FROM run_events JOIN runs ON runs.seq = run WHERE event = events.seq AND closed_at IS NULL"
        found: Any = rows(self.path, f"SELECT state, EXISTS ({open_run}) FROM events ORDER BY seq LIMIT 1")  # noqa: S608
        return "in_run" if found[0][1] and found[0][0] == "pending" else str(found[0][0])

    async def accept(self, attention: Attention = TRIGGER) -> None:
        await self.journal.accept(event(1), attention)

    async def open(self) -> str:
        return await self.journal.open_run(await self.journal.pending())

    async def end(self, outcome: Outcome) -> None:
        await self.journal.close_run(await self.open(), outcome)

    async def park(self) -> None:
        await self.accept()
        for _ in range(3):
            await self.end(BUG)

    async def garble(self) -> None:
        await self.journal.lease.store.write(lambda db: db.execute("UPDATE events SET payload = x'00'"))
        await self.journal.pending()


async def _accepted(driven: DrivenEvent) -> None:
    await driven.accept()


async def _in_run(driven: DrivenEvent) -> None:
    await driven.accept()
    driven.run = await driven.open()


async def _almost_parked(driven: DrivenEvent) -> None:
    await driven.accept()
    await driven.end(BUG)
    await driven.end(BUG)
    driven.run = await driven.open()


def _close(outcome: Outcome) -> Callable[[Any], Awaitable[object]]:
    return lambda driven: driven.journal.close_run(driven.run, outcome)


async def _nothing(driven: DrivenEvent) -> None:
    """Do nothing: the event is not there yet."""


#: What comes first, and what happens then, by the state before and the words on the arrow.
EVENTS: dict[tuple[str, str], tuple[Callable[[Any], Awaitable[object]], Callable[[Any], Awaitable[object]]]] = {
    ("[*]", "accepted"): (_nothing, _accepted),
    ("pending", "a run opens"): (_accepted, lambda driven: driven.open()),
    ("pending", "only overheard when the inbox is full"): (
        lambda driven: driven.accept(OVERHEARD),
        lambda driven: driven.journal.accept(event(2), TRIGGER),
    ),
    ("pending", "it cannot be read"): (_accepted, lambda driven: driven.garble()),
    ("in_run", "the run ends"): (_in_run, _close(Answered(("say",)))),
    ("in_run", "the model could not be asked"): (_in_run, _close(Failed("down"))),
    ("in_run", "a crash"): (_in_run, _close(BUG)),
    ("in_run", "the third crash"): (_almost_parked, _close(BUG)),
    ("parked", "tried again"): (lambda driven: driven.park(), lambda driven: driven.journal.unpark("event-1")),
    ("parked", "cleared"): (lambda driven: driven.park(), lambda driven: driven.journal.discard("event-1")),
}


async def test_the_life_of_an_event(tmp_path: Path, reactor: Any) -> None:
    found: set[Edge] = set()
    for number, ((start, why), (before, happens)) in enumerate(EVENTS.items()):
        path = tmp_path / str(number)
        async with opened(path, reactor) as store:
            journal = StoredJournal(store, "sage", inbox_limit=1)
            await journal.start()
            driven = DrivenEvent(path, journal)
            await before(driven)
            assert start == "[*]" or driven.state() == start, why
            await happens(driven)
            found.add((start, driven.state(), why))
    assert_same("The life of an event", found)
    allowed: Any = rows(tmp_path / "0", "SELECT sql FROM sqlite_schema WHERE name = 'events'")
    assert set(re.findall(r"'(\w+)'", re.search(r"state IN \((.*?)\)", allowed[0][0])[1])) | {"in_run"} == states(found)  # type: ignore[index]
