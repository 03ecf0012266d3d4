"""Whatever strangers and models wrote stays text in these views: no element, attribute or address of theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import lxml.html
import pytest
from lxml.html import HtmlElement
from msgspec.structs import replace

from mud_assistant.assistant.page.ports import Conflict
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.runs import RunPage
from mud_assistant.assistant.page.views.control import approvals, character, doctor, money, player, settings
from mud_assistant.assistant.page.views.control.character_forms import CHANGES, CharacterDraft
from mud_assistant.assistant.page.views.control.period import Period
from mud_assistant.assistant.page.views.control.setting_card import SettingAttempt
from mud_assistant.assistant.page.views.runs import listing, search, tree
from tests.assistant.page.desk import NOW, ask, call, visitor
from tests.assistant.page.views.hostile import hostile_texts
from tests.assistant.page.views.stocked import stocked
from tests.assistant.page.views.stocked_runs import Word, one_run, same

ODD = set(
    "\x00\x07\x1b\r\u00ad\u061c\u200b\u200d\u200e\u200f\u2028\u2029\u202a\u202c\u202e\u2060\u2066\u2067\u2069\ufeff"
)
TEXTS = hostile_texts()
OWN = re.compile(r"#\w*|/|/[^/\\\s].*")


def pages(word: Word) -> Iterator[bytes]:
    """Render each view, with what was typed in its fields as well."""
    desk = stocked(word)
    for role in (VisitorRole.OWNER, VisitorRole.VIEWER):
        asked = call("/", who=visitor(role, word("Ada")))
        named = [(one.id, one.name) for one in desk.overview_value.assistants]
        found = search.filter_from({name: word("x") for name in search.RunFilter.__struct_fields__})
        yield listing.runs_page(asked, found, desk.run_page, named)
        yield tree.run_page(asked, one_run(word), older=word("run-1"), newer=word("run-2"))
        error = Conflict(word("Gone."))
        yield approvals.approvals_page(asked, desk.approval_values, desk.approval_values, error)
        for answer in desk.usage_values.values():
            yield money.money_page(asked, money.MoneyChoice(answer.by, Period(since=word("x")), ""), answer)
        yield doctor.doctor_page(asked, word("x"), named, (NOW, desk.finding_values), error)
        lines = desk.setting_values[""]
        tried = SettingAttempt(lines[1].name, word("x"), force=True, error=error)
        yield settings.settings_page(asked, settings.Shown(word("x"), "", only_set=False), lines, named, tried)
        who, draft = desk.characters["assistant:12"], CharacterDraft(*(word("x") for _ in range(6)))
        brought = desk.previews["assistant:12"]
        yield character.character_page(asked, who, draft=draft, brought=brought, error=error)
        for change in CHANGES:
            yield character.character_page(asked, who, draft=draft, preview=change)
        yield player.player_page(asked, desk.players["account:4"])
        yield player.forget_page(asked, desk.players["account:4"], error)


def parsed(body: bytes) -> HtmlElement:
    return lxml.html.document_fromstring(body.decode())


def shape(body: bytes) -> set[tuple[str, str]]:
    """Return each pair of an element and an attribute that a page has."""
    found = set()
    for element in parsed(body).iter():
        assert isinstance(element.tag, str), "a comment or a processing instruction"
        found |= {(element.tag, ""), *((element.tag, str(name)) for name in element.attrib)}
    return found


def test_hostile_texts_add_no_element_and_no_attribute() -> None:
    assert len(set(TEXTS)) == 3000
    calm = ([shape(body) for body in pages(word)] for word in (same, lambda _: "a long line " * 80, lambda _: ""))
    allowed = [set().union(*shapes) for shapes in zip(*calm, strict=True)]
    left = TEXTS * 2
    while left:
        for body, known in zip(pages(lambda _: left.pop() if left else TEXTS[0]), allowed, strict=True):
            assert not shape(body) - known
            assert not ODD & set(body.decode())


@pytest.mark.parametrize("text", TEXTS[::400])
def test_every_address_stays_on_the_page(text: str) -> None:
    for body in pages(lambda _: text):
        for element in parsed(body).iter():
            for name in ("href", "src", "action"):
                address = element.get(name)
                assert address is None or OWN.fullmatch(address), address


def test_a_hostile_text_is_shown_as_it_was_written() -> None:
    attack = "<img src=x onerror=alert(1)>"
    shown = parsed(tree.run_page(call("/"), one_run(lambda _: attack)))
    assert attack in shown.text_content()
    assert not list(shown.iter("img"))


def test_forms_carry_the_token_of_the_session() -> None:
    for body in pages(same):
        for form in parsed(body).forms:
            if form.method == "POST":
                assert form.fields["csrf"] == "token-of-the-session"
            else:
                assert "csrf" not in form.fields


def test_a_viewer_is_given_no_form_but_searches() -> None:
    asked = call("/", who=visitor(VisitorRole.VIEWER))
    desk = stocked()
    for body in (
        approvals.approvals_page(asked, desk.approval_values),
        settings.settings_page(asked, settings.Shown(), desk.setting_values[""], []),
        character.character_page(asked, desk.characters["assistant:12"]),
        player.player_page(asked, desk.players["account:4"]),
    ):
        assert [form.action for form in parsed(body).forms if form.method == "POST"] == ["/logout"]


def test_a_viewer_is_told_that_words_are_hidden() -> None:
    empty = replace(one_run(lambda text: ""), is_hidden=True)
    desk = stocked()
    desk.run_views["run-999"] = empty
    asked = call("/runs/run-999", who=visitor(VisitorRole.VIEWER), parts={"id": "run-999"})
    shown = ask(tree.routes(desk), asked, "/runs/{id}").body.decode()
    assert "hidden: you are a viewer" in shown


def test_why_a_run_said_nothing_is_listed_for_who_may_read_what_players_say() -> None:
    desk = stocked()
    run = replace(desk.run_page.runs[0], said="", sentence="It was refused by the rules.")
    silent, spoke = replace(desk.run_page, runs=(run,)), replace(desk.run_page, runs=(replace(run, said="Yes."),))

    def listed(role: VisitorRole, found: RunPage) -> str:
        asked = call("/", who=visitor(role))
        return str(parsed(listing.runs_page(asked, search.filter_from({}), found, [])).text_content())

    assert run.sentence in listed(VisitorRole.OPERATOR, silent)
    assert run.sentence not in listed(VisitorRole.VIEWER, silent)
    assert run.sentence not in listed(VisitorRole.OPERATOR, spoke)
