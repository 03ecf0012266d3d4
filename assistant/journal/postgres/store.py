"""The journal in a PostgreSQL database, which several processes on several machines share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial

import psycopg
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads

from mud_assistant.assistant.journal.database import OWED, Database, PipelinedDatabase
from mud_assistant.assistant.journal.errors import JournalUnwritable
from mud_assistant.assistant.journal.place import PostgresPlace, no_password
from mud_assistant.assistant.journal.postgres.clock import ThreadClock
from mud_assistant.assistant.journal.postgres.connection import NAME, PatientConnection, PostgresDatabase, connect
from mud_assistant.assistant.journal.postgres.refusals import explain
from mud_assistant.assistant.journal.postgres.rewriting import rewrite
from mud_assistant.assistant.journal.postgres.sharing.leases import HeldLeases
from mud_assistant.assistant.journal.postgres.sharing.listener import tell_others
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.writer import PostgresWriter
from mud_assistant.assistant.journal.store import JournalStore
from mud_assistant.resilience.background import in_daemon_thread
from mud_assistant.resilience.errors import DeadlineExceeded

#: The longest wait for the room of deleted data, in seconds.
VACUUM_SECONDS = 300.0
#: The tables that hold what players said.
_PERSONAL = (
    "events", "runs", "run_events", "responses", "intents", "results", "stream", "memories", "memory_state", "messages",
    "acquaintances", "acquaintance_facts", "goals",
)  # fmt: skip


def _nobody(_: str) -> None:
    """Ignore a trouble: the default of `on_trouble`."""


class PostgresStore(JournalStore):
    """The journal in the database of `url`, which holds no password.

    `process` is this process as others see it. Who starts an assistant gets it when no other process holds its lease.
    """

    def __init__(
        self,
        url: str,
        reactor: IReactorFromThreads,
        wall: Callable[[], float],
        process: JournalProcess,
        *,
        on_trouble: Callable[[str], None] = _nobody,
        clock: ThreadClock | None = None,
    ) -> None:
        self.process = process
        clock = clock or ThreadClock()
        self.leases = HeldLeases(process, clock.now)
        self._clock = clock
        #: Returns what is sent when the server asks for a password; None leaves it to libpq and its password file. It
        #: is called for each connection, on any thread, and may block. Set it before `open`.
        self.password: Callable[[], str | None] = no_password
        self.url = url
        super().__init__(reactor, wall, on_trouble)

    @property
    def place(self) -> PostgresPlace:
        """The database, with the password that it has when a connection is made."""
        return PostgresPlace(self.url, self.password)

    def connect(self) -> PostgresDatabase:
        """Return another connection to the database. Blocks. Raises psycopg.Error."""
        return connect(self.url, self.password())

    def _connect_writer(self) -> PostgresDatabase:
        return connect(self.url, self.password(), f"{NAME} writer {self.process.id}")

    def notify(self, words: str) -> Deferred[None]:
        """Tell all processes these words, under 8,000 bytes; a hint, which may be lost. Raises JournalUnwritable."""
        return self.write(partial(tell_others, words=words))

    def compact(self) -> Deferred[bool]:
        """Leave no byte of what was deleted in the files of the tables. Raises JournalUnwritable.

        Return False when the role may not, or it takes long. The server's log, its replicas and its backups keep what
        was deleted until they roll over.
        """
        return Deferred.fromCoroutine(self._compact())

    def _make_writer(self) -> PostgresWriter:
        return PostgresWriter(self._connect_writer, self.url, self.leases, self._clock, self._tell)

    def take_lease(self, db: Database, assistant: str) -> int:
        """Write down the next token of an assistant and return it. Part of a work. Raises HeldElsewhere."""
        return self.leases.take(db, assistant, self.wall())

    def token_of(self, db: Database, assistant: str) -> int:
        """Return the token that may write for an assistant, 0 when there is none, and hold it. Part of a work."""
        return self.leases.token_of(db, assistant)

    def check_token(self, db: Database, assistant: str, token: int) -> None:
        """Raise Fenced unless `token` is the one that may write for an assistant. Part of a work."""
        if isinstance(db, PipelinedDatabase) and token:
            self.leases.expect_token(assistant, token)
        else:
            super().check_token(db, assistant, token)

    def has_expired(self, assistant: str) -> bool:
        """Tell whether this process may no longer act for an assistant, as far as it knows. On any thread."""
        return self.leases.has_expired(assistant)

    async def _compact(self) -> bool:
        try:
            is_done = await in_daemon_thread(self._reactor, VACUUM_SECONDS, self._vacuum)
        except DeadlineExceeded:  # it goes on
            return False
        except psycopg.Error as error:
            raise JournalUnwritable(f"what was deleted could not be freed: {explain(error)}") from error
        if is_done:
            await self.write(_pay)
        return is_done

    def _vacuum(self) -> bool:
        """Rewrite the tables, on a connection of its own: leases must be renewed meanwhile. Blocks."""
        with closing(connect(self.url, self.password(), kind=PatientConnection)) as db:
            return rewrite(db, _PERSONAL)


def _pay(db: Database) -> None:
    """Note that nothing is owed any more."""
    db.execute("DELETE FROM meta WHERE key = ?", (OWED,))
