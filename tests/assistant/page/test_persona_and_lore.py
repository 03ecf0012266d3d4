"""Who an assistant outside games is, and what it knows, by the API: the same is checked and said as in a game."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.assistant.page.served import Served, served

pytestmark = pytest.mark.usefixtures("reactor_baseline")
_OF = "/assistants/assistant%3A1"
CHARACTER = f"{_OF}/character"
LORE = f"{_OF}/lore"
MILL = {"title": "The mill", "keys": ["mill", "old wheel"], "text": "It burned down."}


async def send(page: Served, method: str, path: str, body: object = None, role: str = "owner") -> tuple[int, str]:
    """The status, and the sentence of what was done or refused."""
    got = await page.api(role, method, path, body)
    answer: dict[str, Any] = orjson.loads(got.body)
    return got.status, str(answer.get("sentence") or answer.get("detail"))


async def test_it_plays_a_character_or_is_who_the_words_say(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        status, said = await send(page, "PATCH", CHARACTER, {"text": "librarian"})
        assert (status, said.partition(",")[0]) == (200, "Sage plays librarian from now on")
        assert 'character = "librarian"' in page.file.path.read_text()
        shown = await page.values("viewer", CHARACTER)
        assert (shown["character"], bool(shown["lore"])) == ("librarian", True)
        assert (await send(page, "DELETE", f"{LORE}/1"))[0] == 422
        status, said = await send(page, "PATCH", CHARACTER, {"text": "wizzard"})
        assert (status, "There is no character 'wizzard'" in said) == (422, True)
        assert (await send(page, "PATCH", CHARACTER, {"text": "You bake."}, "operator"))[0] == 403
        said = (await send(page, "PATCH", CHARACTER, {"text": "You bake bread."}))[1]
        assert said == "Sage: You bake bread.\nlibrarian is played no more."
        shown = await page.values("viewer", CHARACTER)
        assert (shown["character"], shown["persona"]) == ("", "You bake bread.")


async def test_a_key_is_taken_in_no_setting_and_never_repeated(tmp_path: Path) -> None:
    planted = "sk-another-0123456789abcdef0123456789"
    async with served(tmp_path) as page:
        for path, body in (
            (f"{_OF}/settings", {"option": "model.model", "value": planted, "force": True}),
            (f"{_OF}/settings", {"option": "model.key", "value": planted, "force": True}),
            (f"{_OF}/model", {"provider": "local", "model": planted, "force": True}),
        ):
            status, said = await send(page, "PATCH", path, body)
            assert (status, planted in said, "A key is never typed out here" in said) == (422, False, True)
        assert not page.file.path.exists()


async def test_lore_is_added_shown_tried_and_deleted(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        status, said = await send(page, "POST", LORE, MILL)
        assert (status, "The mill stands in characters/sage/lore/added.md" in said) == (200, True)
        assert "who Sage is was written to characters/sage, which it plays from now on" in said
        for wrong in ({"keys": ["a, b"]}, {"title": " "}, {"text": " "}):
            assert (await send(page, "POST", LORE, {**MILL, **wrong}))[0] == 422
        (piece,) = (await page.values("viewer", CHARACTER))["lore"]
        assert (piece["number"], piece["title"], piece["keys"], piece["own"]) == (1, "The mill", MILL["keys"], True)
        brought = await page.values("viewer", f"{LORE}/preview?line=Who%20has%20the%20mill")
        assert (brought["pieces"], brought["text"]) == ([piece], "It burned down.")
        assert (await page.values("viewer", f"{LORE}/preview?line=Hello"))["pieces"] == []
        assert (await send(page, "DELETE", f"{LORE}/2"))[0] == 422
        status, said = await send(page, "DELETE", f"{LORE}/1")
        assert (status, "Deleted: The mill" in said, "1 assistant took it up." in said) == (200, True, True)
        assert (await page.values("viewer", CHARACTER))["lore"] == []
