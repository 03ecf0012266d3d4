"""Whose decision counts, for which call, and what a player may have deleted: over every right there is."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.service.operations.approving import Decision, ShownRequests, decide, revoke
from mud_assistant.assistant.service.operations.operators import (
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Operator,
    VisitorRole,
)
from mud_assistant.assistant.service.operations.players import forget_one, remembered
from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools import Category, Principal, Registry, Requirement, Target, Tool, ToolContext
from mud_assistant.tools.policy.approvals import digest_of
from mud_assistant.tools.testing import now
from mud_assistant.tools.trust import Source
from mud_assistant.tools.verbs import WORLD_TOOLS
from tests.assistant.living import ANN
from tests.assistant.refusing import BEA, Still, still
from tests.assistant.service.lived_service import Bell
from tests.effort import times

HERE = (Target("library", "The Old Library"),)
RIGHTS, NEEDS = range(6), (1, 3, 5)
#: What somebody tells, one thing a line, so that each makes a memory of its own.
THINGS = ("brother Rex", "sister Ida", "uncle Bor", "cousin Una", "nephew Tam", "niece Lil")


def life(needs: int = 3) -> Still:
    """A life with a bell that takes this permission."""

    async def ring(_: Bell, __: ToolContext) -> str:
        return "It rings."

    kinds: Any = {"source": Source.OPERATOR, "required_permission": needs}
    return still(Registry((*WORLD_TOOLS, Tool("ring", "Ring it.", Bell, Category.DANGEROUS, ring, **kinds))))


def asked(there: Still, requester: Principal | None = ANN, number: str = "1") -> Any:
    tool = there.context.tools.registry.get("ring")
    assert tool is not None
    assert tool.required_permission is not None
    call = ToolCall("1", "ring", {"number": number})
    return there.context.tools.approvals.request(call, Requirement(tool.required_permission, covers=HERE), requester)


def operator(permission: int, role: VisitorRole = VisitorRole.OPERATOR) -> Operator:
    return Operator(Principal("player:owner", "Owner", permission=permission), role)


@pytest.mark.parametrize("role", VisitorRole)
def test_a_request_is_allowed_by_who_could_do_it_and_as_it_was_shown(role: VisitorRole) -> None:
    for needs, has, (allow, is_shown, for_an_hour) in product(NEEDS, RIGHTS, product((True, False), repeat=3)):
        there = life(needs)
        approvals, who = there.context.tools.approvals, operator(has, role)
        request = asked(there)
        decision = Decision(allow, digest_of(request) if is_shown else "another", for_an_hour)
        if role is VisitorRole.VIEWER or (is_shown and has < needs):
            with pytest.raises(NotAllowed):
                decide(there.assistant, who, request.number, decision)
        elif not is_shown:
            with pytest.raises(Conflict):
                decide(there.assistant, who, request.number, decision)
        else:
            sentence = decide(there.assistant, who, request.number, decision)
            assert sentence.startswith("Sage may do" if allow else "Sage may not do")
            assert approvals.pending() == ()
            assert bool(approvals.standing()) == (allow and for_an_hour)
            assert bool(now(there.context.memory.journal.pending())) == allow
            continue
        assert [one.number for one in approvals.pending()] == [request.number], "nothing is decided"
        assert approvals.standing() == ()
        assert not now(there.context.memory.journal.pending())


def test_what_nobody_asked_for_and_what_is_not_there_is_not_allowed() -> None:
    there = life()
    request = asked(there, None)
    with pytest.raises(InvalidInput):
        decide(there.assistant, operator(5), request.number, Decision(True, digest_of(request), for_an_hour=True))
    with pytest.raises(Conflict):
        decide(there.assistant, operator(5), request.number + 1, Decision(True, digest_of(request)))
    assert [one.number for one in there.context.tools.approvals.pending()] == [request.number]


def test_a_number_that_is_typed_stands_for_what_was_read() -> None:
    there, shown = life(), ShownRequests()
    for number in ("1", "2"):
        asked(there, number=number)
    first, second = there.context.tools.approvals.pending()
    shown.show(there.assistant, first.number)
    assert "Nothing is decided" in shown.decide(there.assistant, operator(5), second.number, allow=True)
    assert "Sage may do this once" in shown.decide(there.assistant, operator(5), second.number, allow=True)
    assert "Sage may do this once" in shown.decide(there.assistant, operator(5), first.number, allow=True)


def test_what_is_allowed_for_an_hour_is_ended_by_its_number() -> None:
    there = life()
    approvals, who = there.context.tools.approvals, operator(5)
    for number in ("1", "2"):
        request = asked(there, number=number)
        decide(there.assistant, who, request.number, Decision(True, digest_of(request), for_an_hour=True))
    first, second = approvals.standing()
    with pytest.raises(NotAllowed):
        revoke(approvals, "Sage", operator(5, VisitorRole.VIEWER), first.number)
    revoke(approvals, "Sage", who, first.number)
    assert approvals.standing() == (second,)
    with pytest.raises(NotFound):
        revoke(approvals, "Sage", who, first.number)


@settings(max_examples=times(8), deadline=None)
@given(st.lists(st.tuples(st.sampled_from((ANN, BEA)), st.sampled_from(THINGS)), min_size=1, max_size=6), st.data())
def test_one_thing_is_forgotten_by_the_number_it_is_listed_under(told: list[Any], data: st.DataObject) -> None:
    there = life()
    for who, thing in told:
        there.context.process.clock.advance(60)  # type: ignore[attr-defined]  # the newest is listed first
        there.hear(_saying(who, thing))
        there.runs()
    mine, theirs = listed(there, ANN), listed(there, BEA)
    number = data.draw(st.integers(0, len(mine) + 1))
    if not 1 <= number <= len(mine):
        with pytest.raises(InvalidInput):
            now(forget_one(there.assistant, [ANN], number, "list"))
        assert listed(there, ANN) == mine
        return
    now(forget_one(there.assistant, [ANN], number, "list"))
    assert listed(there, ANN) == [one for at, one in enumerate(mine, 1) if at != number]
    assert listed(there, BEA) == theirs


def _saying(who: Principal, thing: str) -> Any:
    return lambda id_: Said(id=id_, at=0.0, who=who, text=f"Sage, my {thing} works in the mill.", to_me=True)


def listed(there: Still, who: Principal) -> list[str]:
    """Return what is told a player of what is remembered, without the numbers and the times."""
    lines = now(remembered(there.assistant, [who], "forget")).splitlines()
    return [line.partition(": ")[2] for line in lines if line.startswith("  ")]
