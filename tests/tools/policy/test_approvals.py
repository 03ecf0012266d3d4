from dataclasses import replace

import pytest
from msgspec import structs
from twisted.internet.task import Clock

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.context import Pending, Requirement
from mud_assistant.tools.policy.approvals import Approvals, Declined, Denied, Given, digest, digest_of
from mud_assistant.tools.testing import ANNA, SAGE, tool_call
from mud_assistant.tools.trust import Kind, Principal

BEN = Principal("player:ben", "Ben")
BEA = Principal("player:bea", "Bea", permission=3)
NEED = Requirement(3, ("teleport",), "teleport Ben to mill")
CALL = tool_call("execute_command", command="tp Ben to mill")


class Office:
    """Approvals with a clock."""

    def __init__(self, most: int = 20) -> None:
        self.clock = Clock()
        self.approvals = Approvals(self.clock.seconds, most=most)

    def ask(self, call: ToolCall = CALL, need: Requirement = NEED, who: Principal | None = ANNA) -> Pending:
        return self.approvals.request(call, need, who)

    def given(self, who: Principal | None = ANNA) -> Pending:
        number = self.ask(who=who).number
        assert isinstance(self.approvals.approve(number, BEA), Given)
        return next(iter(self.approvals._asked.values()))

    def use(self, call: ToolCall = CALL, need: Requirement = NEED, who: Principal | None = ANNA) -> bool:
        return self.approvals.use(call, need, who)


@pytest.fixture
def office() -> Office:
    return Office()


def test_a_request_says_what_an_approver_must_know(office: Office) -> None:
    (pending,) = [office.ask()]
    assert pending == Pending(
        1, "execute_command", {"command": "tp Ben to mill"}, "teleport Ben to mill", ANNA, 3, 300.0
    )
    assert office.approvals.pending() == (pending,)


def test_a_call_without_a_literal_text_is_shown_with_its_arguments(office: Office) -> None:
    assert office.ask(tool_call("move", direction="north"), Requirement(1)).shown == 'move [{"direction":"north"}]'


@pytest.mark.parametrize("who", [ANNA, BEA])
def test_an_approved_call_may_be_used_once_by_the_requester_or_the_approver(office: Office, who: Principal) -> None:
    office.given()
    assert office.approvals.pending() == ()
    assert office.use(who=who)
    assert not office.use(who=who)
    assert office.ask().number == 2


@pytest.mark.parametrize("who", [None, BEN, SAGE, Principal("", "")])
def test_nobody_else_may_use_it(office: Office, who: Principal | None) -> None:
    office.given()
    assert not office.use(who=who)
    assert office.use()


def test_what_was_asked_in_a_run_for_nobody_is_used_in_such_a_run_or_by_the_approver(office: Office) -> None:
    office.given(who=None)
    assert not office.use(who=ANNA)
    assert office.use(who=None)


@pytest.mark.parametrize(
    ("call", "need"),
    [
        (tool_call("execute_command", command="tp Anna to mill"), NEED),
        (structs.replace(CALL, name="other"), NEED),
        (CALL, replace(NEED, permission=4)),
        (CALL, replace(NEED, commands=("teleport/quiet",))),
        (CALL, replace(NEED, commands=("ban",))),
        (CALL, replace(NEED, shown="teleport Ben to garden")),
    ],
)
def test_any_change_of_the_call_or_of_its_meaning_voids_the_approval(
    office: Office, call: ToolCall, need: Requirement
) -> None:
    office.given()
    assert not office.use(call, need)
    assert office.use()


def test_the_id_of_the_call_is_no_part_of_it(office: Office) -> None:
    office.given()
    assert office.use(structs.replace(CALL, id="another step"))


@pytest.mark.parametrize(
    "who",
    [
        BEN,
        ANNA,
        structs.replace(BEA, permission=2),
        structs.replace(SAGE, permission=5),
        structs.replace(BEA, kind=Kind.ASSISTANT),
        structs.replace(BEA, kind=Kind.WORLD, permission=5),
    ],
)
def test_who_could_not_do_it_themselves_cannot_allow_it(office: Office, who: Principal) -> None:
    office.ask()
    denied = office.approvals.approve(1, who)
    assert denied == Denied("Only a builder or somebody above may allow request 1.")
    assert not office.use()
    assert len(office.approvals.pending()) == 1


@pytest.mark.parametrize("kind", [Kind.ASSISTANT, Kind.WORLD])
def test_only_people_allow_anything_however_little_it_needs(office: Office, kind: Kind) -> None:
    office.ask(need=Requirement(0))
    assert isinstance(office.approvals.approve(1, Principal("x", "X", kind, 5)), Denied)


def test_the_operator_may_allow_anything(office: Office) -> None:
    office.ask()
    assert isinstance(office.approvals.approve(1, Principal("op", "Op", Kind.OPERATOR, 0)), Given)


def test_a_request_waits_five_minutes_and_so_does_its_approval(office: Office) -> None:
    office.ask()
    office.clock.advance(299)
    assert isinstance(office.approvals.approve(1, BEA), Given)
    office.clock.advance(299)
    assert office.approvals.approve(1, BEA) == Denied("There is no request 1 that waits.")
    office.clock.advance(1)
    assert not office.use()
    office.ask()
    office.clock.advance(300)
    assert isinstance(office.approvals.approve(2, BEA), Denied)
    assert office.approvals.pending() == ()


def test_asking_again_keeps_the_number_and_renews_the_request_but_not_an_approval(office: Office) -> None:
    office.ask()
    office.clock.advance(200)
    assert (office.ask().number, office.ask().expires_at) == (1, 500.0)
    office.approvals.approve(1, BEA)
    office.clock.advance(100)
    assert office.ask().expires_at == 500.0


def test_the_same_wish_of_two_people_is_two_requests(office: Office) -> None:
    assert [office.ask(who=who).number for who in (ANNA, BEN, ANNA)] == [1, 2, 1]
    office.approvals.approve(2, BEA)
    assert not office.use(who=ANNA)
    assert office.use(who=BEN)


def test_who_asked_may_take_it_back_and_who_may_approve_may_decline(office: Office) -> None:
    office.ask()
    assert office.approvals.decline(1, BEN) == Denied("Only a builder or somebody above may decline request 1.")
    assert isinstance(office.approvals.decline(1, ANNA), Declined)
    assert isinstance(office.approvals.approve(1, BEA), Denied)
    office.ask()
    assert isinstance(office.approvals.decline(2, BEA), Declined)
    assert isinstance(office.approvals.decline(2, BEA), Denied)
    assert not office.use()


def test_many_requests_of_one_do_not_push_out_anothers() -> None:
    office = Office(most=3)
    office.ask(who=BEN)
    for number in range(10):
        office.ask(tool_call("execute_command", command=f"flood {number}"))
    assert [(one.number, one.requester) for one in office.approvals.pending()] == [(1, BEN), (10, ANNA), (11, ANNA)]


def test_an_approval_is_not_pushed_out_by_requests() -> None:
    office = Office(most=1)
    office.given()
    for number in range(5):
        office.ask(tool_call("execute_command", command=f"flood {number}"))
    assert office.use()


def test_a_standing_permission_is_for_one_call_one_requester_and_one_hour(office: Office) -> None:
    given = office.given()
    assert office.approvals.stand(given) is not None
    assert office.approvals.take(given.number) == given
    assert all(office.use() for _ in range(3))
    assert not office.use(who=BEN)
    assert not office.use(structs.replace(CALL, name="other"))
    assert not office.use(need=replace(NEED, shown="teleport Ben to well"))
    office.clock.advance(3599)
    assert office.use()
    office.clock.advance(1)
    assert not office.use()
    assert office.approvals.standing() == ()


def test_a_standing_permission_is_shown_and_ends_when_it_is_revoked(office: Office) -> None:
    given = office.given()
    office.approvals.stand(given)
    office.approvals.take(given.number)
    (standing,) = office.approvals.standing()
    assert (standing.shown, standing.requester, standing.approved_by) == (given.shown, ANNA, BEA)
    assert not office.approvals.revoke(standing.number + 1)
    assert office.approvals.revoke(standing.number)
    assert not office.use()


def test_what_nobody_approved_or_asked_for_gets_no_standing_permission(office: Office) -> None:
    assert office.approvals.stand(office.ask()) is None
    assert office.approvals.stand(office.given(who=None)) is None


def test_a_forgotten_person_asked_for_nothing_and_is_named_in_no_request(office: Office) -> None:
    office.approvals.stand(office.given())
    office.ask(who=ANNA)
    because = "Why: in its view is what Anna (a player) wrote, and Annabel said"
    office.approvals.request(CALL, NEED, BEN, because)
    office.approvals.forget(ANNA)
    [left] = office.approvals.pending()
    assert left.because == "Why: in its view is what somebody (a player) wrote, and Annabel said"
    assert office.approvals.standing() == ()
    assert not office.use(who=ANNA)


def test_the_digest_of_a_request_is_that_of_its_call(office: Office) -> None:
    assert digest_of(office.ask()) == digest(CALL, NEED)
    without = replace(NEED, commands=(), permission=9)
    assert digest_of(office.ask(need=without)) == digest(CALL, without)
