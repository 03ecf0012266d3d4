"""What was promised, and who is to keep still, by the commands of players and of the owner."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from twisted.internet.task import deferLater

from mud_assistant.assistant.events.goal import GoalState
from mud_assistant.assistant.worlds.evennia.body.identity import principal_of
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step, serve
from mud_assistant.resilience import Amount
from mud_assistant.tools import Principal
from mud_assistant.tools.policy.decide import DENIED
from tests.assistant.living import promise
from tests.evennia.office import Office, office, ollama, reactor
from tests.evennia.village import Player

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")
REMIND = "Sage, please remind me in ten minutes to {what}"


def promising(request: RecordedRequest) -> Step:
    return Reply(calls=(Call("say", {"text": "Gladly, I will remind you."}),))


def who(player: Player) -> Principal:
    return principal_of(player.character, player.character)


async def test_players_see_their_own_promises_and_drop_them(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(promising), reactor) as url:
        sage = await here.sage(url)
        anna, ben = here.player("Anna"), here.player("Ben")
        assert await here.orders("promises", anna) == "Nobody has promised you anything."
        await here.says(anna, sage, REMIND.format(what="feed the hens"))
        await here.says(ben, sage, REMIND.format(what="eat"))
        told = await here.orders("promises Sage", anna)
        assert "Sage promised you:" in told
        assert "feed the hens (just now; open)" in told
        assert "eat" not in told
        assert "Nothing of number 2 is promised to you" in await here.orders("promises/drop 2", anna)
        assert "Type: promises/drop <number>" in await here.orders("promises/drop", anna)
        assert "Sage will not do it: remind you" in await here.orders("promises/drop 1", anna)
        assert "feed the hens (just now; dropped: you dropped it)" in await here.orders("promises", anna)
        assert sage.assistant is not None
        [left] = sage.assistant.context.memory.goals.all()
        assert left.asker.id == who(ben).id


async def test_an_owner_sees_all_but_words_in_private_also_of_one_that_is_stopped(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(promising), reactor) as url:
        sage = await here.sage(url)
        anna = here.player("Anna")
        assert await here.orders("assistant/promises Sage") == "Sage has promised nothing."
        for what in ("feed the hens", "hide the key"):
            await here.says(anna, sage, REMIND.format(what=what))
        assert sage.assistant is not None
        first, second = sage.assistant.context.memory.goals.all()
        await promise(sage.assistant, replace(second, audience=frozenset({who(anna).id})))
        told = await here.orders("assistant/promises Sage")
        assert "2 promises are to be kept: assistant/promises Sage" in await here.orders("assistant/status Sage")
        assert "1. remind you" in told
        assert "2. (in private) (for Anna, just now; open)" in told
        assert "hide the key" not in told
        assert "Sage will not do it: (in private)." in await here.orders("assistant/promises Sage = drop 2")
        await here.orders("assistant/stop Sage")
        assert "no open promise of number 2" in await here.orders("assistant/promises Sage = drop 2")
        assert "feed the hens" in await here.orders("assistant/promises Sage = drop 1")
        await here.orders("assistant/start Sage")
        await here.settled()
        told = await here.orders("assistant/promises Sage")
        assert told.count("dropped: the owner dropped it") == 2
        goals = await here.service.parts.journal.goals_of(sage.embodiment.me.id)
        assert {goal.id: goal.state for goal in goals} == dict.fromkeys((first.id, second.id), GoalState.DROPPED)


async def reasons(here: Office) -> list[str]:
    """Why nobody does anything, once all have looked."""
    found = []
    for runner in here.service.runners.values():
        assert runner.assistant is not None
        await runner.assistant.initiative.look()
        found += [one.why for one in runner.assistant.context.memory.reasons.latest]
    return found


async def test_an_owner_lets_one_or_all_be_quiet_or_away(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await here.sage(url)
        assert await here.orders("assistant/quiet all") == (
            "It is off. To change it: assistant/quiet NAME (or: all) = on (or: off)"
        )
        assert "Type: assistant/quiet NAME" in await here.orders("assistant/quiet Sage = perhaps")
        assert "Sage does nothing of its own accord" in await here.orders("assistant/quiet Sage = on")
        assert "its owner wants it quiet" in await reasons(here)
        told = await here.orders("assistant/status Sage")
        assert "Of its own accord not done: initiative (its owner wants it quiet)" in told
        assert "All assistants do nothing of their own accord" in await here.orders("assistant/quiet all = on")
        assert "but not now: its owner wants quiet of everybody" in await here.orders("assistant/quiet Sage = off")
        await here.orders("assistant/quiet all = off")
        assert "Sage is away" in await here.orders("assistant/away Sage = on")
        assert "It is away." in await here.orders("assistant/away Sage")
        assert (await reasons(here))[0] == "it is away, as its owner wants it"
        assert await here.orders("assistant/away Sage = off") == "Sage is back."


async def test_an_owner_names_deeds_and_ends_them(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await here.sage(url)
        assert "autonomous" not in (await here.orders("assistant/status Sage")).casefold()
        await here.orders("assistant/set Sage/autonomous = move, take")
        await here.settled()
        told = await here.orders("assistant/status Sage")
        assert "Autonomous: it may move, take of its own accord. To end it: assistant/quiet Sage = on" in told
        await here.orders("assistant/quiet Sage = on")
        assert "its owner wants it quiet" in await reasons(here)
        await here.orders("assistant/set Sage/autonomous = execute_command")
        while "'execute_command' is no deed to name" not in await here.orders("assistant/status Sage"):
            await deferLater(reactor, 0.01)


async def test_a_player_is_not_spoken_to_first(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        sage, mira = await here.sage(url), await here.made("Mira", url)
        anna = here.player("Anna")
        assert "Sage, Mira will not speak to you first. To end that: quiet/off" in await here.orders("quiet", anna)
        assert sage.assistant is not None
        assert mira.assistant is not None
        assert who(anna).id in mira.assistant.peace.unwanted
        assert await here.orders("quiet/off Mira", anna) == "Mira may speak to you first again."
        assert (sage.assistant.peace.may_greet(who(anna).id), mira.assistant.peace.may_greet(who(anna).id)) == (
            False,
            True,
        )
        assert "Type: quiet [<name>]" in await here.orders("quiet/on", anna)


async def test_an_owner_is_told_what_impulses_would_cost_and_what_they_cost_today(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        sage = await here.sage(url)
        assert "impulses would cost nothing" in await here.orders("assistant/plan Sage")
        await here.says(here.player("Anna"), sage, "Sage, hello")
        told = await here.orders("assistant/plan Sage = 0.80")
        assert "Sage would think of its own accord about" in told
        assert "in money" in told
        assert "To switch them on: assistant/set Sage/impulses = yes" in told
        assert "Price: give what a million tokens cost" in await here.orders("assistant/plan Sage = much")
        assert "initiative:Sage" not in await here.orders("assistant/budget")
        assert sage.assistant is not None
        account = sage.assistant.context.model.billing.caller_of_itself(sage.embodiment.me)
        here.service.parts.ledger.reserve(account.accounts, Amount(1, 10, 0.0)).settle(Amount(1, 10, 0.0))
        assert "initiative:Sage" in await here.orders("assistant/budget")


async def test_who_switches_impulses_on_is_told_when_the_model_is_never_asked_for_one(tmp_path: Path) -> None:
    never = "The model it thinks with now is asked in plain turns, and never for an impulse."
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await here.sage(url)
        assert (await here.orders("assistant/set Sage/impulses = yes")).endswith("impulses = yes (kept).")
        assert never not in await here.orders("assistant/plan Sage")
        await here.orders("assistant/set Sage/model.asking = plain")
        await here.settled()
        assert (await here.orders("assistant/set Sage/impulses = yes")).endswith(f"(kept). {never}")
        await here.settled()
        assert never in await here.orders("assistant/plan Sage")


def test_no_assistant_runs_these_commands() -> None:
    assert {"promises", "quiet"} <= DENIED
