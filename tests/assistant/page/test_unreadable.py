"""An assistant is shown though its settings or its character cannot be read; when it was last active is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.assistant.page.staged import a_stage, settings_path

pytestmark = pytest.mark.usefixtures("reactor_baseline")
SAGE = "assistant%3A1"


@pytest.mark.parametrize(
    ("broken", "why"),
    [('[assistant]\nmax_steps = "many"\n', "max_steps"), ('[assistant]\ncharacter = "nobody-here"\n', "nobody-here")],
)
async def test_it_is_shown_with_what_is_wrong_and_can_be_mended(tmp_path: Path, broken: str, why: str) -> None:
    async with a_stage(tmp_path, ("Sage",)) as stage:
        client = await stage.client()
        settings_path(tmp_path, "assistant:1").write_text(broken)
        pages = {path: await client.get(path) for path in (f"/a/{SAGE}", f"/settings?assistant={SAGE}")}
        pages["character"] = await client.get(f"/a/{SAGE}/character")
        for path, got in pages.items():
            assert got.status == 200, path
            assert why in got.text, path
        assert "May do" in pages[f"/a/{SAGE}"].text
        assert 'value="preview_set_persona"' in pages["character"].text
        detail = json.loads((await client.get(f"/api/v1/assistants/{SAGE}")).body)
        assert why in detail["troubles"][0]["sentence"]
        assert (await client.get("/a/assistant%3A99")).status == 404


async def test_waiting_and_last_active_are_known_also_of_one_that_was_stopped(tmp_path: Path) -> None:
    async with a_stage(tmp_path, ("Sage", "Oda")) as stage:
        began = stage.day.wall()
        await stage.says("Sage, hello.")
        client = await stage.client()
        await client.submit(f"/a/{SAGE}", do="stop")
        sage, oda = json.loads((await client.get("/api/v1/assistants")).body)
        assert (sage["state"], sage["events_waiting"], oda["events_waiting"]) == ("off", 0, 0)
        assert began <= sage["last_at"] <= stage.day.wall()
        assert oda["last_at"] is None or oda["last_at"] <= sage["last_at"]
