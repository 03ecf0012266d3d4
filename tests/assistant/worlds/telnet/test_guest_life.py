"""The life of a guest in a service: when it is in its game, when it leaves, and what its owner is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet.defer import Deferred

from mud_assistant.assistant.checks.finding import FindingState
from mud_assistant.assistant.config.settings import read_settings
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.service.host import ServiceConfig
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.service.troubles import TroubleKind
from mud_assistant.assistant.surfaces.guest_home import GuestHome
from mud_assistant.assistant.surfaces.serve.file import SettingsFile
from mud_assistant.assistant.surfaces.serve.local_host import LocalHost
from mud_assistant.assistant.surfaces.standalone import Standalone, StandaloneOptions, principal_of
from mud_assistant.assistant.surfaces.start_progress import Progress
from mud_assistant.assistant.surfaces.worker.members import Member
from mud_assistant.llm.testing import Call
from tests.assistant.living import reactor
from tests.live.hosted_game import ENVIRONMENT, HostedGame, Speaker, hosted, soon, until


class Housed:
    """A guest in a service of this process. `said` is what the operator is shown."""

    def __init__(self, folder: Path, game: HostedGame) -> None:
        self.game = game
        self.said: list[str] = []
        self.config = read_settings(folder / "assistant.toml", {})
        made = ServiceConfig(self.config, folder, ENVIRONMENT, lambda: 1_800_000_000.0, Secrets(), folder / "journal")
        self.service = AssistantService(reactor, made, Random(1))  # noqa: S311  (jitter)
        self.service.open()
        file = SettingsFile(folder / "assistant.toml")
        options = StandaloneOptions(self.config, file, made.wall)
        progress = Progress(self.said.append, terminal=False)
        self.me = principal_of(self.config.assistant)
        program = Standalone(reactor, options, self.service, progress, AsyncExitStack())
        self.home = GuestHome(program, [Member(self.me, self.config, file)])
        self.life = self.home.lives[self.me.id]

    async def begin(self) -> Any:
        """Start, and return the connection when the character plays and thinks."""
        runner = self.home.begin(self.me.id, self.config)
        await runner.first_attempt()
        server = await soon(self.game.entered.get())
        await until(lambda: self.life.finding().state is FindingState.OK)
        return server


@asynccontextmanager
async def housed(folder: Path, *calls: Call) -> AsyncIterator[Housed]:
    async with hosted(folder, Speaker(*calls)) as game:
        one = Housed(folder, game)
        try:
            yield one
        finally:
            await one.service.finish()


async def test_a_restart_with_other_settings_does_not_log_out_and_loses_nothing(tmp_path: Path) -> None:
    async with housed(tmp_path, Call("say", {"text": "Good day."})) as one:
        server = await one.begin()
        runner = one.home.begin(one.me.id, one.config)
        said = server.types("say")
        server.says("Anna says, 'Hello, Sage!'")
        await runner.first_attempt()
        assert (await soon(said)).startswith("say Good day.")
        assert (one.game.count, len(one.game.there)) == (1, 1)


async def test_a_stop_logs_out_and_a_start_logs_in_again(tmp_path: Path) -> None:
    async with housed(tmp_path) as one:
        await one.begin()
        await one.service.stop(one.me.id)
        await until(lambda: one.game.there == [])
        assert "the character was stopped" in one.home.where(one.me.id)
        await one.begin()
        assert (one.game.count, one.game.most) == (2, 1)


async def test_an_emergency_stop_leaves_the_game_at_once(tmp_path: Path) -> None:
    async with housed(tmp_path) as one:
        await one.begin()
        one.service.halt()
        await until(lambda: one.game.there == [])
        assert one.game.count == 1


async def test_a_lease_that_may_be_over_closes_the_connection_and_nothing_is_typed(tmp_path: Path) -> None:
    async with housed(tmp_path) as one:
        server = await one.begin()
        is_ours = True
        one.service.parts.journal.may_act = lambda _: is_ours  # type: ignore[method-assign, assignment]
        is_ours = False
        spoken = Deferred.fromCoroutine(one.life.guest.body.say("Is anybody there?"))
        spoken.addErrback(lambda _: None)
        await until(lambda: one.game.there == [])
        assert [line for line in server.typed if line.startswith("say")] == []
        assert one.game.count == 1
        is_ours = True
        await soon(one.game.entered.get())
        assert one.game.most == 1
        await spoken


async def test_the_page_tells_where_it_is_and_why_it_is_away(tmp_path: Path) -> None:
    async with housed(tmp_path) as one:
        server = await one.begin()
        host = LocalHost(one.service, one.home.locals())
        await one.life.guest.body.look()
        assert host.assistants()[0].place == f"in the game at {one.game.address}, in The Hall"
        assert "world: Sage is in the game" in [finding.line()[9:] for finding in await host.findings()][-1]
        server.show("\r\nThis body has been usurped!\r\n")
        await until(lambda: bool(one.service.troubles.of_kind(TroubleKind.WORLD)))
        why = f"Sage is away from the game at {one.game.address}: somebody else plays the character"
        assert [trouble.sentence for trouble in one.service.troubles.of_kind(TroubleKind.WORLD)] == [why]
        assert [finding.sentence for finding in await host.findings()][-1] == why
        assert f"{why}.\n" in one.said
        assert one.game.count == 1
        await one.service.stop(one.me.id)
        assert one.service.troubles.of_kind(TroubleKind.WORLD) == []


async def test_without_permission_no_other_machine_is_connected_to(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text(
        '[model]\nprovider = "ollama"\nurl = "http://127.0.0.1:9"\nmodel = "sage"\n'
        '[world]\ntelnet = "192.0.2.1:4000"\nprofile = "diku"\n'
    )
    game = HostedGame()
    one = Housed(tmp_path, game)
    try:
        one.home.begin(one.me.id, one.config)
        await until(lambda: bool(one.service.troubles.of_kind(TroubleKind.WORLD)))
        assert "fill in `permission`" in one.home.where(one.me.id)
    finally:
        await one.service.finish()
        await game.close()
