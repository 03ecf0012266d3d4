"""A process that enters the journal ends the session it had before, and a server that was promoted fences all."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from mud_assistant.assistant.journal.place import OpeningRefused
from mud_assistant.assistant.journal.postgres.connection import NAME, connect
from mud_assistant.assistant.journal.postgres.opening import TOKEN_GAP, enter, open_database
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from tests.assistant.journal.postgres.outage import opened
from tests.postgres import PostgresServer

OURS = JournalProcess("here", id="0123456789abcdef")
COUNT = "UPDATE processes SET writes = 7 WHERE id = ?"
HELD = "INSERT INTO leases (assistant, token, taken_at, expires_at) VALUES ('sage', 3, 0, now() + interval '1 h')"
WRITER = f"{NAME} writer {OURS.id}"


def test_a_session_that_hangs_in_a_transaction_is_ended_and_undone(postgres_url: str) -> None:
    first = connect(postgres_url, name=WRITER)
    open_database(first, lambda: connect(postgres_url), "here")
    assert enter(first, OURS) == (0, 0)
    first.run("BEGIN")
    first.execute(COUNT, (OURS.id,))
    second = connect(postgres_url, name=WRITER)
    assert enter(second, OURS) == (0, 0)
    with pytest.raises(psycopg.OperationalError):
        first.run("COMMIT")
    second.close()


def test_what_a_lost_session_committed_is_counted(postgres_url: str) -> None:
    first = connect(postgres_url, name=WRITER)
    open_database(first, lambda: connect(postgres_url), "here")
    enter(first, OURS)
    first.execute(COUNT, (OURS.id,))
    second = connect(postgres_url, name=WRITER)
    assert enter(second, OURS).writes == 7
    second.close()
    first.close()


def test_sessions_of_others_are_left_alone(postgres_url: str) -> None:
    other = connect(postgres_url, name=f"{NAME} writer fedcba9876543210")
    db = connect(postgres_url, name=WRITER)
    open_database(db, lambda: connect(postgres_url), "here")
    enter(db, OURS)
    assert other.execute("SELECT 1").fetchone() == (1,)
    other.close()
    db.close()


@pytest.mark.parametrize("server", ["7000000000000000001/1", "again"])
def test_tokens_jump_when_the_server_is_another_and_only_then(postgres_url: str, server: str) -> None:
    db = connect(postgres_url, name=WRITER)
    open_database(db, lambda: connect(postgres_url), "here")
    enter(db, OURS)
    db.execute(HELD)
    if server != "again":
        db.execute("UPDATE meta SET value = ? WHERE key = 'server'", (server,))
    for _ in range(2):  # the second time it is known
        enter(db, OURS)
    token, is_held = db.execute("SELECT token, expires_at > now() FROM leases").fetchone()
    assert (token, is_held) == ((3, True) if server == "again" else (3 + TOKEN_GAP, False))
    db.close()


async def test_a_database_in_another_encoding_is_refused_with_the_cure(
    postgres_server: PostgresServer, reactor: Any
) -> None:
    postgres_server.start()
    postgres_server.execute("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    try:
        async with opened(postgres_server.url(database="latin"), reactor) as store:
            assert isinstance(store.opened, OpeningRefused)
            assert "holds its text as LATIN1" in store.opened.sentence
            assert "createdb --encoding=UTF8" in store.opened.sentence
    finally:
        postgres_server.execute("DROP DATABASE latin WITH (FORCE)")
