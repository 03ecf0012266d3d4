"""Approvals, money and the doctor: a decision gives the digest back, periods stay in the address, findings are kept."""

from __future__ import annotations

import pytest
from lxml.html import HtmlElement, document_fromstring
from twisted.internet.defer import Deferred

from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.page.http.call import PageCall, Reply
from mud_assistant.assistant.page.ports import Conflict, NotAllowed, PageError, Visitor
from mud_assistant.assistant.page.values.actions import ApprovalDecision
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.money import UsageAnswer
from mud_assistant.assistant.page.views.control import routes
from mud_assistant.assistant.page.views.control.period import period_from
from tests.assistant.page.desk import MemoryDesk, ask, call, visitor
from tests.assistant.page.views.stocked import stocked, usage


def parsed(reply: Reply) -> HtmlElement:
    return document_fromstring(reply.body.decode())


def decide(desk: MemoryDesk, asked: PageCall) -> Reply:
    return ask(routes(desk), asked, "/approvals")


def buttons(page: HtmlElement) -> dict[str, dict[str, str]]:
    """Return the fields of the first form of each label."""
    found: dict[str, dict[str, str]] = {}
    for form in page.forms:
        found.setdefault(form.xpath(".//button")[0].text_content(), dict(form.fields))
    return found


@pytest.mark.parametrize(
    ("label", "allow", "lasts"),
    [("Allow once", True, "once"), ("Allow for an hour", True, "hour"), ("Refuse", False, "once")],
)
def test_each_button_decides_on_the_call_that_was_shown(label: str, allow: bool, lasts: str) -> None:
    desk = stocked()
    page = parsed(decide(desk, call("/approvals")))
    digest = desk.approval_values[0].digest
    reply = decide(desk, call("/approvals", form=buttons(page)[label]))
    assert desk.done == [("decide", "assistant:12", 1, ApprovalDecision(allow=allow, digest=digest, lasts=lasts))]
    assert (reply.status, dict(reply.headers)["Location"].partition("?")[0]) == (303, "/approvals")


def test_the_exact_arguments_are_shown() -> None:
    page = parsed(decide(stocked(), call("/approvals")))
    (first, _) = page.xpath("//pre")
    assert first.text_content() == '{\n  "command": "dig tunnel;vault = north",\n  "as": "Berta"\n}'


def test_who_comes_second_is_told() -> None:
    desk = stocked()
    fields = buttons(parsed(decide(desk, call("/approvals"))))["Allow once"]
    decide(desk, call("/approvals", form=fields))
    reply = decide(desk, call("/approvals", form=fields))
    assert reply.status == 409
    assert "It was decided already, or is another call by now." in parsed(reply).text_content()
    assert [each[0] for each in desk.done] == ["decide"]


@pytest.mark.parametrize("change", [{"digest": ""}, {"number": "x"}, {"number": "\u0661"}, {"do": "allow_all"}])
def test_a_form_that_was_changed_decides_nothing(change: dict[str, str]) -> None:
    desk = stocked()
    fields = buttons(parsed(decide(desk, call("/approvals"))))["Allow once"]
    reply = decide(desk, call("/approvals", form={**fields, **change}))
    assert reply.status == 422
    assert desk.done == []


def test_a_viewer_decides_nothing() -> None:
    desk = stocked()
    with pytest.raises(NotAllowed):
        decide(desk, call("/approvals", who=visitor(VisitorRole.VIEWER), form={"do": "allow"}))


def test_nothing_waits() -> None:
    assert "Nothing waits for leave" in parsed(decide(MemoryDesk(), call("/approvals"))).text_content()


def money(desk: MemoryDesk, **query: str) -> HtmlElement:
    return parsed(ask(routes(desk), call("/money", query=query), "/money"))


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ({}, ("", "")),
        ({"period": "last_month"}, ("2026-10-01", "2026-10-31")),
        ({"period": "week"}, ("2026-11-16", "2026-11-22")),
        ({"period": "30_days"}, ("2026-10-24", "2026-11-22")),
        ({"from": "2026-09-03", "to": "2026-09-05", "period": "week"}, ("2026-09-03", "2026-09-05")),
        ({"from": "2026-09-03"}, ("2026-09-03", "2026-11-22")),
        ({"to": "2026-09-05"}, ("2026-09-01", "2026-09-05")),
        ({"from": "never"}, ("", "")),
        ({"from": "2026-09-05", "to": "2026-09-03"}, ("", "")),
    ],
)
def test_a_period_is_days_seen_from_today(query: dict[str, str], days: tuple[str, str]) -> None:
    assert period_from(query).days("2026-11-22") == days


def test_the_choice_stays_in_the_form() -> None:
    page = money(stocked(), by="player", show="tokens", period="week")
    (form,) = [each for each in page.forms if each.method == "GET"]
    assert dict(form.fields) == {"by": "player", "show": "tokens", "from": "", "to": "", "period": "week"}
    periods = {each.text_content(): each.get("href") for each in page.find_class("periods")[0].iter("a")}
    assert periods["Last month"] == "/money?by=player&show=tokens&period=last_month"


def test_rows_add_up_to_the_total() -> None:
    answer = usage("model")
    page = money(stocked(), by="model")
    (total,) = page.find_class("total")
    assert [cell.text_content() for cell in total][:2] == ["Total", f"{answer.total.calls:,}"]
    assert [cell.text_content() for cell in total][3] == f"{answer.total.money:,.2f}"
    assert len(total.getparent()) == 5  # four models and the total


def test_players_and_assistants_are_linked() -> None:
    assert "/players/player%3AMira" in {each.get("href") for each in money(stocked(), by="player").iter("a")}
    assert "/a/assistant%3ABerta" in {each.get("href") for each in money(stocked(), by="assistant").iter("a")}


def test_a_wrong_day_is_said() -> None:
    page = money(stocked(), **{"from": "never"})
    assert "never is no day" in page.text_content()
    assert page.forms[1].fields["from"] == "never"


class Strict(MemoryDesk):
    """A desk that answers for this month only."""

    async def usage(self, who: Visitor, by: str, since: str, until: str) -> UsageAnswer:
        if since:
            raise PageError("The ledger cannot be read.")
        return usage(by)


def test_a_failure_is_shown_beside_the_month() -> None:
    reply = ask(routes(Strict()), call("/money", query={"period": "week"}), "/money")
    assert reply.status == 500
    assert "The ledger cannot be read." in parsed(reply).text_content()


def test_the_doctor_looks_when_asked_and_its_findings_stay() -> None:
    desk = stocked()
    views = routes(desk)
    page = parsed(ask(views, call("/doctor", query={"assistant": "assistant:12"}), "/doctor"))
    assert "did not look at Berta" in page.text_content()
    assert [each for each in desk.done if each[0] == "doctor"] == []
    reply = ask(views, call("/doctor", form={"do": "run", "assistant": "assistant:12"}), "/doctor")
    assert (reply.status, reply.headers) == (303, (("Location", "/doctor?assistant=assistant%3A12"),))
    assert ("doctor", "assistant:12") in desk.done
    page = parsed(ask(views, call("/doctor", query={"assistant": "assistant:12"}), "/doctor"))
    checks = [each.text_content() for each in page.xpath("//tbody/tr/th")]
    assert checks == ["model of Berta", "clock", "journal", "web search"]  # the worst first
    assert "ollama pull qwen3:8b" in page.text_content()
    assert "did not look" in parsed(ask(views, call("/doctor"), "/doctor")).text_content()


class Failing(MemoryDesk):
    """A desk that cannot look."""

    async def doctor(self, who: Visitor, assistant: str) -> tuple[Finding, ...]:
        raise Conflict("The doctor looks already.")


def test_a_doctor_that_cannot_look_says_why() -> None:
    reply = ask(routes(Failing()), call("/doctor", form={"do": "run"}), "/doctor")
    assert reply.status == 409
    assert "The doctor looks already." in parsed(reply).text_content()


class Slow(MemoryDesk):
    """A desk that looks until it is let go."""

    gate: Deferred[None]

    async def doctor(self, who: Visitor, assistant: str) -> tuple[Finding, ...]:
        await self.gate
        return (Finding(check="clock", state=FindingState.OK, sentence="It is right."),)


def test_one_doctor_looks_at_a_time() -> None:
    desk = Slow()
    desk.gate = Deferred()
    views = routes(desk)
    (look,) = [each.handler for each in views if (each.method, each.pattern) == ("POST", "/doctor")]

    async def looked() -> object:
        return await look(call("/doctor", form={"do": "run"}))

    first = Deferred.fromCoroutine(looked())
    second = ask(views, call("/doctor", form={"do": "run"}), "/doctor")
    assert second.status == 409
    assert "The doctor looks already." in parsed(second).text_content()
    desk.gate.callback(None)
    assert isinstance(first.result, Reply)
    assert first.result.status == 303
    assert "It is right." in parsed(ask(views, call("/doctor"), "/doctor")).text_content()
