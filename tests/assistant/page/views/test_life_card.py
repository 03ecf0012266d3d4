"""The card of what an assistant does unasked: promises, reasons, switches; and the button that lets all be quiet."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.page.ports import InvalidInput, NotAllowed
from mud_assistant.assistant.page.values.assistants import AssistantDetail, Overview
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.life_view import LifeView, PromiseLine, ReasonLine
from mud_assistant.assistant.page.views.assistant import assistant_page, assistant_routes
from mud_assistant.assistant.page.views.overview import overview_page, overview_routes
from tests.assistant.page.checks import HOSTILE, all_of, check_page
from tests.assistant.page.desk import NOW, MemoryDesk, ask, call, one_status, visitor

PARTS = {"id": "assistant:12"}
CARD = "//section[@id='life']"


def promise(number: int, state: str = "open", **more: Any) -> PromiseLine:
    usual = {
        "id": f"g.{number}",
        "text": "remind you at dawn: the bread",
        "asker": "Ann",
        "asker_id": "player:1",
        "why": "",
        "made_at": NOW,
    }
    return PromiseLine(number=number, state=state, **{**usual, **more})


def card(life: LifeView, role: VisitorRole = VisitorRole.OWNER) -> Any:
    """The card as a visitor of this role sees it, on a page that is as every page must be."""
    detail = AssistantDetail(status=one_status(), life=life)
    (found,) = all_of(check_page(assistant_page(call(who=visitor(role)), detail)), CARD)
    return found


def buttons(found: Any) -> dict[str, bool]:
    """The buttons of a card by what they do, or by what stands on them when they are off."""
    live = {str(one): True for one in found.xpath(".//form//input[@name='do']/@value")}
    return {**live, **{one.text_content().strip(): False for one in found.xpath(".//button[@disabled]")}}


@pytest.mark.parametrize(
    ("form", "done"),
    [
        ({"do": "drop", "promise": "g.1"}, ("drop", "assistant:12", "g.1")),
        ({"do": "quiet"}, ("quiet", "assistant:12", True)),
        ({"do": "loud"}, ("quiet", "assistant:12", False)),
        ({"do": "away"}, ("away", "assistant:12", True)),
        ({"do": "back"}, ("away", "assistant:12", False)),
        ({"do": "plan"}, ("plan", "assistant:12", "")),
    ],
)
def test_each_button_does_one_thing(form: dict[str, str], done: tuple[object, ...]) -> None:
    desk = MemoryDesk()
    reply = ask(assistant_routes(desk), call(form=form, parts=PARTS), "/a/{id}")
    assert desk.done == [done]
    assert (reply.status, dict(reply.headers)["Location"].partition("?")[0]) == (303, "/a/assistant%3A12")


@pytest.mark.parametrize("form", [{"do": "drop"}, {"do": "drop", "promise": ""}, {"do": "Quiet"}, {}])
def test_other_forms_are_refused(form: dict[str, str]) -> None:
    desk = MemoryDesk()
    with pytest.raises(InvalidInput):
        ask(assistant_routes(desk), call(form=form or {"csrf": "x"}, parts=PARTS), "/a/{id}")
    assert desk.done == []


@pytest.mark.parametrize(("do", "on"), [("quiet", True), ("loud", False)])
def test_all_are_quiet_by_one_button(do: str, on: bool) -> None:
    desk = MemoryDesk()
    ask(overview_routes(desk), call(form={"do": do}), "/")
    assert desk.done == [("quiet", "", on)]
    with pytest.raises(InvalidInput):
        ask(overview_routes(desk), call(form={"do": do, "assistant": "assistant:12"}), "/")
    with pytest.raises(NotAllowed):
        ask(overview_routes(desk), call(form={"do": do}, who=visitor(VisitorRole.VIEWER)), "/")


@pytest.mark.parametrize(("quiet", "label"), [(False, "Quiet all"), (True, "End quiet")])
def test_the_button_of_the_overview_says_what_it_does(quiet: bool, label: str) -> None:
    tree = check_page(overview_page(call(), Overview(at=NOW, version="1", assistants=(one_status(),), quiet=quiet)))
    assert label in [one.text_content() for one in all_of(tree, "//header//button | //main//button")]


def test_promises_are_listed_with_what_became_of_them() -> None:
    found = card(
        LifeView(
            promises=(
                promise(1),
                promise(2, "withdrawn", why="I find no way there"),
                promise(0, "done", why="Ann was told"),
                promise(0, "told", why="the way is closed"),
                promise(0, "dropped", why="you dropped it"),
            )
        )
    )
    rows = [" ".join(row.text_content().split()) for row in found.xpath(".//tbody//tr")]
    assert len(rows) == 5
    for row, state in zip(rows, ("open", "cannot be kept", "done", "could not be kept", "dropped"), strict=True):
        assert state in row
    assert "I find no way there" in rows[1]
    assert [row.xpath(".//input[@name='promise']/@value") for row in found.xpath(".//tbody//tr")] == [
        ["g.1"],
        ["g.2"],
        [],
        [],
        [],
    ]


def test_nothing_is_promised_and_nothing_was_considered() -> None:
    found = card(LifeView())
    assert "It has promised nothing." in found.text_content()
    assert found.xpath(".//details") == []


@pytest.mark.parametrize(
    ("life", "live"),
    [
        (LifeView(), {"quiet", "away", "plan"}),
        (LifeView(quiet=True, still="its owner wants it quiet"), {"loud", "away", "plan"}),
        (LifeView(away=True, still="it is away, as its owner wants it"), {"quiet", "back", "plan"}),
    ],
)
def test_the_switches_do_the_other_thing(life: LifeView, live: set[str]) -> None:
    found = card(life)
    assert set(buttons(found)) == live
    assert (f"It does nothing of its own accord: {life.still}." in found.text_content()) is bool(life.still)
    assert "By its day" not in found.text_content()


def test_that_it_rests_is_shown() -> None:
    found = card(LifeView(day='since 22:00 it rests, in "mill"'))
    assert 'By its day, since 22:00 it rests, in "mill".' in found.text_content()


def test_a_viewer_sees_no_words_and_presses_nothing() -> None:
    found = card(LifeView(promises=(promise(1, text="", asker="", asker_id=""),)), VisitorRole.VIEWER)
    assert "not shown to you" in found.text_content()
    assert not any(buttons(found).values())


def test_reasons_are_shown_the_newest_first_with_how_often() -> None:
    reasons = (
        ReasonLine(NOW, "impulse", False, "nobody is present", 7),
        ReasonLine(NOW - 60, "its day: hums.", True, "free life"),
    )
    found = card(LifeView(reasons=reasons))
    rows = [" ".join(row.text_content().split()) for row in found.xpath(".//details//tbody//tr")]
    assert rows[0].endswith("impulsenot donenobody is present7 times")
    assert rows[1].endswith("its day: hums.donefree life")


@pytest.mark.parametrize("text", HOSTILE)
def test_what_strangers_wrote_is_text(text: str) -> None:
    life = LifeView(
        promises=(promise(1, text=text, asker=text, why=text, id=text),),
        reasons=(ReasonLine(NOW, text, False, text),),
        still=text,
    )
    assert card(life) is not None
