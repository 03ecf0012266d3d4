"""The server that tests of PostgreSQL get."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres import PostgresServer, find_programs

psycopg = pytest.importorskip("psycopg")

_HELD = """
import sys
from tests.postgres import PostgresServer, find_programs
server = PostgresServer(find_programs())
print(*server.pids, server.folder, flush=True)
sys.stdin.read()
"""


def test_a_test_has_a_schema_of_its_own(postgres_url: str, postgres_schema: str) -> None:
    with psycopg.connect(postgres_url) as db:
        db.execute("CREATE TABLE things (name text)")
        assert db.execute("SELECT current_schema()").fetchone() == (postgres_schema,)
        assert db.execute("SELECT schemaname FROM pg_tables WHERE tablename = 'things'").fetchall() == [
            (postgres_schema,)
        ]


def test_what_was_committed_is_there_after_a_crash(
    postgres_server: PostgresServer, postgres_url: str, postgres_schema: str
) -> None:
    with psycopg.connect(postgres_url) as db:
        db.execute("CREATE TABLE things AS SELECT 1 AS number")
    postgres_server.stop_immediate()
    assert not postgres_server.is_running
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres_url)
    postgres_server.start()
    postgres_server.start()
    assert postgres_server.execute(f"TABLE {postgres_schema}.things") == [(1,)]


def test_a_session_that_is_left_does_not_hold_up_the_next_test(postgres_server: PostgresServer) -> None:
    schema = postgres_server.new_schema()
    with psycopg.connect(postgres_server.url(schema)) as db:
        db.execute("CREATE TABLE things (name text)")
        postgres_server.drop_schema(schema)
        assert postgres_server.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)) == []
        db.close()


def test_a_test_may_leave_it_stopped(postgres_server: PostgresServer) -> None:
    schema = postgres_server.new_schema()
    postgres_server.stop()
    postgres_server.drop_schema(schema)
    assert postgres_server.is_running


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
@pytest.mark.skipif(find_programs() is None, reason="needs the Debian package postgresql")
def test_no_server_outlives_a_test_run_that_was_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HELD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        server, watcher, folder = run.stdout.readline().split()
        ends = [os.pidfd_open(int(server)), os.pidfd_open(int(watcher))]
        run.send_signal(signal.SIGKILL)
    for end in ends:
        assert select.select([end], [], [], 60)[0]
        os.close(end)
    assert not Path(folder).exists()
