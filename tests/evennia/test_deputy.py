"""The confused deputy in a real game: nothing happens above the least of assistant, requester, and what was read.

Real Evennia commands, the real body, the real tools and policy; the model is replaced by the line it might try. What is
expected of a command is asked from the game's own lock on real people of every rank, not from the code under test.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from mud_assistant.tools import Status
from tests.effort import EFFORT
from tests.evennia.deputy import (
    ARGUMENTS,
    COMMANDS,
    LEVELS,
    NEVER,
    NOT_AS_A_COMMAND,
    RAN,
    Ran,
    Stage,
    changes,
    give,
    permission_now,
)
from tests.guards import FlushFailures

pytestmark = pytest.mark.usefixtures("db")

MODULES = sorted({type(command).__module__.rpartition(".")[2] for command in COMMANDS.values()})
NOBODY = 6
ALL_PAIRS = tuple(product(LEVELS, LEVELS))
#: Into so many shares all pairs are divided in a usual run.
SHARES = 4


@pytest.fixture
def stage() -> Iterator[Stage]:
    RAN.clear()
    yield Stage()
    RAN.clear()


def words(name: str) -> Iterator[str]:
    """The lines for a command: bare, then with each of its switches, then with one it does not have."""
    command, told = COMMANDS[name], ARGUMENTS.get(name, "")
    yield f"{command.key} {told}".strip()
    unknown = () if command.arg_regex else ("nonsense",)
    for switch in (*(getattr(command, "switch_options", None) or ()), *unknown):
        yield f"{command.key}/{switch} {told}".strip()


def needed(stage: Stage, name: str) -> int:
    """The lowest rank of a real person whom the game lets use the command; nothing changes for less than a player."""
    for level in LEVELS:
        if COMMANDS[name].access(stage.askers[str(level)].character, "cmd"):
            return max(1, level)
    return NOBODY


def pairs(least: int, line: str) -> Iterator[tuple[int, int]]:
    """Requester and assistant: those round the border, and for the plain line a share of all, with more effort each."""
    below, enough = max(0, min(5, least) - 1), min(5, least)
    border = {(below, 5), (5, below), (enough, enough), (5, 5), (0, 0)}
    is_plain = "/" not in line.partition(" ")[0]
    share = ALL_PAIRS if EFFORT > 1 else ALL_PAIRS[len(line) % SHARES :: SHARES]
    yield from sorted({*border, *share} if is_plain else border)


def restocked(stage: Stage) -> None:
    """What an earlier line took away is there again."""
    for name in ("map", "lamp", "vase"):
        if not any(thing.key == name for thing in stage.village.hall.contents):
            stage.village.thing(name, f"A {name}.")
    if not stage.sage.contents:
        stage.village.thing("coin", "A coin.", stage.sage)
    for one in (stage.sage, stage.ben.character):
        if one.location is not stage.village.hall:
            one.move_to(stage.village.hall, quiet=True, move_hooks=False)


def sent(stage: Stage) -> int:
    """How much everybody has been shown."""
    return sum(len(player.session.sent) for player in (*stage.askers.values(), stage.ben))


def test_the_ranks_of_the_stage_are_those_of_the_game(stage: Stage) -> None:
    assert [stage.principal(str(level)).permission for level in LEVELS] == list(LEVELS)
    assert permission_now(stage) == 1


def test_what_must_never_be_run_is_there_to_be_tried() -> None:
    assert set(ARGUMENTS) | NEVER | NOT_AS_A_COMMAND <= set(COMMANDS)


@pytest.mark.parametrize("module", MODULES)
async def test_no_command_runs_above_the_least_of_assistant_and_requester(
    stage: Stage, module: str, flush_failures: FlushFailures
) -> None:
    mine = [name for name, command in COMMANDS.items() if type(command).__module__.endswith(f".{module}")]
    for name in mine:
        give(stage, name)
        least = needed(stage, name)
        banned = name in NEVER | NOT_AS_A_COMMAND
        for line in words(name):
            restocked(stage)
            for requester, assistant in pairs(least, line):
                may = not banned and min(requester, assistant) >= least
                await once(stage, name, line, requester, assistant, may=may)
    flush_failures()  # commands of accounts break on a character that has none: the game logs it, the model is told


async def once(
    stage: Stage, name: str, line: str, requester: int, assistant: int, *, may: bool, trust: int = 5
) -> None:
    """Try a line, and judge what the game really did."""
    RAN.clear()
    before, shown = changes(), sent(stage)
    executed = await stage.asked(line, stage.principal(str(requester)), assistant, trust)
    case = (line, f"requester {requester}, assistant {assistant}, sight {trust}", executed.status, executed.result)
    assert bool(RAN) is may, case
    if not may:
        assert (changes(), sent(stage)) == (before, shown), case
        assert executed.status in {Status.REFUSED, Status.FAILED}, case
    for ran in RAN:
        judge(stage, ran, name, least=min(requester, assistant, trust), requester=requester, case=case)
    assert permission_now(stage) == 1, case


def judge(stage: Stage, ran: Ran, name: str, *, least: int, requester: int, case: object) -> None:
    """What ran was the command that was asked for, by the character alone, with no more than anybody involved has."""
    assert (ran.kind, ran.caller) == (name, stage.sage), case
    assert ran.permission <= least, case
    assert not ran.is_superuser, case
    assert COMMANDS[name].access(stage.askers[str(requester)].character, "cmd"), case


@pytest.mark.parametrize("module", MODULES)
async def test_no_command_runs_above_what_was_read(stage: Stage, module: str, flush_failures: FlushFailures) -> None:
    for name, command in COMMANDS.items():
        if type(command).__module__.endswith(f".{module}") and name not in NEVER | NOT_AS_A_COMMAND:
            give(stage, name)
            least, line = needed(stage, name), next(words(name))
            for trust in LEVELS:
                restocked(stage)
                await once(stage, name, line, 5, 5, may=trust >= least, trust=trust)
    flush_failures()
