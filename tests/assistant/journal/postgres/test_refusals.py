"""Every way in which a database refuses, told in one sentence with the cure: by real servers where they can be had."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable, Iterator, Mapping

import pytest

from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.journal.postgres.refusals import explain, lasts, newer_tables, older_tables, too_old
from tests.assistant.journal.postgres.wire import Refused, wire
from tests.postgres import PostgresServer

psycopg = pytest.importorskip("psycopg")

_RULES = "local all locked scram-sha-256\nlocal all peered peer\nlocal all barred reject\n"
_PASSWORD = "hunter2-and-more"


def run(url: str, statements: Iterable[str], parameters: Mapping[str, str]) -> None:
    with psycopg.connect(url, autocommit=True, **parameters) as db:
        for statement in statements:
            db.execute(statement)


def said(url: str, *statements: str, **parameters: str) -> str:
    """What is told of the first thing that fails."""
    with pytest.raises(psycopg.Error) as failed:
        run(url, statements, parameters)
    told = explain(failed.value)
    assert "\n" not in told
    assert not told.endswith(".")
    assert _PASSWORD not in told
    return told


@pytest.fixture(scope="module")
def guarded(postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    """The server with roles that may not all do everything."""
    postgres_server.start()
    rules = postgres_server.data / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(_RULES + before)
    roles = {"locked": f"PASSWORD '{_PASSWORD}'", "peered": "", "barred": "", "poor": "", "few": "CONNECTION LIMIT 1"}
    for role, options in roles.items():
        postgres_server.execute(f"CREATE ROLE {role} LOGIN {options}")
    postgres_server.execute("SELECT pg_reload_conf()")
    yield postgres_server
    postgres_server.start()
    rules.write_text(before)
    postgres_server.execute("SELECT pg_reload_conf()")
    for role in roles:
        postgres_server.execute(f"DROP ROLE {role}")


def test_a_wrong_password_and_none(guarded: PostgresServer) -> None:
    url = guarded.url(user="locked")
    assert said(url, password="wrong-" + _PASSWORD[1:]).startswith("the server refuses the password of locked")
    assert "journal.password" in said(url, passfile="/dev/null")
    with psycopg.connect(url, password=_PASSWORD) as db:
        assert db.execute("SELECT 1").fetchone() == (1,)


def test_no_such_database_or_role(guarded: PostgresServer) -> None:
    assert said(guarded.url(database="other")).startswith("there is no database other: make it with createdb")
    assert "there is no role stranger that may log in" in said(guarded.url(user="stranger"))


def test_a_server_that_lets_nobody_in(guarded: PostgresServer) -> None:
    assert "only as the role of the same name, not as peered" in said(guarded.url(user="peered"))
    assert "barred" in said(guarded.url(user="barred"))


def test_nobody_there(guarded: PostgresServer) -> None:
    assert "start it" in said("postgresql://mud@/mud?host=/nonexistent")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    told = said(f"postgresql://mud@127.0.0.1:{port}/mud")
    assert told.startswith("no server answers there")
    assert str(port) in told


def test_a_role_that_may_not_make_tables(guarded: PostgresServer, postgres_schema: str) -> None:
    told = said(guarded.url(postgres_schema, user="poor"), f"CREATE TABLE {postgres_schema}.meta (key text)")
    assert "CREATE SCHEMA mud AUTHORIZATION" in told
    assert "search path" in said(guarded.url("not_there"), "CREATE TABLE meta (key text)")


def test_a_server_that_takes_no_writes(guarded: PostgresServer) -> None:
    read_only = "-cdefault_transaction_read_only=on"
    assert "name the primary" in said(guarded.url(), options=read_only, target_session_attrs="read-write")
    assert "name the primary" in said(guarded.url(), "CREATE TABLE never (never text)", options=read_only)


def test_a_replica(guarded: PostgresServer) -> None:
    signal = guarded.data / "standby.signal"
    guarded.stop()
    signal.touch()
    try:
        guarded.start()
        assert "name the primary" in said(guarded.url(), target_session_attrs="read-write")
        assert "name the primary" in said(guarded.url(), "CREATE TABLE never (never text)")
    finally:
        signal.unlink()
        guarded.stop()
        guarded.start()


def test_too_many_connections(guarded: PostgresServer) -> None:
    with psycopg.connect(guarded.url(user="few")):
        assert "max_connections" in said(guarded.url(user="few"))


def test_a_session_that_is_ended_and_a_statement_that_is_late(guarded: PostgresServer) -> None:
    assert "tried again" in said(guarded.url(), "SELECT pg_terminate_backend(pg_backend_pid())")
    assert "in time" in said(guarded.url(), "SET statement_timeout = 10", "SELECT pg_sleep(9)")


@pytest.mark.parametrize(
    ("code", "text", "told"),
    [
        ("57P03", "the database system is starting up", "nothing is lost"),
        ("57P03", "the database system is in recovery mode", "nothing is lost"),
        ("53300", "sorry, too many clients already", "max_connections"),
        ("53300", "remaining connection slots are reserved for roles with the SUPERUSER attribute", "max_connections"),
        ("08P01", "no more connections allowed (max_client_conn)", "max_connections"),
        ("08P01", "unsupported startup parameter: options", "ALTER ROLE the_role SET search_path"),
        ("08P01", "no such database: mud", "the pooler knows no database mud"),
        ("28000", 'no pg_hba.conf entry for host "10.0.0.7", user "mud", database "mud", no encryption', "sslmode"),
        ("28000", 'no pg_hba.conf entry for host "10.0.0.7", user "mud", database "mud", SSL encryption', "reload"),
        ("28P01", "Passwort-Authentifizierung für Benutzer »mud« fehlgeschlagen", "Passwort-Authentifizierung"),
    ],
)
def test_a_server_that_refuses_at_the_door(code: str, text: str, told: str) -> None:
    with wire(refusal=Refused(code, text)) as server:
        assert told in said(server.url)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("53100", "the disk of the server is full"),
        ("25006", "name the primary"),
        ("53200", "memory"),
        ("XX001", "backup"),
    ],
)
def test_a_server_that_refuses_later(code: str, told: str) -> None:
    with wire(lambda _connection, _statement: Refused(code, "in any language")) as server:
        assert told in said(server.url, "SELECT 1")


def test_a_server_without_tls_and_one_that_cannot_be_judged() -> None:
    with wire(tls=b"N") as server:
        assert said(server.url, sslmode="verify-full").startswith("the server has no TLS")
    with wire(tls=b"S") as server:
        told = said(server.url, sslmode="verify-full", sslrootcert="/nonexistent/root.crt")
        assert "there is no /nonexistent/root.crt: add sslrootcert=FILE" in told


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux takes 0.0.0.0 for itself")
def test_a_server_elsewhere_is_asked_for_its_proof() -> None:
    from mud_assistant.assistant.journal.postgres.connection import connect  # noqa: PLC0415  (it needs the driver)

    with wire(tls=b"N") as server:
        elsewhere = server.url.replace("127.0.0.1", "0.0.0.0")  # noqa: S104  (for us it is another host)
        with pytest.raises(psycopg.OperationalError) as failed:
            connect(elsewhere)
        assert explain(failed.value).startswith("the server has no TLS")


def test_an_address_that_libpq_does_not_know() -> None:
    assert said("postgresql:///mud?colour=red").startswith("libpq cannot read journal.url")


def test_what_no_server_says() -> None:
    assert "pip install 'mud-assistant[postgres]'" in explain(ModuleNotFoundError("psycopg"))
    assert explain(AssistantError("as it is")) == "as it is"
    assert explain(ValueError()) == "ValueError"
    assert len(explain(psycopg.Error("x" * 10_000))) < 300
    assert "PostgreSQL 12, and 13 or later" in too_old(120_022)
    assert "version 9, this one knows 1" in newer_tables(9, 1)
    assert "from version 3 on" in older_tables(1, 3)


def failed(url: str, **parameters: str) -> BaseException:
    with pytest.raises(Exception) as error:  # noqa: PT011  (its text is looked at by who called)
        run(url, (), parameters)
    return error.value


def test_what_waiting_cannot_mend_and_what_it_can(guarded: PostgresServer) -> None:
    locked = guarded.url(user="locked")
    lasting = [
        failed(locked, password="wrong-" + _PASSWORD[1:]),
        failed(locked, passfile="/dev/null"),
        failed(guarded.url(database="other")),
        failed(guarded.url(user="stranger")),
        failed(guarded.url(user="barred")),
    ]
    assert [explain(error) for error in lasting if not lasts(error)] == []
    passing = [failed("postgresql://mud@/mud?host=/nonexistent")]
    with psycopg.connect(guarded.url(user="few")):
        passing.append(failed(guarded.url(user="few")))
    guarded.stop()
    passing.append(failed(guarded.url()))
    guarded.start()
    assert [explain(error) for error in passing if lasts(error)] == []


def test_in_another_language_it_counts_that_a_password_was_asked_for() -> None:
    class Line:
        needs_password, used_password = False, True

    refused = psycopg.OperationalError("FATAL:  Passwort-Authentifizierung fehlgeschlagen", pgconn=Line())
    away = psycopg.OperationalError("Verbindungsaufbau abgelehnt")
    assert (lasts(refused), lasts(away)) == (True, False)


def test_a_full_disk_is_called_so_whatever_code_the_server_gives_it() -> None:
    full = psycopg.errors.IoError('could not extend file "base/1/2": Disk quota exceeded')
    assert explain(full).startswith("the disk of the server is full")
