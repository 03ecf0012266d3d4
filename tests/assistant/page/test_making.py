"""What an owner tries out by the page: another model, a card, a few lines; over the whole page and the API."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import orjson
import pytest
from lxml.html import HtmlElement, document_fromstring

from mud_assistant.assistant.page.operations import servers
from mud_assistant.llm.testing import Call, FakeChat, FakeOllama, HttpError, RecordedRequest, Reply, Step, serve
from tests.assistant.living import SAGE, reactor
from tests.assistant.page.http.visiting import Got
from tests.assistant.page.served import PLANTED, Served, served

MODEL = "/a/assistant%3A1/model"
TALK = "/a/assistant%3A1/talk"


def calls(request: RecordedRequest) -> Step:
    """A model that greets when it is tested, and speaks otherwise."""
    if any("greet" in str(tool) for tool in request.tools):
        return Reply(calls=(Call("greet", {"name": "Anna"}),))
    return Reply(calls=(Call("say", {"text": "The lamps are lit."}),))


async def tried(page: Served, **wanted: object) -> tuple[int, Any]:
    """What the API answers to a change of the model."""
    got = await page.api("owner", "PATCH", "/assistants/assistant%3A1/model", wanted)
    return got.status, orjson.loads(got.body)


def kept(page: Served) -> dict[str, Any]:
    """The model in the file of settings."""
    return tomllib.loads(page.file.path.read_text()).get("model", {}) if page.file.path.exists() else {}


async def test_a_model_is_tested_whole_and_only_then_kept(tmp_path: Path) -> None:
    other = FakeChat(reactor, calls, "another-key", models=["owl"])
    async with serve(other, reactor) as url, served(tmp_path, calls) as page:
        (tmp_path / "key").write_text("another-key")
        (tmp_path / "key").chmod(0o600)
        wanted = {"provider": "local", "url": f"{url}/v1", "model": "owl", "key": "file:key"}
        status, found = await tried(page, **wanted)
        assert (status, found["kept"]) == (200, False)
        assert {one["state"] for one in found["findings"]} <= {"ok", "unknown"}
        assert [one["check"] for one in found["findings"]][:4] == [
            "model key", "model server", "model key accepted", "model name",
        ]  # fmt: skip
        assert kept(page) == {}
        status, found = await tried(page, **wanted, keep=True)
        assert (status, found["kept"]) == (200, True)
        assert kept(page) == wanted
        await page.here.service.runners[SAGE.id].settled()
        other.requests.clear()
        await page.tell("Sage, hello")
        assert [chat.authorization for chat in other.chats] == ["Bearer another-key"]


async def test_what_is_wrong_with_a_model_is_said_and_nothing_is_kept(tmp_path: Path) -> None:
    other = FakeChat(reactor, lambda _: HttpError(500, "out of order"), "right", models=["owl"])
    async with serve(other, reactor) as url, served(tmp_path, calls) as page:
        for wanted, why in (
            ({"provider": "local", "url": f"{url}/v1", "model": "owl"}, "wants a key"),
            ({"provider": "ollama", "url": f"{url}/v1"}, "wants a key"),
            ({"provider": "openai", "model": "gpt-4o"}, "needs a key"),
            ({"provider": "ollama", "url": "https://api.openai.com/v1"}, "is the address of the provider 'openai'"),
            ({"provider": "local", "url": "http://127.0.0.1:1/v1", "model": "owl"}, "cannot connect"),
        ):
            status, found = await tried(page, **wanted, keep=True)
            assert (status, found["kept"]) == (200, False)
            assert any(why in one["sentence"] for one in found["findings"] if one["state"] == "wrong"), found
        assert kept(page) == {}
        status, problem = await tried(page, provider="olama", keep=True)
        assert (status, "kept" in problem and problem["kept"]) != (200, True)
        status, found = await tried(page, provider="local", url=f"{url}/v1", model="owl", force=True)
        assert (status, found["kept"], found["findings"]) == (200, True, [])
        assert kept(page) == {"provider": "local", "url": f"{url}/v1", "model": "owl"}
        assert (
            await page.api("operator", "PATCH", "/assistants/assistant%3A1/model", {"provider": "auto"})
        ).status == 403


async def test_what_the_new_provider_does_not_take_goes_with_the_old_one(tmp_path: Path) -> None:
    fake = FakeOllama(reactor, calls)
    async with serve(fake, reactor) as url, served(tmp_path, calls) as page:
        page.file.path.write_text("[model]\nprovider = 'ollama'\nkeep_alive = '1h'\ntemperature = 0.5\n")
        status, found = await tried(page, provider="local", url=f"{url}/v1", model="sage", force=True)
        assert (status, found["kept"]) == (200, True)
        assert kept(page) == {"provider": "local", "url": f"{url}/v1", "model": "sage", "temperature": 0.5}


def parsed(got: Got) -> HtmlElement:
    """The document of an answer."""
    return document_fromstring(got.text)


def choices_of(got: Got, name: str) -> list[str]:
    """The values of a list of the page."""
    return [str(one.get("value")) for one in parsed(got).xpath(f"//select[@name='{name}']/option")]


def form_of(got: Got, action: str) -> dict[str, str]:
    """The fields of the form of a page, as a browser would send them back."""
    forms = [form for form in parsed(got).forms if str(form.action).endswith(action)]
    return {name: value or "" for name, value in forms[0].fields.items() if name != "csrf"}


async def test_the_form_has_all_four_with_the_providers_in_a_list_and_shows_what_was_found(tmp_path: Path) -> None:
    async with served(tmp_path, calls) as page:
        await page.log_in()
        shown = await page.visiting.get(MODEL)
        fields = form_of(shown, "/model")
        assert {"provider", "url", "model", "key"} <= fields.keys()
        assert {"auto", "embedded", "ollama", "local", "openai", "anthropic"} <= {*choices_of(shown, "provider")}
        bad = {**fields, "provider": "local", "url": "http://127.0.0.1:1/v1", "model": "owl", "key": "", "do": "keep"}
        got = await page.visiting.submit(MODEL, bad)
        assert (got.status, "cannot connect" in got.text) == (200, True)
        assert form_of(got, "/model")["url"] == "http://127.0.0.1:1/v1"
        assert kept(page) == {}
        got = await page.visiting.submit(MODEL, {**bad, "key": PLANTED})
        assert (got.status, PLANTED in got.text) == (422, False)
        settings = await page.visiting.get("/settings?assistant=assistant%3A1")
        assert "Change it with what belongs to it" in settings.text


async def test_an_owner_says_something_and_reads_the_answer_though_nobody_is_there(tmp_path: Path) -> None:
    async with served(tmp_path, calls) as page:
        await page.log_in()
        got = await page.visiting.submit(TALK, {"text": "Are the lamps lit?"})
        assert got.status == 303
        shown = (await page.visiting.get(TALK)).text
        assert "Are the lamps lit?" in shown
        assert "The lamps are lit." in shown
        (run,) = (await page.values("owner", "/runs"))["runs"]
        assert (run["said"], run["outcome"]) == ("The lamps are lit.", "answered")
        assert page.here.service.runners[SAGE.id].guests == set()
        assert (await page.visiting.submit(TALK, {"text": "  "})).status == 422
        path = "/assistants/assistant%3A1/say"
        assert (await page.api("operator", "POST", path, {"text": "Hello"})).status == 403
        assert (await page.api("owner", "POST", path, {"text": "Hello"})).status == 200


async def test_a_card_is_shown_before_it_is_imported_and_then_played(tmp_path: Path) -> None:
    card = json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": {
        "name": "Wren", "description": "Wren mends clocks <script>.", "first_mes": "Mind the wheels."}})  # fmt: skip
    async with served(tmp_path, calls) as page:
        await page.log_in()
        folder = page.here.service.config.character_folder
        folder.mkdir(exist_ok=True)
        (folder / "wren2.json").write_text(card.replace("Wren", "Wrenna"))
        shown = await page.visiting.get("/new")
        assert "wren2.json" in choices_of(shown, "file")
        got = await page.visiting.submit("/new", {"do": "read", "card": card})
        assert (got.status, "Wren mends clocks" in got.text, "<script>." in got.text) == (200, True, False)
        assert not (folder / "Wren").exists()
        got = await page.visiting.submit("/new", {"do": "import", "card": card, "as": "wrenny"})
        assert got.status == 303
        assert (folder / "wrenny").exists()
        assert "wrenny" in (await page.values("owner", "/cards"))["characters"]
        assert (await page.visiting.submit("/new", {"do": "import", "card": card, "as": "wrenny"})).status == 422
        both = {"do": "read", "card": card, "file": "wren2.json"}
        assert (await page.visiting.submit("/new", both)).status == 422
        assert (await page.visiting.submit("/new", {"do": "read", "file": "../../etc/passwd"})).status == 422
        got = await page.visiting.submit("/new", {"do": "import", "file": "wren2.json", "as": "wrenna"})
        assert (got.status, (folder / "wrenna").exists()) == (303, True)


async def test_outside_a_game_no_assistant_is_made_and_the_page_says_where(tmp_path: Path) -> None:
    async with served(tmp_path, calls) as page:
        await page.log_in()
        got = await page.visiting.submit("/new", {"do": "create", "name": "Mira", "persona": "You are Mira."})
        assert (got.status, "[worker] assistants" in got.text) == (422, True)
        assert (await page.api("operator", "POST", "/assistants", {"name": "Mira"})).status == 403


async def test_a_server_that_nobody_thinks_with_any_more_leaves_the_overview_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = FakeChat(reactor, calls, models=["owl"])
    async with serve(other, reactor) as url, served(tmp_path, calls) as page:
        await page.tell("Sage, hello")
        (before,) = (await page.values("viewer", "/overview"))["servers"]
        status, found = await tried(page, provider="local", url=f"{url}/v1", model="owl", keep=True)
        assert (status, found["kept"]) == (200, True)
        await page.here.service.runners[SAGE.id].settled()
        await page.tell("Sage, hello again")
        shown = [one["origin"] for one in (await page.values("viewer", "/overview"))["servers"]]
        assert sorted(shown) == sorted([before["origin"], url])
        monkeypatch.setattr(servers, "SHOWN_SECONDS", 0.0)
        (left,) = (await page.values("viewer", "/overview"))["servers"]
        assert left["origin"] == url
        (of_one,) = (await page.values("viewer", "/assistants/assistant%3A1"))["servers"]
        assert of_one["origin"] == url
