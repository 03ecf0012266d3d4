"""Keeps whom one assistant has met, in its rows: by their ids, found by any name under which they were seen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.tables import acquaintances as rows
from mud_assistant.assistant.journal.tables.acquaintances import KnownFact, Meeting
from mud_assistant.assistant.journal.tables.lease import MemoryRows
from mud_assistant.assistant.journal.tables.memories import about
from mud_assistant.assistant.journal.tables.told_topics import StoredTold
from mud_assistant.assistant.memory.acquaintance.told_facts import read_facts, read_short_answer
from mud_assistant.assistant.memory.remembering import ASKED
from mud_assistant.tools.memories import Fact, Memory, MemoryKind
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.trust import Principal

#: The most characters of a name that are shown.
MAX_NAME = 60
_GREETED_AT = attrgetter("greeted_at")


class Acquaintance(Struct, frozen=True):
    """What an assistant knows of one person. `meetings` has their names, the latest first, and is never empty."""

    meetings: tuple[Meeting, ...]
    facts: tuple[KnownFact, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether nothing is known of them but that they were seen a moment ago, for the first time."""
        return not self.facts and len(self.meetings) == 1 and not self.meetings[0].before_at

    @property
    def is_unread(self) -> bool:
        """Whether an older version remembers words of theirs that were not read for facts yet."""
        return bool(min(map(_GREETED_AT, self.meetings)) == rows.UNREAD)

    @property
    def who(self) -> str:
        """The person's id."""
        return self.meetings[0].who

    @property
    def name(self) -> str:
        """The name under which they were seen last."""
        return self.meetings[0].name

    @property
    def shown_name(self) -> str:
        """The same on one line, and no longer than `MAX_NAME`."""
        return one_line(self.name, max_chars=MAX_NAME)

    @property
    def first_at(self) -> float:
        """When they were first seen, in clock seconds."""
        return min(met.first_at for met in self.meetings)

    @property
    def last_at(self) -> float:
        """When they were last seen, in clock seconds."""
        return self.meetings[0].last_at

    def left_before(self, now: float) -> float:
        """Return when the visit before the present one ended, in clock seconds; 0 when there was none.

        Who was not seen for so long that this is a visit of its own has left when they were seen last.
        """
        if now > self.last_at + rows.VISIT_SECONDS:
            return self.last_at
        latest, *others = self.meetings
        ends = [met.last_at for met in others if latest.first_at > met.last_at + rows.VISIT_SECONDS]
        return max([latest.before_at, *ends])

    @property
    def visits(self) -> int:
        """How often they came, each time after a gap."""
        return sum(met.visits for met in self.meetings)


class FoundPeople(Struct, frozen=True):
    """Who asks, None for a stranger, and by the words of a name, in lower case, all who ever had that name."""

    asker: Acquaintance | None = None
    named: tuple[tuple[str, Acquaintance], ...] = ()


class KnownPeople:
    """The people one assistant has met. Writes raise Fenced and JournalUnwritable, reads JournalUnreadable."""

    __slots__ = ("_rows", "utc_offset")

    def __init__(self, stored: MemoryRows) -> None:
        self._rows = stored
        #: The owner's time minus UTC, in seconds.
        self.utc_offset = 0.0

    @property
    def told(self) -> StoredTold:
        """What the assistant has said of its topics, in the same rows."""
        return StoredTold(self._rows)

    async def find(self, asker: str, names: Sequence[str] = (), parts: Sequence[str] = ()) -> FoundPeople:
        """Return who asks, and those who were ever seen under these names, as `tables.acquaintances.called` has it."""
        whose = self._rows.assistant
        look = partial(_find, whose, asker, names, parts)
        found = await self._rows.read(look)
        if found.named or (found.asker is not None and found.asker.is_unread):
            people = [*filter(None, [found.asker]), *(one for _, one in found.named)]
            if unread := {one.who for one in people if one.is_unread}:
                await self._rows.write(lambda db: _read_older(db, whose, unread, self.utc_offset))
                found = await self._rows.read(look)
        return found

    async def last_greeted(self, principal_id: str) -> float:
        """Return when a person was greeted last, in clock seconds; 0 for one who never was."""
        whose = self._rows.assistant

        def last(db: Database) -> float:
            greeted = [met.greeted_at for met in rows.meetings(db, whose, principal_id)]
            return max([0.0, rows.greeted_before(db, whose, principal_id), *greeted])

        return await self._rows.read(last)

    async def greeted(self, who: Principal, at: float, asked: KnownFact | None = None) -> None:
        """Keep that a person was greeted at this time, and was asked how something went."""
        whose = self._rows.assistant

        def work(db: Database) -> None:
            rows.mark_greeted(db, whose, who, at)
            if asked is not None:
                rows.mark_asked(db, whose, who.id, asked, at)

        await self._rows.write(work)

    async def asked(self, principal_id: str, fact: KnownFact, at: float) -> None:
        """Keep that a person was asked at this time how something went."""
        whose = self._rows.assistant
        await self._rows.write(lambda db: rows.mark_asked(db, whose, principal_id, fact, at))


def _find(assistant: str, asker: str, names: Sequence[str], parts: Sequence[str], db: Database) -> FoundPeople:
    if not names and not parts:
        return FoundPeople(_one(db, assistant, asker))
    named = rows.called(db, assistant, names, parts) if names or parts else []
    people = [(word, one) for word, who in dict.fromkeys(named) if (one := _one(db, assistant, who)) is not None]
    return FoundPeople(_one(db, assistant, asker), tuple(people))


def _one(db: Database, assistant: str, who: str) -> Acquaintance | None:
    met = rows.meetings(db, assistant, who)
    return Acquaintance(tuple(met), tuple(rows.facts_of(db, assistant, who))) if met else None


def _read_older(db: Database, assistant: str, people: Collection[str], utc_offset: float) -> None:
    """Read the facts out of what is remembered of these people. Doing it again changes nothing."""
    for who in people:
        for memory in about(db, assistant, who):
            if memory.who == who and memory.kind is MemoryKind.HEARD:
                rows.learn(db, assistant, replace(memory, facts=_facts_in(memory, utc_offset)))
        rows.mark_read(db, assistant, who)


def _facts_in(memory: Memory, utc_offset: float) -> tuple[Fact, ...]:
    spoken, _, asked = memory.text.partition(ASKED)
    facts = read_facts(spoken, memory.at, utc_offset, memory.name)
    return facts or (read_short_answer(memory.text, asked.removesuffix('")')) if asked else ())
