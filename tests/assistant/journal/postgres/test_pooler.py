"""Whether a pooler gives each transaction another session."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from mud_assistant.assistant.journal.postgres.pooler import shares_sessions
from tests.assistant.journal.postgres.wire import wire
from tests.postgres import PostgresServer

psycopg = pytest.importorskip("psycopg")
POOLER = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")


def shared(url: str) -> bool:
    with closing(psycopg.connect(url, autocommit=True)) as db:
        return shares_sessions(db, lambda: psycopg.connect(url, autocommit=True))


def test_the_server_itself(postgres_server: PostgresServer) -> None:
    url = postgres_server.url()
    with closing(psycopg.connect(url, autocommit=True)) as db:
        assert not shares_sessions(db, lambda: pytest.fail("a second connection was made"))


def test_a_pooler_that_hands_out_one_session_after_the_other() -> None:
    with wire(lambda _connection, _statement: "99") as server:
        assert shared(server.url)


def test_a_pooler_whose_sessions_are_taken_by_others_meanwhile() -> None:
    answers = iter(range(100, 200))
    with wire(lambda _connection, _statement: str(next(answers))) as server:
        assert shared(server.url)


def test_a_pooler_that_keeps_the_session_of_a_connection() -> None:
    with wire(lambda connection, _statement: str(100 + connection)) as server:
        assert not shared(server.url)


@contextmanager
def pooled(server: PostgresServer, mode: str) -> Iterator[str]:
    """The address of a pgbouncer before the server."""
    assert POOLER
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = server.folder / f"{mode}.ini"
    settings.write_text(
        f"[databases]\nmud = host={server.folder} user=mud\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\n"
    )
    user = None if os.geteuid() else server.data.stat().st_uid
    with subprocess.Popen([POOLER, settings], stderr=subprocess.PIPE, text=True, user=user) as pooler:
        assert pooler.stderr is not None
        try:
            while "process up" not in (line := pooler.stderr.readline()):
                assert line
            yield f"postgresql://mud@127.0.0.1:{port}/mud"
        finally:
            pooler.kill()


@pytest.mark.skipif(POOLER is None, reason="needs the Debian package pgbouncer")
@pytest.mark.parametrize(("mode", "shares"), [("session", False), ("transaction", True), ("statement", True)])
def test_pgbouncer(mode: str, shares: bool, postgres_server: PostgresServer) -> None:
    postgres_server.start()
    with pooled(postgres_server, mode) as url:
        assert shared(url) is shares
