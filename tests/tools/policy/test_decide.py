from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.context import Requirement
from mud_assistant.tools.policy.config import EffectLimits
from mud_assistant.tools.policy.decide import (
    Allowed,
    Authority,
    Decision,
    NeedsApproval,
    PolicyRule,
    Refused,
    SoFar,
    authority_of,
    base_permission,
    decide,
    is_denied,
    level_of,
)
from mud_assistant.tools.testing import WaitingTool
from mud_assistant.tools.tool import Category, Tool
from mud_assistant.tools.trust import Kind, Principal, rank
from mud_assistant.tools.verbs import EXECUTE_COMMAND, MOVE, NOOP, SAY, WORLD_TOOLS

ALL = frozenset({"say", "move", "act", "noop", "execute_command"})
FULL = Authority(5, 5, 5)
NOTHING = Requirement(0)
FRESH = SoFar()
levels = st.integers(0, 5)


def ruled(
    tool: Tool,
    requirement: Requirement = NOTHING,
    authority: Authority = FULL,
    so_far: SoFar = FRESH,
    denied: frozenset[str] = frozenset(),
) -> Decision:
    return decide(tool, requirement, authority, grant=ALL, denied=denied, so_far=so_far)


def refusal(decision: Decision) -> str:
    assert isinstance(decision, Refused)
    return decision.reason


def test_a_tool_outside_the_grant_is_refused() -> None:
    assert decide(SAY, NOTHING, FULL, grant=frozenset({"look"})) == Refused(
        "You may not use say.", PolicyRule.NOT_GRANTED
    )


def test_what_needs_nothing_is_allowed() -> None:
    assert ruled(SAY, authority=Authority(0, 0, 0)) == Allowed()


@given(levels, levels, levels, levels)
def test_authority_is_the_least_of_actor_requester_and_trust(need: int, actor: int, asker: int, trust: int) -> None:
    decision = ruled(MOVE, Requirement(need), Authority(actor, asker, trust))
    assert isinstance(decision, Allowed if min(actor, asker, trust) >= need else NeedsApproval)


def test_who_must_allow_it_is_said() -> None:
    decisions = [ruled(MOVE, Requirement(need), Authority(0, 0, 0)) for need in (3, 4)]
    assert decisions == [NeedsApproval("a builder must allow this"), NeedsApproval("an admin must allow this")]
    assert [rank(-1), rank(9)] == ["a guest", "a developer"]


@pytest.mark.parametrize(
    "command",
    [
        "py",
        "PY",
        "@py",
        "py/noecho",
        "+py",
        "batchcode",
        "batchcommands",
        "perm",
        "userpassword",
        "password",
        "shutdown",
        "reload",
        "quell",
        "nick",
        "nicks",
        "alias",
        "service",
        "services",
        "@accounts",
        "account",
        "server",
        "force",
    ],
)
def test_the_deny_list_holds_against_everybody_and_cannot_be_approved(command: str) -> None:
    assert "nobody can allow" in refusal(ruled(EXECUTE_COMMAND, Requirement(0, (command,))))
    assert isinstance(ruled(EXECUTE_COMMAND, Requirement(5, ("look", command)), Authority(0, 0, 0)), Refused)


@pytest.mark.parametrize("command", ["give", "python_lesson", "reloaded", "icy", "permute", "tell/quell", ""])
def test_the_deny_list_denies_no_neighbour(command: str) -> None:
    assert ruled(EXECUTE_COMMAND, Requirement(1, (command,))) == Allowed()


def test_the_owner_adds_to_the_deny_list_by_name_by_beginning_and_by_switch() -> None:
    mine = frozenset({"@Give", "tele*", "examine/account"})
    assert [is_denied(command, mine) for command in ("give", "give/all", "teleport/quiet", "forgive")] == [
        True,
        True,
        True,
        False,
    ]
    assert [is_denied(f"examine{switches}", mine) for switches in ("", "/account", "/a/Account", "/a")] == [
        False,
        True,
        True,
        False,
    ]
    assert isinstance(ruled(EXECUTE_COMMAND, Requirement(0, ("py",)), denied=mine), Refused)


def act(category: Category) -> Tool:
    return WaitingTool("act", category).tool


@pytest.mark.parametrize(
    ("category", "below", "reached", "told"),
    [
        (Category.SAFE_CHAIN, SoFar(place=7), SoFar(place=8), "Too many calls at once: at most 8."),
        (Category.SAFE_CHAIN, SoFar(calls=19), SoFar(calls=20), "You have made enough calls this turn."),
        (Category.TERMINAL, SoFar(spoken=2), SoFar(spoken=3), "You have spoken enough this turn."),
        (Category.ASYNC_REQUIRED, SoFar(network=5), SoFar(network=6), "You have used act and its like enough"),
        (Category.DANGEROUS, SoFar(changes=0), SoFar(changes=1), "You have already changed the game this turn."),
        (Category.TERMINAL, SoFar(same=0), SoFar(same=1), "You have done exactly this already."),
        (Category.DANGEROUS, SoFar(), SoFar(echo=True), "You have done exactly this a moment ago."),
    ],
)
def test_every_cap(category: Category, below: SoFar, reached: SoFar, told: str) -> None:
    assert ruled(act(category), so_far=below) == Allowed()
    assert refusal(ruled(act(category), so_far=reached)).startswith(told)


def test_reads_may_be_repeated_and_so_may_doing_nothing() -> None:
    busy = SoFar(spoken=99, network=0, changes=99, same=99, echo=True)
    assert ruled(act(Category.SAFE_CHAIN), so_far=busy) == Allowed()
    assert ruled(act(Category.ASYNC_REQUIRED), so_far=busy) == Allowed()
    assert ruled(NOOP, so_far=busy) == Allowed()


def test_the_owner_sets_the_caps() -> None:
    so_far = SoFar(calls=20, spoken=3)
    limits = EffectLimits(calls=21, spoken=4)
    assert decide(SAY, NOTHING, FULL, grant=ALL, limits=limits, so_far=so_far) == Allowed()


@given(levels, levels, levels, st.booleans())
def test_what_is_refused_for_another_reason_is_never_up_for_approval(a: int, b: int, c: int, done: bool) -> None:
    """The order of the rules: only a lack of authority is asked about, and that last."""
    authority = Authority(a, b, c)
    assert isinstance(ruled(MOVE, Requirement(5), authority, SoFar(changes=1, same=int(done))), Refused)
    assert isinstance(ruled(MOVE, Requirement(5), authority, SoFar(calls=20)), Refused)
    assert isinstance(decide(MOVE, Requirement(5), authority, grant=frozenset()), Refused)


def test_a_requester_has_the_level_the_game_gives_and_assistants_have_none() -> None:
    def who(kind: Kind, permission: int) -> Principal:
        return Principal("x", "X", kind, permission)

    assert level_of(None) == 0
    for permission in range(6):
        assert level_of(who(Kind.PLAYER, permission)) == permission
        assert level_of(who(Kind.ASSISTANT, permission)) == 0
        assert level_of(who(Kind.OPERATOR, permission)) == 5
    assert [level_of(who(Kind.WORLD, 5)), level_of(who(Kind.WORLD, 0)), level_of(who(Kind.WORLD, 2), 4)] == [1, 0, 2]


@pytest.mark.parametrize(("permission", "trust"), list(product(range(6), range(6))))
def test_authority_comes_from_the_game_and_from_labels(permission: int, trust: int) -> None:
    actor = Principal("a", "A", Kind.ASSISTANT, permission)
    authority = authority_of(actor, Principal("p", "P", Kind.PLAYER, 5), trust)
    assert authority == Authority(permission, 5, trust)
    assert authority.level == min(permission, trust)


def test_what_a_tool_needs_is_its_categorys_its_own_or_the_owners() -> None:
    needing = {tool.name: base_permission(tool, {}) for tool in WORLD_TOOLS if base_permission(tool, {})}
    assert needing == {"move": 1, "take": 1, "drop": 1, "give": 1, "follow": 1}
    assert base_permission(replace(SAY, required_permission=2), {}) == 2
    assert base_permission(replace(SAY, required_permission=2), {"say": 0}) == 0
    assert base_permission(MOVE, {"say": 4}) == 1
