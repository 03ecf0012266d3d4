"""The password of a shared journal that is changed while a process runs: read again for the next connection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.journal import Sound
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import key_sources
from mud_assistant.assistant.runtime.sharing.journal import SharedJournal
from tests.assistant.journal.keeping import noon
from tests.postgres import PostgresServer

OLD, NEW = "the-first-password", "the-second-password"


@pytest.fixture
def guarded(postgres_server: PostgresServer, postgres_schema: str) -> Iterator[PostgresServer]:
    """The server with a role that must give its password."""
    rules = postgres_server.data / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all turning scram-sha-256\n{before}")
    postgres_server.execute(f"CREATE ROLE turning LOGIN PASSWORD '{OLD}'")
    postgres_server.execute(f'GRANT ALL ON SCHEMA "{postgres_schema}" TO turning')
    postgres_server.execute("SELECT pg_reload_conf()")
    yield postgres_server
    postgres_server.drop_schema(postgres_schema)
    rules.write_text(before)
    postgres_server.execute("SELECT pg_reload_conf()")
    postgres_server.execute("DROP OWNED BY turning; DROP ROLE turning")


def write(path: Path, password: str) -> None:
    path.write_text(f"{password}\n")
    path.chmod(0o600)


@pytest.mark.parametrize("scheme", ["file", "env"])
async def test_the_next_connection_gets_the_password_of_now(
    guarded: PostgresServer, postgres_schema: str, tmp_path: Path, reactor: Any, scheme: str
) -> None:
    environment, secrets = {"DB": OLD}, Secrets()
    write(tmp_path / "db", OLD)
    config = JournalConfig(
        url=guarded.url(postgres_schema, user="turning"), password="env:DB" if scheme == "env" else "file:db"
    )
    journal = SharedJournal(config, "here", reactor, noon)
    await journal.unlock(key_sources(reactor, environment, tmp_path, secrets))
    assert isinstance(await journal.open(), Sound)
    guarded.execute(f"ALTER ROLE turning PASSWORD '{NEW}'")
    environment["DB"] = NEW
    write(tmp_path / "db", NEW)
    guarded.end_sessions()
    assert await journal.store.write(lambda db: db.execute("SELECT 1").fetchone()) == (1,)
    assert journal.store.trouble is None
    assert NEW not in secrets.scrub(f"with {NEW}.")
    await journal.close()


async def test_a_file_in_the_middle_of_its_change_is_no_reason_to_ask_without_a_password(
    guarded: PostgresServer, postgres_schema: str, tmp_path: Path, reactor: Any
) -> None:
    write(tmp_path / "db", OLD)
    config = JournalConfig(url=guarded.url(postgres_schema, user="turning"), password="file:db")
    journal = SharedJournal(config, "here", reactor, noon)
    await journal.unlock(key_sources(reactor, {}, tmp_path, Secrets()))
    await journal.open()
    (tmp_path / "db").write_text("")
    guarded.end_sessions()
    assert await journal.store.write(lambda db: db.execute("SELECT 1").fetchone()) == (1,)
    await journal.close()


async def test_it_is_never_read_on_the_reactors_thread(
    guarded: PostgresServer, postgres_schema: str, tmp_path: Path, reactor: Any
) -> None:
    config = JournalConfig(url=guarded.url(postgres_schema, user="turning"), password="env:DB")
    threads: set[int] = set()

    class Environment(dict[str, str]):
        def get(self, key: str, default: Any = None) -> Any:
            threads.add(get_ident())
            return super().get(key, default)

    journal = SharedJournal(config, "here", reactor, noon)
    await journal.unlock(key_sources(reactor, Environment(DB=OLD), tmp_path, Secrets()))
    threads.clear()  # a variable is read without a thread at the start
    await journal.open()
    await journal.store.write(lambda db: db.execute("SELECT 1"))
    assert threads
    assert get_ident() not in threads
    await journal.close()
