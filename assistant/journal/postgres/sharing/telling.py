"""Leaves words for an assistant in the database, and reads what became of them. Blocks: for a program of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

import psycopg

from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.place import PostgresPlace
from mud_assistant.assistant.journal.postgres.connection import PostgresDatabase, connect
from mud_assistant.assistant.journal.postgres.reading import check_version
from mud_assistant.assistant.journal.postgres.refusals import explain
from mud_assistant.assistant.journal.postgres.sharing.leases import ENDS, LIVES
from mud_assistant.assistant.journal.postgres.sharing.listener import tell_others
from mud_assistant.assistant.journal.postgres.sharing.messages import LeftMessage, post

_KNOWN = f"""SELECT l.assistant, coalesce(m.value, ''),
    CASE WHEN {ENDS} > now() AND {LIVES.format(lock_key="p.lock_key")} THEN p.name ELSE '' END
    FROM leases l LEFT JOIN meta m ON m.key = :prefix || l.assistant LEFT JOIN processes p ON p.id = l.holder
    ORDER BY 1"""
_STATE = """SELECT EXISTS (SELECT 1 FROM messages WHERE id = :id), e.seq, e.state, e.reason
    FROM (VALUES (1)) one LEFT JOIN events e ON e.assistant = :assistant AND e.id = :id"""
_RESULTS = """SELECT r.run, r.step, r.idx, r.payload FROM run_events e JOIN results r ON r.run = e.run
    WHERE e.event = ? ORDER BY 1, 2, 3"""


class KnownLife(NamedTuple):
    """An assistant of the journal: its id, its name, and the process that runs it, empty when none does."""

    assistant: str
    name: str
    process: str


class Fate(NamedTuple):
    """What became of a message. `results` are the records of what was done because of it, by run, step and index.

    `waits` while no process has taken it in. `state` is that of the event: pending, done or parked; empty when there is
    no event, because nobody has taken it in, or the one who did ignored it. `reason` says why it was parked.
    """

    waits: bool
    state: str
    reason: str
    results: tuple[tuple[tuple[int, int, int], bytes], ...]


class Messenger:
    """A connection over which words are left. Its methods raise psycopg.Error, which `messenger` translates."""

    def __init__(self, db: PostgresDatabase) -> None:
        self._db = db

    def known(self, name_prefix: str) -> list[KnownLife]:
        """Return all assistants of the journal. `name_prefix` and an id are the key of a name in `meta`."""
        return [KnownLife(*row) for row in self._db.execute(_KNOWN, {"prefix": name_prefix})]

    def leave(self, message: LeftMessage, notice: str) -> None:
        """Leave a message, and tell the processes of it by this notice. Raises InboxFullError."""
        self._db.run("BEGIN")
        try:
            post(self._db, message)
            tell_others(self._db, notice)
        except BaseException:
            if not self._db.is_broken:
                self._db.run("ROLLBACK")
            raise
        self._db.run("COMMIT")

    def fate(self, message: LeftMessage) -> Fate:
        """Return what has become of a message by now."""
        values = {"id": message.id, "assistant": message.assistant}
        waits, event, state, reason = self._db.execute(_STATE, values).fetchone()
        if event is None:
            return Fate(waits, "", "", ())
        results = tuple((tuple(at), record) for *at, record in self._db.execute(_RESULTS, (event,)))
        return Fate(waits, state, reason, results)

    def take_back(self, message: LeftMessage) -> bool:
        """Delete a message that no process has taken in. Return False when one has."""
        gone = self._db.execute(
            """DELETE FROM messages WHERE id = :id
               AND NOT EXISTS (SELECT 1 FROM events WHERE assistant = :assistant AND id = :id)""",
            {"id": message.id, "assistant": message.assistant},
        )
        return gone.rowcount > 0


@contextmanager
def messenger(place: PostgresPlace) -> Iterator[Messenger]:
    """Connect to the journal at `place`, until the `with` ends. Raises CannotRead, also for what fails meanwhile."""
    try:
        db = connect(place.url, place.password())
        with closing(db):
            check_version(db, place)
            yield Messenger(db)
    except (psycopg.Error, KeyReferenceError) as error:
        raise CannotRead(f"{place} cannot be used: {explain(error)}") from error
