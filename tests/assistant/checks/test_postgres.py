"""The doctor's lines about the journal's database, from real servers; what none of them has is judged alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.checks.check_runner import CheckRunner
from mud_assistant.assistant.checks.doctor import DoctorRequest, examine
from mud_assistant.assistant.checks.finding import Finding, FindingState, Problem, Unclear
from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.keys.binding import KeyBinding
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import key_sources
from mud_assistant.llm.testing import FakeOllama, OllamaModel, Reply, serve
from tests.assistant.living import reactor
from tests.postgres import PostgresServer

psycopg = pytest.importorskip("psycopg")

from mud_assistant.assistant.checks.postgres import (  # noqa: E402  (they need the driver)
    PostgresChecks,
    judge_durability,
    judge_room,
    judge_server,
    judge_tables,
)
from mud_assistant.assistant.journal.postgres.connection import connect  # noqa: E402
from mud_assistant.assistant.journal.postgres.facts import ServerFacts, look_at  # noqa: E402
from mud_assistant.assistant.journal.postgres.schema import STEPS, migrate  # noqa: E402

PASSWORD = "hunter2-and-more"
SETTINGS = {"server_encoding": "UTF8", "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
GOOD = ServerFacts(150_018, SETTINGS | {"data_checksums": "on"}, False, 0.0012, 90, 100, "mud", True, len(STEPS))


async def findings(folder: Path, secrets: Secrets | None = None, **journal: Any) -> dict[str, Finding]:
    """What the doctor says of the journal, by the names of the checks."""
    found: list[Finding] = []
    async with serve(FakeOllama(reactor, lambda _: Reply("yes"), {"sage": OllamaModel()}), reactor) as url:
        config = merged({"model": {"provider": "ollama", "url": url, "model": "sage"}, "journal": journal})
        around = {"DB_PASSWORD": PASSWORD}
        await examine(
            reactor,
            DoctorRequest(
                config,
                folder,
                around,
                lambda: 0.0,
                found.append,
                lambda _: None,
                Secrets() if secrets is None else secrets,
            ),
        )
    return {finding.check: finding for finding in found if finding.check.startswith("journal")}


async def test_a_server_that_is_well(tmp_path: Path, postgres_url: str, postgres_schema: str) -> None:
    found = await findings(tmp_path, url=postgres_url)
    assert list(found) == ["journal server", "journal tables", "journal durable", "journal room"]
    assert found["journal server"].state is FindingState.OK
    assert postgres_url in found["journal server"].sentence
    assert found["journal tables"].sentence == f"the tables will be made in schema {postgres_schema}"
    assert found["journal durable"].state is FindingState.WRONG, "the server of tests is fast and not safe"
    assert "fsync is off" in found["journal durable"].sentence
    assert "of 100 connections are free" in found["journal room"].sentence


async def test_no_server_is_one_line(tmp_path: Path) -> None:
    found = await findings(tmp_path, url="postgresql://mud@/mud?host=/nonexistent")
    assert "start it" in found["journal server"].sentence
    assert [finding.state for finding in found.values()] == [FindingState.WRONG, *[FindingState.SKIPPED] * 3]


async def test_a_password_is_found_by_reference_and_never_shown(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    rules = postgres_server.data / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all guest scram-sha-256\n{before}")
    postgres_server.execute(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")
    postgres_server.execute("SELECT pg_reload_conf()")
    secrets, url = Secrets(), postgres_server.url(user="guest")
    try:
        right = await findings(tmp_path, secrets, url=url, password="env:DB_PASSWORD")
        assert right["journal server"].state is FindingState.OK
        assert "may not make tables" in right["journal tables"].sentence
        postgres_server.execute("ALTER ROLE guest PASSWORD 'another-one'")
        wrong = await findings(tmp_path, url=url, password="env:DB_PASSWORD")
        assert wrong["journal server"].sentence.startswith("the server refuses the password of guest")
        missing = await findings(tmp_path, url=url, password="env:NOT_THERE")
        assert "NOT_THERE" in missing["journal server"].sentence
        assert missing["journal server"].sentence.endswith("(journal.password)")
    finally:
        rules.write_text(before)
        postgres_server.execute("SELECT pg_reload_conf()")
        postgres_server.execute("DROP ROLE guest")
    told = " ".join(finding.sentence for found in (right, wrong, missing) for finding in found.values())
    assert PASSWORD not in told
    assert secrets.scrub(PASSWORD) == "[key]"


async def test_which_key_went_where_is_read(tmp_path: Path, postgres_url: str) -> None:
    config = merged({"journal": {"url": postgres_url}}).journal
    runner = CheckRunner(reactor, lambda _: None, lambda _: None)
    checks = PostgresChecks(reactor, config, key_sources(reactor, {}, tmp_path, Secrets()), runner)
    assert await checks.bindings() == ()
    db = connect(postgres_url)
    migrate(db)
    db.execute("INSERT INTO key_bindings VALUES ('env:A', 'https://a.example:443', 1.0)")
    db.close()
    assert await checks.bindings() == {KeyBinding("env:A", "https://a.example:443")}


async def test_no_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [
        name
        for name in sys.modules
        if name.startswith(("mud_assistant.assistant.checks.postgres", "mud_assistant.assistant.journal.postgres"))
    ]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    found = await findings(tmp_path, url="postgresql://localhost/mud")
    assert list(found) == ["journal server"]
    assert "pip install 'mud-assistant[postgres]'" in found["journal server"].sentence


def test_the_look_at_a_server_leaves_nothing_there(postgres_server: PostgresServer, postgres_url: str) -> None:
    def tables() -> list[tuple[Any, ...]]:
        return postgres_server.execute("SELECT schemaname, relname FROM pg_stat_user_tables")

    before = tables()
    facts = look_at(postgres_url, None, iter(range(100)).__next__)
    assert tables() == before
    assert (facts.version // 10_000, facts.is_pooled, facts.commit_seconds, facts.tables) >= (13, False, 1, 0)
    assert facts.settings == SETTINGS | {"fsync": "off", "full_page_writes": "off", "data_checksums": "on"}


def with_settings(**changed: str) -> ServerFacts:
    return replace(GOOD, settings=GOOD.settings | changed)


def test_servers_that_cannot_carry_the_journal() -> None:
    assert judge_server(GOOD, "the url") == "PostgreSQL 15.18 answers at the url"
    with pytest.raises(Problem, match="PostgreSQL 12, and 13 or later"):
        judge_server(replace(GOOD, version=120_022), "")
    with pytest.raises(Unclear, match=r"PostgreSQL 19\.1 answers, which is newer than 18"):
        judge_server(replace(GOOD, version=190_001), "")
    with pytest.raises(Problem, match="pool_mode = session"):
        judge_server(replace(GOOD, is_pooled=True), "")
    with pytest.raises(Problem, match=r"SQL_ASCII.*--encoding=UTF8"):
        judge_server(with_settings(server_encoding="SQL_ASCII"), "")


def test_tables_that_cannot_be_used() -> None:
    assert judge_tables(GOOD) == "the tables are in schema mud"
    assert judge_tables(replace(GOOD, may_create=False))
    with pytest.raises(Problem, match="newer mud-assistant"):
        judge_tables(replace(GOOD, tables=99))
    with pytest.raises(Problem, match="CREATE SCHEMA mud AUTHORIZATION"):
        judge_tables(replace(GOOD, tables=0, may_create=False))
    with pytest.raises(Problem, match="GRANT CREATE ON SCHEMA mud TO the_role"):
        judge_tables(replace(GOOD, tables=1, may_create=False))
    with pytest.raises(Problem, match="search path"):
        judge_tables(replace(GOOD, tables=0, schema=""))


@pytest.mark.parametrize("name", ["fsync", "full_page_writes", "synchronous_commit"])
def test_a_server_that_may_lose_what_it_confirmed(name: str) -> None:
    with pytest.raises(Problem, match=f"{name} is off.*set {name} = on"):
        judge_durability(with_settings(**{name: "off"}))


def test_how_long_a_commit_takes() -> None:
    assert judge_durability(GOOD) == "a commit takes 1.2 ms, and is on disk then"
    with pytest.raises(Unclear, match=r"250\.0 ms.*see the disk"):
        judge_durability(replace(GOOD, commit_seconds=0.25))
    with pytest.raises(Unclear, match="pg_checksums --enable"):
        judge_durability(with_settings(data_checksums="off"))


def test_room_for_another_process() -> None:
    assert judge_room(GOOD) == "90 of 100 connections are free"
    with pytest.raises(Unclear, match=r"3 of 100 connections.*max_connections"):
        judge_room(replace(GOOD, free=3))
