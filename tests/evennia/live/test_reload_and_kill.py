"""A real game: the assistant lives through reloads, stops and kills, and what was said to it is answered once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.llm.testing import Call, Hang, Reply
from tests.evennia.live.game import Game
from tests.evennia.live.living import KEY, Model, game_with_sage, reactor
from tests.evennia.live.telnet import Telnet

#: Whole games start and stop here: half a minute for each.
pytestmark = pytest.mark.slow
#: In-game `reload` says it to everybody who is connected.
BACK = "Server restarted"


def said(game: Game, number: int) -> int:
    """How often the assistant answered this number, in all lives of the Server."""
    return sum(f"I heard {number}." in line for line in game.witnessed())


async def test_made_in_the_game_it_answers_over_a_stop_and_leaves_neither_words_nor_key_in_the_games_files(
    template: Path, tmp_path: Path
) -> None:
    async with game_with_sage(template, tmp_path / "game") as (game, model):
        owner = game.telnets[0]
        seen = await owner.asks("say Sage, 7", "I heard 7.")
        assert 'Sage says, "I heard 7."' in seen
        assert said(game, 7) == 1
        # A stop ends in time with a model that hangs, and the next start answers.
        model.next = [Hang("headers")]
        before = model.asked()
        owner.type("say Sage, 1")
        await model.was_asked(before + 1)
        model.is_down = True  # until somebody is there to hear it
        said_stop = await game.stop()
        assert "Evennia shut down" in said_stop
        assert "Traceback" not in game.log()
        await game.start()
        owner = await game.owner()
        model.is_down = False
        await owner.saw("I heard 1.")
        assert (said(game, 1), said(game, 7)) == (1, 1)
        await game.stop()
        assert "Traceback" not in game.log()
        database = (game.folder / "server/evennia.db3").read_bytes()
        assert b"I heard" not in database
        assert b"Sage, 7" not in database
        journal = game.folder / "server/assistants.sqlite3"
        assert b"Sage, 7" in journal.read_bytes()
        found = [path for path in game.folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
        assert found == []


async def test_reloads_and_kills_lose_nothing_and_repeat_nothing(template: Path, tmp_path: Path) -> None:
    async with game_with_sage(template, tmp_path / "game") as (game, model):
        await three_kills_lose_nothing_and_repeat_nothing(game, model)
        await a_run_that_a_reload_cuts_off_is_answered_once_after_it(game, model)
        assert [said(game, number) for number in range(1, 8)] == [1] * 7


async def three_kills_lose_nothing_and_repeat_nothing(game: Game, model: Model) -> None:
    """While the model thinks, between two steps, and as soon as it has spoken."""
    owner = game.telnets[0]
    # While the model thinks for the first time.
    model.next = [Hang("headers")]
    before = model.asked()
    owner.type("say Sage, 1")
    await model.was_asked(before + 1)
    owner = await killed_and_back(game)
    await owner.saw("I heard 1.")
    # Between two steps: what the first one came to is not asked again.
    model.next = [Reply(calls=(Call("look"),)), Hang("headers")]
    before = model.asked()
    owner.type("say Sage, 2")
    await model.was_asked(before + 2)
    owner = await killed_and_back(game)
    await owner.saw("I heard 2.")
    assert model.asked() == before + 3
    # As soon as it has spoken.
    owner.type("say Sage, 3")
    await owner.saw("I heard 3.")
    owner = await killed_and_back(game)
    # It lives: the next one is answered, and none was answered twice.
    await owner.asks("say Sage, 4", "I heard 4.")
    assert [said(game, number) for number in (1, 2, 3, 4)] == [1, 1, 1, 1]


async def a_run_that_a_reload_cuts_off_is_answered_once_after_it(game: Game, model: Model) -> None:
    """Once, and once when a second reload cuts off the run that goes on."""
    owner = game.telnets[0]
    for number, reloads in ((5, 1), (6, 2)):
        model.next = [Hang("headers")] * reloads
        before = model.asked()
        owner.type(f"say Sage, {number}")
        for reload in range(1, reloads + 1):
            await model.was_asked(before + reload)
            started = reactor.seconds()
            await owner.asks("reload", BACK)
            assert reactor.seconds() - started < 60
        await owner.saw(f"I heard {number}.")
        assert said(game, number) == 1
        assert model.asked() == before + reloads + 1
    owner.type("say Sage, 7")
    seen = await owner.asks("reload", BACK)
    await owner.saw("I heard 7.")
    assert said(game, 7) == 1, seen


async def killed_and_back(game: Game) -> Telnet:
    """The owner's connection, back in the first room after the Server was killed and started as its owner does it."""
    await game.kill_server()
    await game.start()
    owner = game.telnets[-1]
    await owner.asks("ic", "Limbo")
    return owner
