"""What an operator does at the page comes to pass: what was put aside, who is forgotten by whom, and what is said."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import orjson
import pytest

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.journal import StoredJournal
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.tools import Kind, Principal
from tests.assistant.living import ANN, SAGE
from tests.assistant.page.served import Served, served

pytestmark = pytest.mark.usefixtures("reactor_baseline")
ID = quote(SAGE.id, safe="")
BERTA = Principal("assistant:2", "Berta", Kind.ASSISTANT)


async def put_aside(page: Served, event: str) -> None:
    """Let what was heard stand as it stands after the third crash."""
    there = page.here.service.runners[SAGE.id].assistant
    assert there is not None
    journal = there.context.memory.journal
    assert isinstance(journal, StoredJournal)
    put = "UPDATE events SET state = 'parked', reason = 'it crashed' WHERE id = ?"
    await journal.lease.write(lambda db: db.execute(put, (event,)).rowcount)


async def test_what_was_put_aside_is_cleared_or_tried_again(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        await page.tell("Sage, hello.")
        event = (await page.values("operator", "/runs/run-1"))["heard"][0]["id"]
        path = f"/assistants/{ID}/parked/{quote(event, safe='')}"
        await put_aside(page, event)
        (seen,) = (await page.values("operator", f"/assistants/{ID}"))["parked"]
        assert (seen["event"], "Sage, hello." in seen["heard"]) == (event, True)
        (hidden,) = (await page.values("viewer", f"/assistants/{ID}"))["parked"]
        assert hidden["heard"] == ""
        assert (await page.api("viewer", "POST", f"{path}/clear")).status == 403
        assert (await page.api("operator", "POST", f"{path}/clear")).status == 200
        assert (await page.api("operator", "POST", f"{path}/retry")).status == 404  # it is dealt with
        await page.sage.settled()
        assert page.here.witness.heard == ["Sage: Hello, Ann."]
        await put_aside(page, event)
        assert (await page.api("operator", "POST", f"{path}/retry")).status == 200
        await page.sage.settled()
        assert page.here.witness.heard == ["Sage: Hello, Ann."] * 2
        assert (await page.values("operator", f"/assistants/{ID}"))["parked"] == []


async def test_who_forgets_a_player_and_who_cannot_yet_is_told(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        await page.tell("Sage, hello.")
        nowhere = {"model": {"provider": "local", "url": "http://127.0.0.1:9/v1", "model": "sage"}}
        page.here.service.start(Embodiment(BERTA, page.here.world.add(BERTA)), merged(nowhere))
        path = f"/players/{quote(ANN.id, safe='')}/forget"
        said = orjson.loads((await page.api("owner", "POST", path)).body)["sentence"]
        assert "forget nobody until they do: Berta." in said
        await page.api("operator", "POST", f"/assistants/{ID}/stop")
        said = orjson.loads((await page.api("owner", "POST", path)).body)["sentence"]
        assert "forget nobody until they do: Sage, Berta." in said
