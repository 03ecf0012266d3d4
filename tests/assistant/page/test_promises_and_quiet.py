"""What was promised and why something was done unasked is shown, and an operator drops it, or lets all be quiet."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import orjson
import pytest

from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from tests.assistant.living import ANN, SAGE, promise
from tests.assistant.page.served import served

pytestmark = pytest.mark.usefixtures("reactor_baseline")
ID = quote(SAGE.id, safe="")
OPEN = Goal("g.0", GoalKind.REMIND, "remind you at dawn: the bread", ANN, 1.0, what="the bread", due=10**12)
PRIVATE = Goal("g.1", GoalKind.REMIND, "hide the key", ANN, 2.0, audience=frozenset({ANN.id}), due=10**12)
OVER = Goal("g.2", GoalKind.CHORE, "mind the fire", ANN, 3.0, state=GoalState.DONE, evidence="it was done there")


async def test_promises_are_shown_and_dropped(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        assert page.sage.assistant is not None
        await promise(page.sage.assistant, OPEN, PRIVATE, OVER)
        life = (await page.values("operator", f"/assistants/{ID}"))["life"]
        shown = [(one["number"], one["text"], one["state"], one["why"]) for one in life["promises"]]
        assert shown == [
            (1, OPEN.text, "open", ""),
            (2, "(in private)", "open", ""),
            (0, OVER.text, "done", OVER.evidence),
        ]
        hidden = (await page.values("viewer", f"/assistants/{ID}"))["life"]
        assert {(one["text"], one["asker"]) for one in hidden["promises"]} == {("", "")}
        path = f"/assistants/{ID}/promises/{OPEN.id}/drop"
        assert (await page.api("viewer", "POST", path)).status == 403
        assert (await page.api("operator", "POST", path)).status == 200
        assert (await page.api("operator", "POST", path)).status == 404
        await page.log_in()
        document = (await page.visiting.get(f"/a/{ID}")).text
        assert "Promises and initiative" in document
        assert "the owner dropped it" in document
        assert "hide the key" not in document
        await page.visiting.submit(f"/a/{ID}", {"do": "drop", "promise": PRIVATE.id})
        await page.api("operator", "POST", f"/assistants/{ID}/stop")
        life = (await page.values("operator", f"/assistants/{ID}"))["life"]
        assert [one["state"] for one in life["promises"]] == ["done", "dropped", "dropped"]


async def test_what_its_owner_lets_it_do_is_shown_with_the_reason_of_each_deed(tmp_path: Path) -> None:
    async with served(tmp_path, settings={"assistant": {"autonomous": ["move", "drop"]}}) as page:
        assert page.sage.assistant is not None
        reasons = page.sage.assistant.context.memory.reasons
        reasons.note(1.0, "move south", "its owner lets it", taken=True)
        life = (await page.values("viewer", f"/assistants/{ID}"))["life"]
        assert life["autonomous"] == ["drop", "move"]
        assert (life["reasons"][0]["what"], life["reasons"][0]["why"]) == ("move south", "its owner lets it")
        await page.log_in()
        document = (await page.visiting.get(f"/a/{ID}")).text
        assert "Autonomous: it may drop, move of its own accord." in document
        assert "its owner lets it" in document


async def test_what_impulses_would_cost_is_estimated(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        await page.tell("Sage, hello.")
        found = await page.values("operator", f"/assistants/{ID}/plan?price=2")
        assert f"{found['tokens']:,} tokens" in found["sentence"]
        assert found["money"] == pytest.approx(found["tokens"] * 2 / 1_000_000)
        assert (await page.api("operator", "GET", f"/assistants/{ID}/plan?price=-1")).status == 422
        assert (await page.api("viewer", "GET", f"/assistants/{ID}/plan")).status == 403
        await page.log_in()
        there = (await page.visiting.submit(f"/a/{ID}", {"do": "plan"})).headers["location"]
        assert "in a month like the last 7 days Sage would think" in (await page.visiting.get(there)).text


async def test_one_or_all_are_quiet_or_away(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        assert (await page.api("viewer", "POST", "/quiet-all", {"on": True})).status == 403
        said = orjson.loads((await page.api("operator", "POST", "/quiet-all", {"on": True})).body)["sentence"]
        assert "All assistants do nothing of their own accord" in said
        assert (await page.values("viewer", "/overview"))["quiet"] is True
        assert page.sage.assistant is not None
        await page.sage.assistant.initiative.look()
        life = (await page.values("viewer", f"/assistants/{ID}"))["life"]
        assert (life["still"], life["quiet"]) == ("its owner wants quiet of everybody", False)
        assert [(one["what"], one["taken"], one["why"]) for one in life["reasons"]] == [
            ("initiative", False, "its owner wants quiet of everybody")
        ]
        await page.log_in()
        assert "End quiet" in (await page.visiting.get("/")).text
        await page.visiting.submit("/", {"do": "loud"})
        for do, field in (("quiet", "quiet"), ("away", "away")):
            await page.visiting.submit(f"/a/{ID}", {"do": do})
            assert (await page.values("viewer", f"/assistants/{ID}"))["life"][field] is True
        for do in ("loud", "back"):
            await page.visiting.submit(f"/a/{ID}", {"do": do})
        life = (await page.values("viewer", f"/assistants/{ID}"))["life"]
        assert (life["quiet"], life["away"], life["still"]) == (False, False, "")
        assert "not done" in (await page.visiting.get(f"/a/{ID}")).text
