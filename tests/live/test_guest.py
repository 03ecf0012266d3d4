"""A character as a guest in somebody else's game, as its owner has it: `serve` with `[world] telnet`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from twisted.internet.task import deferLater

from mud_assistant.llm.testing import Call
from tests.assistant.worlds.telnet.tbamud_server import PASSWORD, SmallTba
from tests.live.command import Command, Result, reactor, run, start
from tests.live.hosted_game import ENVIRONMENT, PATIENCE, HostedGame, Speaker, hosted, soon

JOURNAL = '[journal]\nfile = "sage.journal"\n'


def written(folder: Path) -> bytes:
    """All bytes of the journal."""
    return b"".join(path.read_bytes() for path in folder.glob("sage.journal*"))


class Owner:
    """Starts `mud-assistant serve` in a folder, and ends it."""

    def __init__(self, folder: Path, game: HostedGame) -> None:
        self.folder, self.game = folder, game
        self.commands: list[Command] = []

    def serve(self) -> Command:
        log = str(self.folder / "serve.log")
        self.commands.append(start("serve", "--log", log, folder=str(self.folder), environment=ENVIRONMENT))
        return self.commands[-1]

    async def entered(self) -> SmallTba:
        """Serve, and return the connection when the character plays and thinks."""
        serving = self.serve()
        server = await soon(self.game.entered.get())
        await soon(serving.saw("thinks with"))
        return server

    async def end(self, signal: str = "INT") -> Result:
        """End the last command."""
        transport: Any = self.commands[-1].transport
        if not self.commands[-1].ended.called:
            transport.signalProcess(signal)
        return await soon(self.commands[-1].ended)


@asynccontextmanager
async def owned(folder: Path, brain: Any, more: str = JOURNAL) -> AsyncIterator[Owner]:
    async with hosted(folder, brain, more) as game:
        owner = Owner(folder, game)
        try:
            yield owner
        finally:
            await owner.end("KILL")


async def test_a_character_lives_in_the_game_of_the_settings(tmp_path: Path) -> None:
    brain = Speaker(Call("say", {"text": "Good day, Anna."}))
    async with owned(tmp_path, brain) as owner:
        server = await owner.entered()
        said = server.types("say")
        server.says("Anna says, 'Hello, Sage!'")
        assert await soon(said) == "say Good day, Anna. (I am an AI character, not a person.)"
        assert "Anna says" in brain.prompts[0]
        ended = await owner.end()
        assert ended.status == 0
        assert f"Sage is in the game at {owner.game.address}" in ended.err
        kept = (tmp_path / "serve.log").read_text() + ended.err + ended.out
        assert PASSWORD not in kept
        assert PASSWORD.encode() not in written(tmp_path)
        assert owner.game.there == []


async def test_who_is_who_is_known_over_a_restart(tmp_path: Path) -> None:
    """Another Anna came; a restart later the first one is known by her pass-phrase, which no model is shown."""
    brain = Speaker()

    async def ask_until(server: SmallTba, noticed: str) -> None:
        while noticed not in "".join(brain.prompts):
            server.says("Anna says, 'Sage, do you know me?'")
            await deferLater(reactor, 1.0)
            assert len(brain.prompts) < PATIENCE

    async with owned(tmp_path, brain) as owner:
        server = await owner.entered()
        told = server.types("tell Anna")
        server.says("\x1b[0;31mAnna tells you, 'my pass-phrase is swallows in spring'\x1b[0m")
        server.says("\x1b[0;31mAnna tells you, 'quiet'\x1b[0m")
        assert "Sage will not speak to you first" in await soon(told)
        await ask_until(server, "Anna left a pass-phrase with you")
        server.says("A booming voice announces, 'Welcome Anna to the realm!'")
        await deferLater(reactor, 1.0)
        await owner.end()
        server = await owner.entered()
        server.says("\x1b[0;31mAnna tells you, 'my pass-phrase is swallows in spring'\x1b[0m")
        await ask_until(server, "they are the Anna whom you have known since")
        assert "swallows" not in "".join(brain.prompts)


async def test_anybody_may_be_neither_heard_nor_remembered(tmp_path: Path) -> None:
    brain = Speaker()
    async with owned(tmp_path, brain) as owner:
        server = await owner.entered()
        told = server.types("tell Anna")
        server.says("\x1b[0;31mAnna tells you, 'mute'\x1b[0m")
        assert await soon(told) == (
            "tell Anna (Sage neither hears nor remembers you from now on. To end that: unmute) "
            "(I am an AI character, not a person.)"
        )
        server.says("Anna says, 'Sage, are you there?'")
        told = server.types("tell Bert")
        server.says("\x1b[0;31mBert tells you, 'forget me'\x1b[0m")
        assert "has forgotten" in await soon(told)
        assert brain.prompts == []


async def test_an_act_that_a_kill_cut_off_is_not_done_again(tmp_path: Path) -> None:
    brain = Speaker(Call("say", {"text": "Good day, Anna."}))
    async with owned(tmp_path, brain) as owner:
        server = await owner.entered()
        said = server.types("say")
        server.holds_echo = True
        server.says("Anna says, 'Hello, Sage!'")
        await soon(said)
        await owner.end("KILL")
        again = await owner.entered()
        await deferLater(reactor, 2.0)
        assert [line for line in again.typed if line.startswith("say")] == []
        await owner.end()
        unknown = await run(["replay", "sage.journal", "--unknown"], b"", folder=str(tmp_path))
        assert "Good day, Anna." in unknown.out


async def test_the_owner_is_told_why_the_character_is_away(tmp_path: Path) -> None:
    async with owned(tmp_path, Speaker()) as owner:
        owner.game.says_wrong = True
        serving = owner.serve()
        await soon(serving.saw(f"Sage is away from the game at {owner.game.address}: the game does not take the pass"))
        ended = await owner.end()
        assert (ended.status, owner.game.count) == (0, 1)
        assert "world: Sage is away" in (tmp_path / "serve.log").read_text()
