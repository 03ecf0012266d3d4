"""The page of one assistant, and its buttons."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.page.ports import InvalidInput, NotFound
from mud_assistant.assistant.page.values.assistants import AssistantDetail
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.assistant import assistant_page, assistant_routes
from tests.assistant.page.checks import all_of, check_page
from tests.assistant.page.desk import MemoryDesk, ask, call, one_status, visitor
from tests.assistant.page.many import busy_detail

PARTS = {"id": "assistant:12"}


@pytest.mark.parametrize(
    ("form", "done"),
    [
        ({"do": "stop"}, ("stop", "assistant:12")),
        ({"do": "start"}, ("start", "assistant:12")),
        ({"do": "reset"}, ("reset", "assistant:12")),
        ({"do": "forget"}, ("clear_mind", "assistant:12", False)),
        ({"do": "forget_all"}, ("clear_mind", "assistant:12", True)),
        ({"do": "retry", "event": "event:1"}, ("retry_parked", "assistant:12", "event:1", False)),
        ({"do": "clear", "event": "event:1"}, ("retry_parked", "assistant:12", "event:1", True)),
    ],
)
def test_each_button_does_one_thing_and_comes_back(form: dict[str, str], done: tuple[object, ...]) -> None:
    desk = MemoryDesk()
    reply = ask(assistant_routes(desk), call(form=form, parts=PARTS), "/a/{id}")
    assert desk.done == [done]
    assert (reply.status, dict(reply.headers)["Location"].partition("?")[0]) == (303, "/a/assistant%3A12")


def test_a_button_of_the_overview_goes_back_there() -> None:
    reply = ask(assistant_routes(MemoryDesk()), call(form={"do": "stop", "back": "overview"}, parts=PARTS), "/a/{id}")
    assert dict(reply.headers)["Location"].startswith("/?done=")


@pytest.mark.parametrize("form", [{"do": "explode"}, {"do": "retry"}, {"do": "clear", "event": ""}])
def test_other_forms_are_refused(form: dict[str, str]) -> None:
    desk = MemoryDesk()
    with pytest.raises(InvalidInput):
        ask(assistant_routes(desk), call(form=form, parts=PARTS), "/a/{id}")
    assert desk.done == []


def test_one_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound):
        ask(assistant_routes(MemoryDesk()), call(parts=PARTS), "/a/{id}")


def test_all_that_is_known_is_on_the_page() -> None:
    detail = busy_detail(one_status(run="run-12-4", doing="speaking", last_words="Mind the geese."))
    tree = check_page(assistant_page(call(), detail))
    text = all_of(tree, "//main")[0].text_content()
    for each in (
        "Gilded Goose",
        "Mind the geese.",
        "Grumbold",
        "execute_command",
        "env:OPENAI_API_KEY",
        "run-12-3",
        "212",
    ):
        assert each in text
    links = set(all_of(tree, "//main//a/@href"))
    assert {"/runs/run-12-4", "/players/player%3A9", "/a/assistant%3A12/character"} <= links
    assert {
        "/runs?assistant=assistant%3A12",
        "/live?assistant=assistant%3A12",
        "/settings?assistant=assistant%3A12",
    } <= links


def test_this_one_is_stopped_from_the_header_without_a_question() -> None:
    tree = check_page(assistant_page(call(), AssistantDetail(status=one_status())))
    one, every = all_of(tree, "//header//form")
    assert (one.get("action"), every.get("action")) == ("/a/assistant%3A12", "/")
    assert not one.get("data-confirm")
    assert not every.get("data-confirm")


def test_what_was_put_aside_can_be_tried_or_cleared() -> None:
    tree = check_page(assistant_page(call(), busy_detail(one_status())))
    forms = all_of(tree, "//section[@id='parked']//form")
    assert [all_of(form, ".//input[@name='do']/@value")[0] for form in forms] == ["retry", "clear"]
    assert all(all_of(form, ".//input[@name='event']/@value") == ["event:88"] for form in forms)


def test_a_viewer_is_told_that_words_are_not_shown() -> None:
    detail = busy_detail(one_status())
    hidden = tuple(replace(each, heard="") for each in detail.parked)
    body = assistant_page(call(who=visitor(VisitorRole.VIEWER)), replace(detail, parked=hidden))
    assert "not shown to you" in body.decode()
