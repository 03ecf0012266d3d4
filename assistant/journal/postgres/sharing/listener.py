"""Listens for notices of other processes, and shows them by a lock that this one lives. A thread of its own.

A notice is a hint and never the message: it may be lost, and whoever gets one looks into the tables. When the
connection is made anew, an empty notice tells that some may have been missed.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from threading import Lock, Thread

import psycopg
from twisted.internet.interfaces import IReactorFromThreads
from twisted.logger import Logger

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.clock import ThreadClock
from mud_assistant.assistant.journal.postgres.connection import PostgresDatabase, end_earlier
from mud_assistant.assistant.journal.postgres.refusals import explain
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess

#: How long to wait for a notice before it is looked whether the connection still works, in seconds. Such a look is a
#: statement, of which an idle process may have one a second.
LOOK_SECONDS = 10.0
#: How long the thread may take to see that it is to end, and the waits between two attempts to connect, in seconds.
_TURN_SECONDS, _FIRST_WAIT, _LONGEST_WAIT = 0.5, 0.05, 2.0
#: The channel of one schema: channels belong to a whole database.
CHANNEL = "'mud_assistant_' || md5(current_schema())"

_log = Logger()


def tell_others(db: Database, words: str) -> None:
    """Tell all processes these words, under 8,000 bytes, when the transaction is committed. Part of a work."""
    db.execute(f"SELECT pg_notify({CHANNEL}, ?)", (words,))


class Listener:
    """A connection that only listens. `on_notice` is called in the reactor's thread with the words of each notice.

    `on_lock` is called in the thread itself, whenever it has got the lock.
    """

    def __init__(
        self,
        connect: Callable[[], PostgresDatabase],
        process: JournalProcess,
        reactor: IReactorFromThreads,
        on_notice: Callable[[str], None],
        on_lock: Callable[[], None] = lambda: None,
    ) -> None:
        self._connect = connect
        self._process = process
        self._name = f"mud-assistant {process.id} listens {version('mud-assistant')}"
        self._on_lock = on_lock
        #: The line on which the lock is held, None while it is not. Guarded, as a number of a line is used again.
        self._line: int | None = None
        self._guard = Lock()
        self._reactor = reactor
        self._on_notice = on_notice
        self._clock = ThreadClock()
        self._is_over = False
        self._thread = Thread(target=self._run, name="journal-listener", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def stop(self) -> None:
        """End soon; nothing is told any more. Waits for nothing."""
        self._is_over = True

    def is_seen(self) -> bool:
        """Tell whether others see that this process lives, as far as this machine knows. On any thread.

        A process that was stopped for a while sees with this at once that the server has ended its session meanwhile.
        """
        with self._guard:
            return self._line is not None and not _is_closed(self._line)

    def _run(self) -> None:
        wait = _FIRST_WAIT
        while not self._is_over:
            began = self._clock.now()
            try:
                self._connect_and_listen()
            except psycopg.Error as error:
                lasted = self._clock.now() - began
                wait = _FIRST_WAIT if lasted > _LONGEST_WAIT else min(2 * wait, _LONGEST_WAIT)
                if wait == _LONGEST_WAIT:
                    _log.warn("no assistant acts here, as others cannot see this process: {why}", why=explain(error))
                self._clock.sleep(wait)

    def _connect_and_listen(self) -> None:
        """Listen on a new connection until it breaks. Raises psycopg.Error."""
        db = self._connect()
        try:
            self._listen(db)
        finally:
            with self._guard:
                self._line = None
            with suppress(psycopg.Error):
                db.close()

    def _listen(self, db: PostgresDatabase) -> None:
        """Listen until the connection breaks. Raises psycopg.Error."""
        end_earlier(db, self._name)
        db.execute("SELECT pg_advisory_lock(?)", (self._process.lock_key,))
        self._on_lock()
        with self._guard:
            self._line = db.connection.fileno()
        channel = db.execute(f"SELECT {CHANNEL}").fetchone()[0]
        db.run(f"LISTEN {channel}")
        self._tell("")
        looked = self._clock.now()
        while not self._is_over:
            for notice in db.connection.notifies(timeout=_TURN_SECONDS, stop_after=1):
                self._tell(notice.payload)
            if self._clock.now() - looked >= LOOK_SECONDS:
                db.execute("SELECT 1")
                looked = self._clock.now()

    def _tell(self, words: str) -> None:
        if not self._is_over:
            self._reactor.callFromThread(self._hear, words)

    def _hear(self, words: str) -> None:
        if not self._is_over:
            self._on_notice(words)


def _is_closed(line: int) -> bool:
    """Tell whether the other side has closed a line, also where something is left to be read before the end."""
    if not hasattr(select, "poll"):  # on Windows it is noticed a moment later, by the thread that reads
        return False
    poll = select.poll()
    poll.register(line, getattr(select, "POLLRDHUP", 0))  # a hang-up is told in any case
    return bool(poll.poll(0))
