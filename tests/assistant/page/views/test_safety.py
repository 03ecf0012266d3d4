"""What strangers write stays text on each page, and each page can be used by everybody."""

from __future__ import annotations

from typing import TypeVar

import pytest
from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.page.ports import NotFound
from mud_assistant.assistant.page.values.assistants import AssistantDetail, Overview
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.assistant import assistant_page
from mud_assistant.assistant.page.views.door import error_page_for, login_page
from mud_assistant.assistant.page.views.live import live_page
from mud_assistant.assistant.page.views.overview import overview_page
from tests.assistant.page.checks import HOSTILE, all_of, check_page
from tests.assistant.page.desk import call, visitor
from tests.assistant.page.many import busy_detail, busy_overview

V = TypeVar("V", bound=Struct)


def spoil(value: V, text: str) -> V:
    """Put `text` into every text of a value but for times and numbers, as if strangers had chosen them all."""

    def over(each: object) -> object:
        if isinstance(each, Struct):
            return spoil(each, text)
        if isinstance(each, tuple):
            return tuple(over(one) for one in each)
        return text if isinstance(each, str) else each

    return replace(value, **{name: over(getattr(value, name)) for name in value.__struct_fields__})


def pages(
    overview: Overview, detail: AssistantDetail, prefix: str, role: VisitorRole = VisitorRole.OWNER
) -> dict[str, bytes]:
    asked = call(prefix=prefix, who=visitor(role), query={"q": "", "assistant": detail.status.id})
    return {
        "overview": overview_page(asked, overview),
        "assistant": assistant_page(asked, detail),
        "live": live_page(asked, overview),
        "error": error_page_for(prefix)(asked, NotFound(detail.status.name)),
    }


@pytest.mark.parametrize("prefix", ["", "/assistants"])
@pytest.mark.parametrize("role", list(VisitorRole))
def test_every_page_can_be_used_by_keyboard_and_reader(prefix: str, role: VisitorRole) -> None:
    overview = busy_overview(12)
    for body in pages(overview, busy_detail(overview.assistants[0]), prefix, role).values():
        check_page(body, prefix=prefix)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_strangers_chose_stays_text(text: str) -> None:
    overview = spoil(busy_overview(3), text)
    for name, body in pages(overview, spoil(busy_detail(overview.assistants[0]), text), "").items():
        tree = check_page(body)
        assert not all_of(tree, "//img"), name
        for odd in ("\u202e", "\u2066", "\u200b", "\x00", "\x1b", "\ufeff"):
            assert odd not in body.decode(), name


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_stranger_is_shown_stays_text(text: str) -> None:
    check_page(login_page(message=text), is_stranger=True)
    check_page(error_page_for("/assistants")(None, NotFound(text)), prefix="/assistants", is_stranger=True)


def test_names_of_strangers_are_shown_as_they_are() -> None:
    overview = spoil(busy_overview(1), HOSTILE[0])
    tree = check_page(overview_page(call(), overview))
    assert HOSTILE[0] in all_of(tree, "//section[@id='assistants']//tbody//th")[0].text_content()


def test_the_log_in_has_a_form_that_works_without_script() -> None:
    tree = check_page(login_page("/runs"), is_stranger=True)
    (form,) = all_of(tree, "//form[@id='login']")
    assert (form.get("method"), form.get("action")) == ("post", "/login")
    assert all_of(form, ".//input/@name") == ["next", "token"]
    assert all_of(form, ".//input[@name='next']/@value") == ["/runs"]
