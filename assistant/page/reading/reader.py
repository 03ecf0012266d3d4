"""Reads the journal for the page off the reactor's thread, with a time limit, also while the assistants write it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.files import beside, connect
from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace
from mud_assistant.assistant.journal.reading import open_database
from mud_assistant.assistant.journal.schema import APPLICATION_ID, SCHEMA, version_of
from mud_assistant.assistant.page.ports import Unavailable
from mud_assistant.assistant.page.reading.money import read_usage
from mud_assistant.assistant.page.reading.principals import PlayerFacts, player_facts
from mud_assistant.assistant.page.reading.run_view import read_run
from mud_assistant.assistant.page.reading.search import search_runs
from mud_assistant.assistant.page.values.runs import RunPage, RunQuery, RunView
from mud_assistant.assistant.service.usage_store import UsageRow
from mud_assistant.resilience.background import DaemonThreads, Full
from mud_assistant.resilience.deadline import Deadline
from mud_assistant.resilience.errors import DeadlineExceeded

T = TypeVar("T")
#: The seconds that one request may take, with its wait for a thread.
SECONDS = 10.0
#: How many requests are read at the same time, and how many wait.
_THREADS, _WAITING = 2, 32
#: SQLite's steps between two looks at whether the request is over.
_STEPS = 10_000


class JournalReader:
    """Reads the journal at `place`; None when nothing is kept on disk. Its methods raise Unavailable with a sentence.

    Each request has a connection of its own, which only reads. The file is not checked for damage, as that takes too
    long: a start and the doctor do so. Nothing is cached, so what was forgotten is gone from the next answer.
    """

    def __init__(self, place: JournalPlace | None, reactor: Any) -> None:
        self.place = place
        self._reactor = reactor
        self._threads: DaemonThreads[Any] = DaemonThreads(reactor, "page-journal", _THREADS, _WAITING)

    async def search_runs(self, query: RunQuery) -> RunPage:
        """Return the runs that a search finds, newest first. Raises InvalidInput as well."""
        return await self.read(lambda db: search_runs(db, query))

    async def read_run(self, run_id: str) -> RunView | None:
        """Return one run as a tree, None when there is none."""
        return await self.read(lambda db: read_run(db, run_id, str(self.place)))

    async def read_usage(self, since: date, until: date) -> list[UsageRow]:
        """Return what each account spent on each day, both included."""
        return await self.read(lambda db: read_usage(db, since, until))

    async def player_facts(self, player: str) -> PlayerFacts:
        """Return how much is kept of a player."""
        return await self.read(lambda db: player_facts(db, player))

    async def read(self, work: Callable[[Database], T]) -> T:
        """Return what `work` returns, called in a thread with a connection that only reads, as of one moment.

        Cancelling, and the time limit, end the work soon; while the disk hangs, they end only the wait for it.
        """
        if self.place is None:
            raise Unavailable("Nothing can be shown: this journal is kept in memory only.")
        ended: list[bool] = []
        deadline = Deadline.after(self._reactor, SECONDS)
        try:
            return await deadline.bound(self._threads.run(partial(_read, self.place, work, ended)))
        except DeadlineExceeded as late:
            raise Unavailable(f"Reading the journal took longer than {SECONDS:.0f} s.") from late
        except Full as full:
            raise Unavailable("Too many requests wait for the journal: try again in a moment.") from full
        except CancelledError:
            raise
        except CannotRead as error:
            raise Unavailable(f"The journal cannot be read now: {error}.") from error
        except (sqlite3.Error, UnicodeError, OSError) as error:
            raise Unavailable(f"The journal cannot be read now: {error}.") from error
        finally:
            ended.append(True)

    def close(self) -> None:
        """End the threads. A request that waits fails."""
        self._threads.close()


def _read(place: JournalPlace, work: Callable[[Database], T], ended: list[bool]) -> T:
    """Return what `work` returns; end it with an error soon after `ended` holds something. In a thread."""
    if isinstance(place, PostgresPlace):
        with open_database(place, SECONDS, lambda: bool(ended)) as database:
            return work(database)
    return _read_file(place, work, ended)


def _read_file(path: Path, work: Callable[[Database], T], ended: list[bool]) -> T:
    with closing(_open(path)) as db:
        db.set_progress_handler(lambda: len(ended), _STEPS)
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise Unavailable("The file is not a journal.")
        if (version := version_of(db)) != SCHEMA.version:
            raise Unavailable(f"The journal is of version {version}, and this program reads version {SCHEMA.version}.")
        db.execute("BEGIN")  # everything is read as of one moment
        return work(db)


def _open(path: Path) -> sqlite3.Connection:
    """Return a connection that only reads. A file that no process has open is read without making a file beside it."""
    is_open = beside(path, "-shm").exists() or beside(path, "-wal").exists()
    db = connect(path, how="mode=ro" if is_open else "mode=ro&immutable=1")
    db.execute("PRAGMA query_only = ON")
    return db
