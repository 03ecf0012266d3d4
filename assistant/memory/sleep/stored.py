"""Keeps sleep in the journal: the memories of one assistant as sleep reads and writes them, and how far it came."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any

from msgspec import to_builtins

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.tables import memories as rows
from mud_assistant.assistant.journal.tables.lease import MemoryRows
from mud_assistant.assistant.journal.tables.sleep_state import load_sleep, save_sleep
from mud_assistant.assistant.memory.sleep.plan import list_parts_left
from mud_assistant.assistant.memory.sleep.state import SleepAnswer, SleepRecord
from mud_assistant.tools.memories import Memory
from mud_assistant.tools.trust import Audience

_Parts = tuple[str, ...]


class StoredSleep:
    """The memories and the record of sleep of one assistant, in its rows. Writes raise Fenced and JournalUnwritable."""

    __slots__ = ("_rows",)

    def __init__(self, stored: MemoryRows) -> None:
        self._rows = stored

    async def lines_since(self, since: float, until: float, limit: int) -> Sequence[Memory]:
        """Return what was heard and seen after `since` and up to `until`: the newest `limit`."""
        whose = self._rows.assistant
        return await self._rows.read(lambda db: rows.heard_between(db, whose, since, until, limit))

    async def lines_of(self, principal_id: str, audience: Audience, limit: int) -> Sequence[Memory]:
        """Return the newest lines of a person that exactly this audience heard."""
        whose = self._rows.assistant
        return await self._rows.read(lambda db: rows.told_by(db, whose, principal_id, audience, limit))

    async def find(self, ids: Collection[str]) -> Sequence[Memory]:
        """Return those of the memories that are still there."""
        whose = self._rows.assistant
        return [memory for _, memory in await self._rows.read(lambda db: rows.find(db, whose, ids))]

    async def derive(self, memory: Memory, needs: Collection[str]) -> bool:
        """Write down what was derived; False when a memory of `needs` is gone."""
        whose = self._rows.assistant
        return await self._rows.write(lambda db: rows.derive(db, whose, memory, needs))

    async def settle(self, older_id: str, newer_id: str) -> bool:
        """Mark the older memory as superseded by the newer one, when both are there and one person's."""
        whose = self._rows.assistant
        return await self._rows.write(lambda db: rows.settle(db, whose, older_id, newer_id))

    async def load(self) -> SleepRecord:
        """Return the record that was saved last, an empty one when there is none."""
        whose = self._rows.assistant
        return _record_of(await self._rows.read(lambda db: load_sleep(db, whose)))

    async def save(self, record: SleepRecord) -> None:
        """Keep the record in the place of the one before."""
        await self._rows.write(
            partial(_change, self._rows.assistant, lambda kept: {**kept, "record": to_builtins(record)})
        )

    async def queued(self) -> Sequence[_Parts]:
        """Return the lists of ids from which something is to be derived anew, the oldest first."""
        whose = self._rows.assistant
        return _queue_of(_plain(await self._rows.read(lambda db: load_sleep(db, whose))))

    async def enqueue(self, parts: Iterable[_Parts]) -> None:
        """Add lists of ids from which something is to be derived anew."""
        if added := list(parts):
            await self._rows.write(partial(_change, self._rows.assistant, partial(_queue_more, added)))

    async def dequeue(self, parts: Iterable[_Parts]) -> None:
        """Remove lists of ids from the queue."""
        if gone := frozenset(parts):
            await self._rows.write(partial(_change, self._rows.assistant, partial(_queue_less, gone)))


def note_lost(db: Database, assistant: str, gone: list[Memory]) -> list[Memory]:
    """Note what others lost with memories that were removed: it is derived anew in the next night. Return `gone`.

    A model's answer to any of them that was kept and not used yet is removed as well.
    """
    if not gone:
        return gone
    ids = {memory.id for memory in gone}
    parts = list_parts_left(gone, ids)
    _change(assistant, lambda kept: _queue_more(parts, _without_answer_to(ids, kept)), db)
    return gone


def _change(assistant: str, change: Callable[[dict[str, Any]], dict[str, Any]], db: Database) -> None:
    save_sleep(db, assistant, change(_plain(load_sleep(db, assistant))))


def _plain(kept: object) -> dict[str, Any]:
    return dict(kept) if isinstance(kept, dict) else {}


def _queue_of(kept: dict[str, Any]) -> tuple[_Parts, ...]:
    return tuple(tuple(parts) for parts in kept.get("queue", ()))


def _queue_more(added: Iterable[_Parts], kept: dict[str, Any]) -> dict[str, Any]:
    return {**kept, "queue": list(dict.fromkeys((*_queue_of(kept), *added)))}


def _queue_less(gone: Collection[_Parts], kept: dict[str, Any]) -> dict[str, Any]:
    return {**kept, "queue": [parts for parts in _queue_of(kept) if parts not in gone]}


def _without_answer_to(gone: Collection[str], kept: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept, without an answer to lines that are gone."""
    record = kept.get("record")
    answer = record.get("answer") if isinstance(record, dict) else None
    if not isinstance(record, dict) or not isinstance(answer, dict):
        return kept
    shown = {*answer.get("shown", ()), *chain.from_iterable(answer.get("pairs", ())), answer.get("old", "")}
    return kept if shown.isdisjoint(gone) else {**kept, "record": {**record, "answer": None}}


def _record_of(kept: object) -> SleepRecord:
    """Return the record in what was kept; one that cannot be read counts as none."""
    plain = _plain(kept).get("record")
    if not isinstance(plain, dict):
        return SleepRecord()
    try:
        answer = plain.pop("answer", None)
        done = tuple(plain.pop("done", ()))
        return SleepRecord(**plain, done=done, answer=_answer_of(answer) if answer else None)
    except (TypeError, ValueError, KeyError):
        return SleepRecord()


def _answer_of(plain: dict[str, Any]) -> SleepAnswer:
    shown, pairs = tuple(plain.pop("shown")), plain.pop("pairs")
    return SleepAnswer(**plain, shown=shown, pairs=tuple((older, newer) for older, newer in pairs))
