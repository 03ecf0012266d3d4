"""The page of a game whose journal is in PostgreSQL: it shows runs as ever, and which process runs whom."""

from __future__ import annotations

import re
from pathlib import Path

from mud_assistant.assistant.journal import StoredJournal
from mud_assistant.assistant.journal.place import PostgresPlace
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.page.reading.reader import JournalReader
from mud_assistant.assistant.surfaces.serve.run import JournalHost
from tests.assistant.living import reactor
from tests.assistant.page.served import served


async def test_what_was_lived_is_shown(tmp_path: Path, postgres_url: str) -> None:
    async with served(tmp_path, settings={"journal": {"url": postgres_url}}) as page:
        await page.tell("Sage, are you there?")
        seen = await page.values("viewer", "/overview")
        [sage] = seen["assistants"]
        assert (sage["events_waiting"], sage["last_at"] is not None, len(seen["timings"])) == (0, True, 1)
        [run] = (await page.values("operator", "/runs?player=Ann&tool=say&text=there&outcome=answered"))["runs"]
        tree = await page.values("operator", f"/runs/{run['id']}")
        assert tree["replay"] == f"mud-assistant replay '{postgres_url}' --run {run['id']}"
        usage = await page.values("operator", "/usage?by=assistant")
        assert usage["total"]["calls"] == 1
        await page.log_in()
        for path in ("/", "/a/assistant:1", "/runs", f"/runs/{run['id']}", "/money", "/doctor"):
            assert (await page.visiting.get(path)).status == 200, path


async def test_it_is_shown_which_process_runs_whom_since_when(tmp_path: Path, postgres_url: str) -> None:
    other = PostgresStore(postgres_url, reactor, lambda: 1_800_000_000.0, JournalProcess("the tower"))
    await other.open()
    mira = StoredJournal(other, "assistant:9", name="Mira")
    await mira.start()
    async with served(tmp_path, settings={"journal": {"url": postgres_url}}) as page:
        seen = await page.values("viewer", "/overview")
        [sage], [elsewhere] = seen["assistants"], seen["elsewhere"]
        name = page.here.service.config.process_name
        assert (sage["holder"]["process"], sage["holder"]["is_here"]) == (name, True)
        assert 0 <= sage["holder"]["renewed_ago"] < 15
        assert (elsewhere["assistant"], elsewhere["name"], elsewhere["process"]) == ("assistant:9", "Mira", "the tower")
        assert (elsewhere["since"], elsewhere["is_here"]) == (1_800_000_000.0, False)
        detail = await page.values("viewer", "/assistants/assistant:1")
        assert detail["status"]["holder"]["process"] == name
        await page.log_in()
        for path in ("/", "/a/assistant:1"):
            assert f"runs on {name} (here) since " in text_of((await page.visiting.get(path)).text)
        shown = text_of((await page.visiting.get("/")).text)
        assert re.search(r"runs on the tower since 15 Jan 08:00 UTC \(lease renewed \S+\s(m?s) ago\)", shown)
        assert "In other worlds of this journal" in shown
        await other.write(lambda db: other.leases.release(db, "assistant:9"))
        assert (await page.values("viewer", "/overview"))["elsewhere"] == []
    await other.close()


async def test_a_journal_that_nobody_shares_says_nothing_of_it(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        seen = await page.values("viewer", "/overview")
        assert ([one["holder"] for one in seen["assistants"]], seen["elsewhere"]) == ([None], [])
        await page.log_in()
        shown = "".join([(await page.visiting.get(path)).text for path in ("/", "/a/assistant:1")])
        assert "lease renewed" not in shown
        assert "other worlds" not in shown


async def test_a_database_is_only_looked_at_and_nobody_enters_it(tmp_path: Path, postgres_url: str) -> None:
    other = PostgresStore(postgres_url, reactor, lambda: 1_800_000_000.0, JournalProcess("the tower"))
    await other.open()
    await StoredJournal(other, "assistant:9", name="Mira").start()
    reader = JournalReader(PostgresPlace(postgres_url), reactor)
    host = JournalHost(reader)
    await host.load()
    assert [(one.id, one.name) for one in host.assistants()] == [("assistant:9", "Mira")]
    assert await other.read(lambda db: db.execute("SELECT count(*) FROM processes").fetchone()) == (1,)
    reader.close()
    await other.close()


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html))
