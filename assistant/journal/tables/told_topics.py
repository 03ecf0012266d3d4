"""Stores what an assistant has said of its topics to whom, beside the record of its sleep.

What was said to one person in private is kept apart: what is said aloud never follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.tables.lease import MemoryRows
from mud_assistant.assistant.journal.tables.sleep_state import load_sleep, save_sleep

#: How many people are kept, and how many topics of each; those of longest ago go first.
MAX_PEOPLE, MAX_TOPICS = 300, 30
_KEY = "told"
_PRIVATE = " in private"


class Told(Struct, frozen=True):
    """What was said of one topic: the places of the things said, the last at the end, and when, in clock seconds.

    A riddle that is `closed` was solved or given up.
    """

    said: tuple[int, ...] = ()
    at: float = 0.0
    closed: bool = False


class StoredTold:
    """What one assistant has said of its topics, in its rows. Writes raise Fenced and JournalUnwritable."""

    __slots__ = ("_rows",)

    def __init__(self, stored: MemoryRows) -> None:
        self._rows = stored

    async def of(self, principal_id: str, *, private: bool) -> dict[str, Told]:
        """Return what a person was told, by topic. What was said in private counts only where `private`."""
        whose = self._rows.assistant
        kept = await self._rows.read(lambda db: _told(_kept(db, whose)))
        aloud = _topics(kept.get(principal_id))
        if not private:
            return aloud
        for topic, told in _topics(kept.get(principal_id + _PRIVATE)).items():
            before = aloud.get(topic, Told())
            said = tuple(one for one in before.said if one not in told.said) + told.said
            aloud[topic] = Told(said, max(before.at, told.at), before.closed or told.closed)
        return aloud

    async def add(self, principal_id: str, topic: str, told: Told, *, private: bool) -> None:
        """Keep what a person was told of a topic, in place of what was kept before."""
        whose, who = self._rows.assistant, principal_id + (_PRIVATE if private else "")
        await self._rows.write(lambda db: _add(db, whose, who, topic, told))


def forget_told(db: Database, assistant: str, principal_id: str) -> None:
    """Remove what a person was told."""
    kept = _kept(db, assistant)
    told = _told(kept)
    left = {who: topics for who, topics in told.items() if who not in {principal_id, principal_id + _PRIVATE}}
    if len(left) < len(told):
        save_sleep(db, assistant, {**kept, _KEY: left})


def _add(db: Database, assistant: str, who: str, topic: str, told: Told) -> None:
    kept = _kept(db, assistant)
    everyone = _told(kept)
    topics = {**_topics(everyone.pop(who, None)), topic: told}
    latest = sorted(topics.items(), key=lambda one: one[1].at)[-MAX_TOPICS:]
    everyone[who] = {name: [one.at, one.closed, *one.said] for name, one in latest}  # the latest person stands last
    save_sleep(db, assistant, {**kept, _KEY: dict(list(everyone.items())[-MAX_PEOPLE:])})


def _kept(db: Database, assistant: str) -> dict[str, Any]:
    kept = load_sleep(db, assistant)
    return dict(kept) if isinstance(kept, Mapping) else {}


def _told(kept: Mapping[str, Any]) -> dict[str, Any]:
    known = kept.get(_KEY)
    return dict(known) if isinstance(known, Mapping) else {}


def _topics(known: object) -> dict[str, Told]:
    """Return what was told by topic; what cannot be read counts as never told."""
    if not isinstance(known, Mapping):
        return {}
    found = {}
    for topic, record in known.items():
        match record:
            case [int() | float() as at, bool() as closed, *said] if all(isinstance(one, int) for one in said):
                found[str(topic)] = Told(tuple(said), float(at), closed)
    return found
