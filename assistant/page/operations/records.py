"""Reads the journal for the page, and adds to it what only the process and the world know: names, and today's sums."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date

from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.journal.database import Database, listed_texts
from mud_assistant.assistant.journal.place import PostgresPlace
from mud_assistant.assistant.journal.tables import promised_goals
from mud_assistant.assistant.loop.spending import TOTAL
from mud_assistant.assistant.page.operations.sources import RecentActivity, off_reactor
from mud_assistant.assistant.page.operations.status import ceiling_of
from mud_assistant.assistant.page.ports import InvalidInput, NotFound, Unavailable
from mud_assistant.assistant.page.reading.money import (
    ids_in,
    pace,
    part_of_day,
    total_of,
    usage_rows,
    with_today,
)
from mud_assistant.assistant.page.reading.reader import JournalReader
from mud_assistant.assistant.page.reading.recorded import name_of
from mud_assistant.assistant.page.reading.timings import read_timings
from mud_assistant.assistant.page.values.actions import PlayerView
from mud_assistant.assistant.page.values.assistants import LeaseHolder
from mud_assistant.assistant.page.values.common import TimingPoint
from mud_assistant.assistant.page.values.money import UsageAnswer
from mud_assistant.assistant.page.values.runs import RunPage, RunQuery, RunView
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.service.usage_store import day_of

#: The most days of one answer, and the most runs of a page.
_MAX_DAYS, _MAX_RUNS = 400, 200
Names = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]


class JournalRecords:
    """The records of a journal. `names` returns the names of players and assistants by their ids.

    `is_live` says that the service writes this journal, so that what it spent today is known better from memory.
    """

    def __init__(self, reader: JournalReader, service: AssistantService, names: Names, *, is_live: bool = True) -> None:
        self._reader = reader
        self._service = service
        self._names = names
        self._is_live = is_live

    async def recent(self, assistants: Sequence[str]) -> Mapping[str, RecentActivity]:
        """Return what each of these assistants did of late; nothing when that is not known."""
        try:
            return await self._reader.read(lambda db: _recent(db, assistants))
        except Unavailable:
            return {}

    async def holders(self) -> Mapping[str, LeaseHolder]:
        """Return which process runs each assistant; nothing where no journal is shared, or it is not known."""
        if not isinstance(self._reader.place, PostgresPlace):
            return {}
        here = self._service.config.process_name
        try:
            return await self._reader.read(lambda db: _holders(db, here))
        except Unavailable:
            return {}

    async def memories(self, assistant: str) -> int | None:
        """Return how many memories an assistant has, None when that is not known."""
        try:
            return await self._reader.read(lambda db: _memories(db, assistant))
        except Unavailable:
            return None

    async def goals(self, assistant: str) -> Sequence[Goal]:
        """Return what an assistant promised, also what is over; nothing when that is not known."""
        try:
            return (await self._reader.read(lambda db: promised_goals.load(db, assistant, with_ended=True)))[0]
        except Unavailable:
            return ()

    async def timings(self, assistant: str) -> tuple[TimingPoint, ...]:
        """Return how long people waited in the last hour; nothing where it is not known."""
        now = self._service.config.wall()
        try:
            return await self._reader.read(lambda db: read_timings(db, now, assistant))
        except Unavailable:
            return ()

    async def runs(self, query: RunQuery) -> RunPage:
        """Return the runs that a search finds, newest first. Raises InvalidInput and Unavailable."""
        if not 1 <= query.limit <= _MAX_RUNS:
            raise InvalidInput(f"limit: give a number from 1 to {_MAX_RUNS}")
        return await self._reader.search_runs(query)

    async def run(self, run: str) -> RunView | None:
        """Return one run as a tree, None when there is none. Raises Unavailable."""
        return await self._reader.read_run(run)

    async def usage(self, by: str, since: str, until: str) -> UsageAnswer:
        """Return what was spent from one day to another, and how the month goes. Raises InvalidInput, Unavailable."""
        service = self._service
        today = day_of(service.parts.ledger.day)
        first, last = _day(since, "from", today.replace(day=1)), _day(until, "to", today)
        if first > last or (last - first).days > _MAX_DAYS:
            raise InvalidInput(f"from, to: give two days in their order, with at most {_MAX_DAYS} days between them")
        rows = await self._reader.read_usage(min(first, today.replace(day=1)), max(last, today))
        accounts = service.pipeline.snapshot().accounts
        if self._is_live:
            rows = with_today(rows, today, accounts)
        names = await self._names(await off_reactor(service, lambda: sorted(ids_in(rows))))
        budget = service.config.settings.budget
        ceiling = ceiling_of(next((one for one in accounts if one.name == TOTAL), None), budget.total)
        part = part_of_day(service.config.wall(), budget.utc_offset_hours, today)

        def answer() -> UsageAnswer:
            shown = [row for row in rows if first <= row.day <= last]
            return UsageAnswer(
                by=by or "day",
                since=first.isoformat(),
                until=last.isoformat(),
                utc_offset_hours=budget.utc_offset_hours,
                rows=usage_rows(shown, by or "day", names),
                total=total_of(shown),
                pace=pace(rows, today, part, ceiling),
                ceiling=ceiling,
            )

        return await off_reactor(service, answer)

    async def player(self, player: str) -> PlayerView:
        """Return what is kept of a player, as counts. Raises NotFound for one of whom nothing is kept, Unavailable."""
        facts = await self._reader.player_facts(player)
        name = facts.name or (await self._names([player])).get(player, "")
        if not (name or facts.runs or facts.memories):
            raise NotFound("nothing is kept of this player")
        return PlayerView(id=player, name=name or player, runs=facts.runs, memories=facts.memories)


def _recent(db: Database, assistants: Sequence[str]) -> dict[str, RecentActivity]:
    """Read three values for each assistant. Each is found at one end of an index, however long the journal is."""
    rows = db.execute(
        f"""SELECT value,
                (SELECT count(*) FROM events WHERE assistant = value AND state = 'pending'),
                (SELECT max(closed_at) FROM runs WHERE assistant = value AND closed_at IS NOT NULL)
            FROM {listed_texts(db)}""",  # noqa: S608  (words of ours)
        (json.dumps(list(assistants)),),
    )
    return {id_: RecentActivity(waiting, last_at) for id_, waiting, last_at in rows}


def _holders(db: Database, here: str) -> dict[str, LeaseHolder]:
    """Read who runs each assistant. `here` is what this process is called."""
    from mud_assistant.assistant.journal.postgres.sharing.watch import current_holders  # noqa: PLC0415  (only where a journal is shared)

    return {
        assistant: LeaseHolder(
            assistant=assistant,
            name=name_of(db, assistant),
            process=process,
            since=since,
            renewed_ago=renewed_ago,
            is_here=process == here,
        )
        for assistant, process, since, renewed_ago in current_holders(db)
    }


def _memories(db: Database, assistant: str) -> int:
    found: int = db.execute("SELECT count(*) FROM memories WHERE assistant = ?", (assistant,)).fetchone()[0]
    return found


def _day(text: str, name: str, usual: date) -> date:
    try:
        return date.fromisoformat(text) if text else usual
    except ValueError:
        raise InvalidInput(f"{name}: give a day such as 2026-11-01") from None
