"""Approvals by the page: exactly what was shown, once or for an hour, by somebody who could do it themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from tests.assistant.living import SAGE
from tests.assistant.page.served import Served, served

pytestmark = pytest.mark.usefixtures("reactor_baseline")
PATH = "/approvals/assistant%3A1"
#: Moving takes the permission of a helper here, which Ann does not have.
NEEDS = {"assistant": {"required_permission": {"move": 2}, "permission": 5, "go_home_minutes": 0}}


def moves(request: RecordedRequest) -> Step:
    if request.messages[-1]["role"] == "tool":
        return Reply(calls=(Call("say", {"text": "So it is."}),))
    return Reply(calls=(Call("move", {"direction": "south"}),))


async def asked(page: Served) -> Any:
    """What waits once Ann has asked for it."""
    await page.tell("Sage, go south!")
    (waiting,) = await page.values("operator", "/approvals")
    return waiting


async def decide(page: Served, waiting: Any, role: str = "operator", **changes: Any) -> Any:
    body = {"allow": True, "digest": waiting["digest"], **changes}
    got = await page.api(role, "POST", f"{PATH}/{waiting['number']}", body)
    return got.status, orjson.loads(got.body)


async def test_what_is_shown_is_allowed_and_run_once(tmp_path: Path) -> None:
    async with served(tmp_path, moves, NEEDS) as page:
        waiting = await asked(page)
        assert (waiting["tool"], waiting["arguments"], waiting["requester"]) == ("move", '{"direction":"south"}', "Ann")
        assert 290 < waiting["expires_in"] <= 300
        (hidden,) = await page.values("viewer", "/approvals")
        assert (hidden["arguments"], hidden["shown"], hidden["because"]) == ("", "", "")
        assert (await decide(page, waiting, digest="0" * 64))[0] == 409
        assert (await decide(page, waiting, digest=""))[0] == 409
        assert (await decide(page, waiting, lasts="for ever"))[0] == 422
        assert page.here.home.room.key == "library"
        assert (await decide(page, waiting))[0] == 200
        status, late = await decide(page, waiting)
        assert (status, late["title"]) == (409, "Already decided")
        await page.here.service.runners[SAGE.id].settled()
        assert page.here.home.room.key == "square"
        assert await page.values("operator", "/approvals") == []
        page.here.home.room = page.here.world.rooms["library"]
        assert (await asked(page))["number"] == 2


async def test_what_is_refused_is_not_done(tmp_path: Path) -> None:
    async with served(tmp_path, moves, NEEDS) as page:
        assert (await decide(page, await asked(page), allow=False))[0] == 200
        await page.here.service.runners[SAGE.id].settled()
        assert page.here.home.room.key == "library"
        assert await page.values("operator", "/approvals") == []


async def test_what_is_allowed_for_an_hour_is_done_again_until_it_is_ended(tmp_path: Path) -> None:
    async with served(tmp_path, moves, NEEDS) as page:
        runner = page.here.service.runners[SAGE.id]
        assert (await decide(page, await asked(page), lasts="hour"))[0] == 200
        await runner.settled()
        for _ in range(2):
            assert page.here.home.room.key == "square"
            page.here.home.room = page.here.world.rooms["library"]
            await page.tell("Sage, go south!")
        (standing,) = await page.values("operator", "/standing")
        assert (standing["tool"], standing["approved_by"], standing["requester"]) == ("move", "operator", "Ann")
        (hidden,) = await page.values("viewer", "/standing")
        assert (hidden["number"], standing["shown"] != "", hidden["shown"]) == (standing["number"], True, "")
        assert (await page.api("viewer", "DELETE", "/standing/assistant%3A1/1")).status == 403
        assert (await page.api("operator", "DELETE", "/standing/assistant%3A1/1")).status == 200
        page.here.home.room = page.here.world.rooms["library"]
        assert (await asked(page))["number"] == 2


async def test_the_page_shows_what_was_allowed_for_an_hour_and_ends_it(tmp_path: Path) -> None:
    async with served(tmp_path, moves, NEEDS) as page:
        assert (await decide(page, await asked(page), lasts="hour"))[0] == 200
        await page.log_in()
        assert "Allowed for an hour" in (await page.visiting.get("/approvals")).text
        revoked = {"do": "revoke", "assistant": SAGE.id, "number": "1"}
        assert (await page.visiting.submit("/approvals", {**revoked, "number": "x"})).status == 422
        assert (await page.visiting.submit("/approvals", revoked)).status == 303
        assert "Allowed for an hour" not in (await page.visiting.get("/approvals")).text
        assert await page.values("operator", "/standing") == []


async def test_an_emergency_stop_ends_what_was_allowed_for_an_hour(tmp_path: Path) -> None:
    async with served(tmp_path, moves, NEEDS) as page:
        assert (await decide(page, await asked(page), lasts="hour"))[0] == 200
        await page.api("operator", "POST", "/stop-all")
        await page.api("operator", "POST", "/assistants/assistant%3A1/start")
        assert await page.values("operator", "/standing") == []


async def test_who_could_not_do_it_themselves_is_refused(tmp_path: Path) -> None:
    needs = {"assistant": {**NEEDS["assistant"], "required_permission": {"move": 5}}}
    async with served(tmp_path, moves, needs) as page:
        waiting = await asked(page)
        assert (await decide(page, waiting))[0] == 403
        assert page.here.home.room.key == "library"
        assert (await decide(page, waiting, role="owner"))[0] == 200
