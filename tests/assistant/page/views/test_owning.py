"""Settings, character and players: what was typed survives a refusal, and nothing is kept without a second step."""

from __future__ import annotations

import pytest
from lxml.html import FormElement, HtmlElement, document_fromstring

from mud_assistant.assistant.config.options import shown_options, web_options
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.page.http.call import PageCall, Reply
from mud_assistant.assistant.page.ports import InvalidInput, NotAllowed, NotFound, Visitor
from mud_assistant.assistant.page.values.actions import PlayerView, SettingChange, SettingChanged
from mud_assistant.assistant.page.values.assistants import SettingLine
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.control import routes
from mud_assistant.assistant.page.views.control.setting_card import is_model
from mud_assistant.assistant.page.views.control.settings import GROUPS, group_of
from tests.assistant.page.desk import MemoryDesk, ask, call, visitor
from tests.assistant.page.views.stocked import character, settings, stocked

KEY = "sk-planted-0123456789abcdef"
CHARACTER = "/a/{id}/character"


def parsed(reply: Reply) -> HtmlElement:
    return document_fromstring(reply.body.decode())


def show(desk: MemoryDesk, asked: PageCall, pattern: str = "/settings") -> HtmlElement:
    return parsed(ask(routes(desk), asked, pattern))


def form_with(page: HtmlElement, **fields: str) -> FormElement:
    (found,) = [each for each in page.forms if fields.items() <= dict(each.fields).items()]
    return found


def send(desk: MemoryDesk, fields: dict[str, str], pattern: str = "/settings", **parts: str) -> Reply:
    return ask(routes(desk), call("/", form=fields, parts=parts), pattern)


class Picky(MemoryDesk):
    """A desk that takes no change."""

    async def change_setting(self, who: Visitor, assistant: str, change: SettingChange) -> SettingChanged:
        raise InvalidInput("loop.max_steps is a number from 1 to 10.")


def picky() -> Picky:
    return Picky(overview_value=stocked().overview_value, setting_values={"": settings(), "assistant:12": settings()})


def test_a_setting_is_changed_where_the_form_was() -> None:
    desk = stocked()
    page = show(desk, call("/settings", query={"assistant": "assistant:12", "q": "steps"}))
    fields = {**form_with(page, option="loop.max_steps").fields, "value": "7", "do": "change"}
    reply = send(desk, fields)
    assert desk.done == [("change_setting", "assistant:12", SettingChange(option="loop.max_steps", value="7"))]
    assert dict(reply.headers)["Location"].startswith("/settings?assistant=assistant%3A12&q=steps&")


def test_a_setting_is_taken_back() -> None:
    desk = stocked()
    send(desk, {"option": "provider.model", "value": "other", "do": "reset"})
    assert desk.done == [("change_setting", "", SettingChange(option="provider.model", value=""))]


def test_a_model_can_be_forced() -> None:
    desk = stocked()
    page = show(desk, call("/settings"))
    assert "asked a short question first" in page.text_content()
    fields = {**form_with(page, option="provider.model").fields, "value": "x", "do": "change", "force": "yes"}
    send(desk, fields)
    assert desk.done == [("change_setting", "", SettingChange(option="provider.model", value="x", force=True))]
    assert "force" not in form_with(page, option="loop.max_steps").fields
    assert [is_model(name) for name in ("model.temperature", "web.search_provider", "model.url")] == [
        False,
        False,
        True,
    ]


def test_a_refused_change_keeps_what_was_typed_beside_the_reason() -> None:
    reply = send(picky(), {"option": "loop.max_steps", "value": "eleven", "do": "change", "q": "budget"})
    assert reply.status == 422
    page = parsed(reply)
    form = form_with(page, option="loop.max_steps")
    assert form.fields["value"] == "eleven"
    assert form.find_class("field-error")[0].text_content() == "loop.max_steps is a number from 1 to 10."
    assert form.getparent().getparent().get("open") is not None
    assert form_with(page, option="budget.daily_money").find_class("field-error") == []


def test_a_key_is_neither_sent_on_nor_shown_again() -> None:
    desk = stocked()
    reply = send(desk, {"option": "provider.api_key", "value": KEY, "do": "change"})
    assert reply.status == 422
    assert desk.done == []
    assert KEY.encode() not in reply.body
    assert "Give a reference and never the key itself" in parsed(reply).text_content()
    send(desk, {"option": "provider.api_key", "value": "env:OTHER_KEY", "do": "change"})
    assert desk.done == [("change_setting", "", SettingChange(option="provider.api_key", value="env:OTHER_KEY"))]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"q": "MONEY"}, ["budget.daily_money"]),
        ({"q": "thinks with"}, ["provider.model"]),
        ({"q": "steps", "set": "yes"}, []),
        ({"set": "yes", "q": "provider"}, ["provider.model", "provider.api_key"]),
    ],
)
def test_settings_are_searched(query: dict[str, str], names: list[str]) -> None:
    page = show(stocked(), call("/settings", query=query))
    assert [each.xpath(".//h3")[0].text_content() for each in page.find_class("setting")] == names


def test_settings_stand_in_groups_that_fold_and_open_where_something_is_sought_or_was_refused() -> None:
    def groups(page: HtmlElement) -> dict[str, bool]:
        return {
            each.xpath(".//h2")[0].text_content(): each.get("open") is not None for each in page.find_class("group")
        }

    lines = [
        SettingLine(name=name, value="1", meaning="", set_by="default", default="1", allowed="", example="")
        for name in ("model.provider", "model.warm", "model.title", "persona", "max_steps", "web.ports", "budget.total")
    ]
    desk = MemoryDesk(overview_value=stocked().overview_value, setting_values={"assistant:12": lines})
    page = show(desk, call("/settings", query={"assistant": "assistant:12"}))
    assert groups(page) == dict.fromkeys(
        [
            "Which model thinks", "Who it is", "What it may cost", "How long it may think",
            "How long its server is waited for", "What only some models take", "The web",
        ],
        False,
    )  # fmt: skip
    assert "/a/assistant%3A12/model" in [each.get("href") for each in page.iter("a")]
    assert "model.provider" not in [form.fields.get("option") for form in page.forms]
    page = show(desk, call("/settings", query={"assistant": "assistant:12", "q": "max_steps"}))
    assert groups(page) == {"How long it may think": True}
    picky = Picky(overview_value=desk.overview_value, setting_values=desk.setting_values)
    reply = send(picky, {"option": "persona", "value": "x", "do": "change", "assistant": "assistant:12"})
    assert [name for name, is_open in groups(parsed(reply)).items() if is_open] == ["Who it is"]


def test_every_setting_has_a_group_and_every_name_in_a_group_is_a_setting() -> None:
    names = {one.name for one in (*shown_options(Config(), {}), *web_options(Config(), {}))}
    named = {name for group in GROUPS.values() for name in group if not name.endswith(".")} - {"budget"}
    assert named <= names
    assert {group_of(name) for name in names - {one.name for one in web_options(Config(), {})}} <= GROUPS.keys()


def test_only_an_owner_changes_settings() -> None:
    operator = visitor(VisitorRole.OPERATOR)
    page = show(stocked(), call("/settings", who=operator))
    assert [form for form in page.forms if "option" in form.fields] == []
    with pytest.raises(NotAllowed):
        ask(routes(stocked()), call("/settings", who=operator, form={"do": "change"}), "/settings")


def edit(desk: MemoryDesk, **fields: str) -> Reply:
    return send(desk, fields, CHARACTER, id="assistant:12")


def step(desk: MemoryDesk, **fields: str) -> HtmlElement:
    reply = edit(desk, **fields)
    assert reply.status == 200
    return parsed(reply)


def test_a_persona_is_shown_before_it_is_kept() -> None:
    desk = stocked()
    page = step(desk, do="preview_set_persona", persona="Keeps a mill.\r\nHums.")
    assert desk.done == []
    assert page.xpath("//pre")[0].text_content() == "Keeps a mill.\nHums."
    reply = edit(desk, **form_with(page, do="set_persona").fields)
    assert reply.status == 303
    assert desk.done == [("set_persona", "assistant:12", "Keeps a mill.\nHums.")]


def test_going_back_keeps_what_was_typed() -> None:
    desk = stocked()
    page = step(desk, do="preview_add_lore", title="The mill", keys="mill, miller", text="It burned down.")
    page = step(desk, **form_with(page, do="edit_add_lore").fields)
    form = form_with(page, do="preview_add_lore")
    assert (form.fields["title"], form.fields["keys"]) == ("The mill", "mill, miller")
    assert form.fields["text"] == "It burned down."
    assert desk.done == []


def test_lore_is_added_with_its_keys() -> None:
    desk = stocked()
    page = step(desk, do="preview_add_lore", title="The mill", keys="mill, ,miller", text="It burned down.")
    assert "Brought up by: mill, miller." in page.text_content()
    edit(desk, **form_with(page, do="add_lore").fields)
    assert desk.done == [("add_lore", "assistant:12", "The mill", ("mill", "miller"), "It burned down.")]


def test_lore_is_deleted_after_a_second_look() -> None:
    desk = stocked()
    page = show(desk, call("/", parts={"id": "assistant:12"}), CHARACTER)
    deletes = [form for form in page.forms if form.fields.get("do") == "preview_delete_lore"]
    assert [form.fields["number"] for form in deletes] == ["2", "3"]  # the first stands in a file
    page = step(desk, **deletes[0].fields)
    assert desk.done == []
    edit(desk, **form_with(page, do="delete_lore").fields)
    assert desk.done == [("delete_lore", "assistant:12", 2)]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"do": "delete_lore", "number": "2", "title": "Another"}, 409),
        ({"do": "delete_lore", "number": "99", "title": "The lamp"}, 409),
        ({"do": "delete_lore", "number": "1", "title": "The toll bridge"}, 422),
        ({"do": "add_lore", "title": "The mill", "text": " "}, 422),
        ({"do": "set_persona", "persona": " "}, 422),
        ({"do": "burn"}, 422),
    ],
)
def test_what_cannot_be_kept_is_said_and_not_done(fields: dict[str, str], status: int) -> None:
    desk = stocked()
    assert edit(desk, **fields).status == status
    assert desk.done == []


def test_a_line_is_tried_by_a_search() -> None:
    page = show(stocked(), call("/", parts={"id": "assistant:12"}, query={"line": "Who took the lamp?"}), CHARACTER)
    brought = page.get_element_by_id("line")
    assert [each.text_content() for each in brought.xpath(".//tbody//th")] == ["2"]
    assert brought.xpath(".//input")[0].get("value") == "Who took the lamp?"


def test_an_operator_only_looks_at_a_character() -> None:
    asked = call("/", who=visitor(VisitorRole.OPERATOR), parts={"id": "assistant:12"})
    page = show(stocked(), asked, CHARACTER)
    assert character().persona in page.text_content()
    assert [form.action for form in page.forms if form.fields.get("do", "stop") not in {"stop", "log_out"}] == []


def forget(desk: MemoryDesk, **fields: str) -> Reply:
    return send(desk, fields, "/players/{id}", id="account:4")


def test_a_player_is_forgotten_after_a_second_look() -> None:
    desk = stocked()
    page = show(desk, call("/", parts={"id": "account:4"}), "/players/{id}")
    (way,) = [each.get("href") for each in page.iter("a") if each.text_content().startswith("Forget")]
    assert way == "/players/account%3A4?forget=1"
    page = show(desk, call("/", parts={"id": "account:4"}, query={"forget": "1"}), "/players/{id}")
    form = form_with(page, do="forget")
    reply = forget(desk, csrf=form.fields["csrf"], do="forget")
    assert (reply.status, desk.done) == (422, [])
    reply = forget(desk, do="forget", sure="yes")
    assert (reply.status, desk.done) == (303, [("forget_player", "account:4")])


def test_a_player_who_is_gone_after_being_forgotten_is_no_error_page() -> None:
    desk = MemoryDesk()
    asked = call("/", parts={"id": "account:4"}, query={"done": "Forgotten.", "proof": "x"})
    reply = ask(routes(desk), asked, "/players/{id}")
    assert "Nothing is kept of this player." in parsed(reply).text_content()
    with pytest.raises(NotFound):
        ask(routes(desk), call("/", parts={"id": "account:4"}), "/players/{id}")


def test_only_an_owner_is_offered_to_forget() -> None:
    desk = stocked()
    desk.players["account:4"] = PlayerView(id="account:4", name="Mira")
    page = show(desk, call("/", who=visitor(VisitorRole.OPERATOR), parts={"id": "account:4"}), "/players/{id}")
    assert "Only an owner may do it." in page.text_content()
