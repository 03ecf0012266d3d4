"""Money adds up to the cent: each grouping, the total, the table of the journal, in a day that was really lived."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.runtime.storage import JournalFile
from tests.assistant.page.served import served
from tests.assistant.page.staged import a_stage

pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def test_the_rows_of_each_grouping_add_up_to_the_total_and_to_the_table_of_the_journal(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        for at, name in enumerate(("Sage", "Oda", "Venn")):
            for player in (0, 1):
                await stage.says(f"{name}, hello.", at=at, player=player)
                await stage.says(f"{name}, look at the astrolabe.", at=at, player=player)
        client = await stage.client()
        answers: dict[str, Any] = {}
        for by in ("day", "assistant", "player", "model"):
            got = await client.get(f"/api/v1/usage?by={by}")
            assert got.status == 200, got
            answers[by] = json.loads(got.body)
        page = (await client.get("/money?by=player")).text
        await stage.day.service.pipeline.write_ledger()
        with closing(sqlite3.connect(tmp_path / "journal")) as db:
            kept = db.execute(
                "SELECT sum(calls), sum(tokens), sum(money) FROM usage WHERE account = 'all assistants'"
            ).fetchone()
            lines = db.execute("SELECT account, money FROM usage WHERE account LIKE 'assistant:%'").fetchall()
    total = answers["day"]["total"]
    assert total["calls"] > 12
    assert total["money"] > 0.01
    assert (total["calls"], total["tokens"], round(total["money"], 9)) == (*kept[:2], round(kept[2], 9))
    for by, answer in answers.items():
        assert answer["total"] == total, by
        used = [row["used"] for row in answer["rows"]]
        assert (sum(one["calls"] for one in used), sum(one["tokens"] for one in used)) == kept[:2], by
        assert round(sum(one["money"] for one in used), 9) == round(kept[2], 9), by
    assert {row["key"]: round(row["used"]["money"], 9) for row in answers["assistant"]["rows"] if row["key"]} == {
        account: round(money, 9) for account, money in lines
    }
    assert {row["name"] for row in answers["player"]["rows"] if row["key"]} == {"Ann", "Bob"}
    assert "Ann" in page
    assert "Total" in page


async def test_the_pace_of_the_month_counts_the_days_that_are_not_shown_as_well(tmp_path: Path) -> None:
    earlier = "INSERT INTO usage (day, account, calls, tokens, money) VALUES (9, 'all assistants', 5, 50, 0.5)"
    async with served(tmp_path) as page:
        journal = page.here.service.parts.journal
        assert isinstance(journal, JournalFile)
        await journal.store.write(lambda db: db.execute(earlier).rowcount)
        found = await page.values("operator", "/usage?from=1970-01-12")
        assert {row["day"] for row in found["rows"]} <= {"1970-01-12"}
        assert found["pace"]["spent"]["calls"] == found["total"]["calls"] + 5
