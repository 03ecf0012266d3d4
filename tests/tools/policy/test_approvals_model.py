"""Approvals against a model of what was really approved: no misuse succeeds, and every right use does."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.context import Requirement
from mud_assistant.tools.policy.approvals import Approvals, Denied, Given
from mud_assistant.tools.trust import Kind, Principal
from tests.effort import times

PEOPLE = (
    *(Principal(f"player:{level}", f"P{level}", Kind.PLAYER, level) for level in range(6)),
    Principal("assistant:2", "Rook", Kind.ASSISTANT, 5),
    Principal("world", "The game", Kind.WORLD, 5),
    Principal("operator", "Op", Kind.OPERATOR, 0),
)
#: What one line may turn out to be: the same text is another command once a nick is set.
MEANINGS = (
    Requirement(1, ("give",), "give map"),
    Requirement(3, ("destroy",), "destroy map"),
    Requirement(4, ("ban",)),
)
LINES = ("g map", "g lamp")
SECONDS = 300.0

people = st.sampled_from(PEOPLE)
askers = st.sampled_from((*PEOPLE, None))
lines = st.sampled_from(LINES)
meanings = st.sampled_from(MEANINGS)
assistants = st.sampled_from((0, 1))
Key = tuple[int, str, Requirement, str]


@dataclass
class Allowed:
    """What the model holds of one approval."""

    approver: str
    until: float


def power(who: Principal) -> int:
    """What somebody could do with their own hands; -1 for those who have none."""
    return {Kind.PLAYER: who.permission, Kind.OPERATOR: 5}.get(who.kind, -1)


def name(who: Principal | None) -> str:
    return who.id if who else ""


class Bureau(RuleBasedStateMachine):
    """Two assistants, each with approvals of its own, and a plain book of what is really approved."""

    uses = 0

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.offices = (  # room for all: what is pushed out is tested beside this
            Approvals(lambda: self.now, SECONDS, most=999),
            Approvals(lambda: self.now, SECONDS, most=999),
        )
        self.asked: dict[tuple[int, int], tuple[Key, float]] = {}
        self.allowed: dict[Key, Allowed] = {}
        self.ever_allowed: list[Key] = []

    @initialize(office=assistants, line=lines, meaning=meanings, who=askers)
    def begin(self, office: int, line: str, meaning: Requirement, who: Principal | None) -> None:
        """So that there is always something to misuse."""
        self.ask(office, line, meaning, who)
        self.approve(office, 1, PEOPLE[-1])

    @rule(office=assistants, line=lines, meaning=meanings, who=askers)
    def ask(self, office: int, line: str, meaning: Requirement, who: Principal | None) -> None:
        pending = self.offices[office].request(ToolCall("c", "execute_command", {"command": line}), meaning, who)
        key = (office, line, meaning, name(who))
        held = self.allowed.get(key)
        if held is None or held.until <= self.now:
            self.asked[office, pending.number] = (key, self.now + SECONDS)

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), who=people)
    def approve_what_was_asked(self, data: st.DataObject, who: Principal) -> None:
        self.approve(*data.draw(st.sampled_from(list(self.asked))), who)

    @rule(office=assistants, number=st.integers(1, 12), who=people)
    def approve(self, office: int, number: int, who: Principal) -> None:
        answer = self.offices[office].approve(number, who)
        key, until = self.asked.get((office, number), (None, 0.0))
        right = key is not None and self.now < until and power(who) >= key[2].permission
        assert isinstance(answer, Given if right else Denied)
        if key is not None and right:
            del self.asked[office, number]
            self.ever_allowed.append(key)
            self.allowed[key] = Allowed(who.id, self.now + SECONDS)

    @rule(office=assistants, number=st.integers(1, 12), who=people)
    def decline(self, office: int, number: int, who: Principal) -> None:
        answer = self.offices[office].decline(number, who)
        key, until = self.asked.get((office, number), (None, 0.0))
        right = key is not None and self.now < until and (power(who) >= key[2].permission or key[3] == who.id)
        assert isinstance(answer, Denied) is not right
        if right:
            del self.asked[office, number]

    @precondition(lambda self: self.ever_allowed)
    @rule(data=st.data(), twist=st.sampled_from(("nothing", "nothing", "office", "line", "meaning", "who")))
    def use_what_was_approved(self, data: st.DataObject, twist: str) -> None:
        """As it was approved, or with one thing changed; what was used before is among them."""
        key = data.draw(st.sampled_from(self.ever_allowed))
        office, line, meaning = key[:3]
        who: Principal | None = next((one for one in PEOPLE if one.id == key[3]), None)
        self.use(
            1 - office if twist == "office" else office,
            data.draw(lines) if twist == "line" else line,
            data.draw(meanings) if twist == "meaning" else meaning,
            data.draw(askers) if twist == "who" else who,
        )

    @rule(office=assistants, line=lines, meaning=meanings, who=askers)
    def use(self, office: int, line: str, meaning: Requirement, who: Principal | None) -> None:
        """By anybody, in time or late, for the right or another call, of the right or another assistant."""
        used = self.offices[office].use(ToolCall("d", "execute_command", {"command": line}), meaning, who)
        right = [
            key
            for key, held in self.allowed.items()
            if key[:3] == (office, line, meaning) and self.now < held.until and name(who) in {key[3], held.approver}
        ]
        assert used is bool(right)
        if used:
            Bureau.uses += 1
            own = [key for key in right if key in self.allowed and not self._held(key)]
            assert len(own) == 1  # used up: exactly one
            del self.allowed[own[0]]

    def _held(self, key: Key) -> bool:
        """Whether the approval behind `key` is still there, looked up without using it."""
        office = self.offices[key[0]]
        return any(
            one.approved_by is not None
            and (one.arguments["command"], name(one.requester), one.permission) == (key[1], key[3], key[2].permission)
            for one in office._asked.values()
        )

    @rule(seconds=st.sampled_from((1.0, 150.0, 299.0, 300.0)))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def what_waits_is_what_was_asked_in_time(self) -> None:
        for number, office in enumerate(self.offices):
            waiting = {one.number for one in office.pending()}
            assert waiting == {
                asked for (where, asked), (_, until) in self.asked.items() if where == number and self.now < until
            }


def test_no_misuse_succeeds_and_every_right_use_does() -> None:
    Bureau.uses = 0
    run_state_machine_as_test(Bureau, settings=settings(max_examples=times(24), stateful_step_count=40, deadline=None))
    assert Bureau.uses  # else nothing was shown: refusing everything would have passed. Chance decides how often
