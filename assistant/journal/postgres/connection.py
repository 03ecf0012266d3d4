"""Connects to PostgreSQL, and runs the SQL of the journal's tables there. Blocks: for a thread.

psycopg 3 is used as it is, one connection for one thread: https://www.psycopg.org/psycopg3/docs/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.abc import Buffer, PQGen
from psycopg.types.numeric import NumericBinaryLoader
from psycopg.waiting import Ready

from mud_assistant.assistant.config.postgres_url import parse_postgres_url
from mud_assistant.assistant.journal.database import DuplicateKey, FoundRows, Values

#: What a statement raises when the database refuses it, or is away.
DATABASE_ERRORS = (psycopg.Error, DuplicateKey)
#: The longest wait for the answer to one statement, in seconds. The server itself ends one sooner.
ANSWER_SECONDS = 12.0
CONNECT_SECONDS = 5
#: What the server calls a connection, in pg_stat_activity.
NAME = "mud-assistant"
#: What every connection says and wants. A broken line is noticed by TCP after about 20 seconds, by us after 12.
_PARAMETERS: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
}
#: An answer that is late is an error, and a transaction that nobody ends is ended, as it holds up everybody else.
#: The server, too, is to notice a broken line soon: a process that is gone holds its locks until then.
SETTINGS = """SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s'; SET lock_timeout = '8s';
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3"""
#: A string, a cast, or a placeholder of the journal's SQL.
_PART = re.compile(r"'[^']*'|::|\?|:([a-z_]+)")
#: PostgreSQL's text cannot hold this character.
_NUL = "\0"
_IN_PLACE_OF_NUL = "\ufffd"


class _Numbers(NumericBinaryLoader):
    """Loads a sum as the number that SQLite returns: whole, or a float."""

    def load(self, data: Buffer) -> Any:
        """Return the number."""
        number = super().load(data)
        return int(number) if number == int(number) else float(number)


class JournalConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose statements end with an error when the server does not answer in `answer_seconds`."""

    #: The longest wait for the answer to one statement, in seconds; None for any.
    answer_seconds: float | None = ANSWER_SECONDS
    _is_sending = False

    def send(self, sql: str, values: Values = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        """Send a statement in pipeline mode, and read nothing. Raises psycopg.Error.

        psycopg looks before each statement whether the socket is ready. That lets go of the interpreter's lock, which
        costs the reactor's thread more than the statement does.
        """
        self._is_sending = True
        try:
            return self.execute(sql, plain(values) if values else None, binary=True)
        finally:
            self._is_sending = False

    # Any: what the generator returns.
    def wait(self, gen: PQGen[Any], interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait until a statement is answered. Raises OperationalError when that is late, and then is closed."""
        if self._is_sending:
            return _send(gen)
        try:
            return super().wait(gen, interval, self.answer_seconds if timeout is None else timeout)
        except psycopg.OperationalError as error:
            # In a pipeline, the server's own errors come while more is under way: those have a code.
            is_ours = error.sqlstate is None and not isinstance(error, psycopg.errors.PipelineAborted)
            if is_ours and self.pgconn.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
                self.close()  # an answer that comes later would be taken for that of the next statement
            raise


class PatientConnection(JournalConnection):
    """A connection that waits for any answer."""

    answer_seconds = None


class PostgresDatabase:
    """A connection with the interface of `Database`. Commits each statement outside of `BEGIN` and `COMMIT`."""

    def __init__(self, connection: JournalConnection) -> None:
        self.connection = connection

    def execute(self, sql: str, values: Values = (), /) -> FoundRows:
        """Run one statement. Raises psycopg.Error, and DuplicateKey."""
        try:
            return self.connection.execute(translated(sql), plain(values), binary=True)
        except psycopg.errors.UniqueViolation as error:
            raise DuplicateKey(str(error)) from error

    def executemany(self, sql: str, rows: Iterable[Values], /) -> FoundRows:
        """Run a statement once for each of these rows, in one go. Raises psycopg.Error, and DuplicateKey."""
        cursor = self.connection.cursor()
        try:
            cursor.executemany(translated(sql), [plain(row) for row in rows])
        except psycopg.errors.UniqueViolation as error:
            raise DuplicateKey(str(error)) from error
        return cursor

    def run(self, sql: str) -> None:
        """Run statements of ours without values, in one message to the server."""
        self.connection.execute(sql)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    @property
    def is_broken(self) -> bool:
        """Whether the connection is of no more use."""
        return self.connection.closed


def connect(
    url: str,
    password: str | None = None,
    name: str = NAME,
    *,
    kind: type[JournalConnection] = JournalConnection,
    session: str = "read-write",
) -> PostgresDatabase:
    """Return a connection to the database of `url`. Raises psycopg.Error.

    A server elsewhere must prove who it is, unless the url sets another `sslmode`. `name` is what the server calls the
    connection, in at most 63 bytes. `password` is sent when the server asks for one; None leaves it to libpq and its
    password file. `session` is what the server must be good for, as libpq's `target_session_attrs`.
    """
    parameters = {**_PARAMETERS, "application_name": name, "target_session_attrs": session}
    if password is not None:
        parameters["password"] = password
    connection = kind.connect(parse_postgres_url(url).for_libpq, autocommit=True, **parameters)
    try:
        connection.adapters.register_loader("numeric", _Numbers)
        connection.execute(SETTINGS)
    except BaseException:
        connection.close()
        raise
    return PostgresDatabase(connection)


def end_earlier(db: PostgresDatabase, name: str) -> None:
    """Give a session this name, and end those that have it: when their line broke unseen, they may hold locks yet."""
    db.execute("SELECT set_config('application_name', ?, false)", (name,))
    db.execute(
        """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE application_name = ? AND pid <> pg_backend_pid() AND usename = current_user""",
        (name,),
    )


# Any: what the generator returns.
def _send(gen: PQGen[Any]) -> Any:
    """Run a generator that sends as if the socket took everything: what it does not take, libpq keeps for later."""
    try:
        next(gen)
        while True:
            gen.send(Ready.W)
    except StopIteration as end:
        return end.value


@lru_cache(maxsize=512)
def translated(sql: str) -> str:
    """Return SQL with the placeholders of psycopg."""
    return _PART.sub(_part, sql.replace("%", "%%"))


def _part(match: re.Match[str]) -> str:
    if match[1]:
        return f"%({match[1]})s"
    return "%s" if match[0] == "?" else match[0]


def plain(values: Values) -> Any:
    """Return the values as PostgreSQL can store them: flags as numbers, and text without NUL."""
    if isinstance(values, Mapping):
        return {name: _storable(value) for name, value in values.items()}
    return [_storable(value) for value in values]


def _storable(value: object) -> object:
    if isinstance(value, str):
        return value.replace(_NUL, _IN_PLACE_OF_NUL) if _NUL in value else value
    return int(value) if isinstance(value, bool) else value
