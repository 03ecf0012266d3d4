"""An admin at work in the village: a real service with its journal on disk, and the commands as players have them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from evennia import CmdSet
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import Deferred

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.service.host import ServiceConfig
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.worlds.evennia import runners, server
from mud_assistant.assistant.worlds.evennia.body.identity import principal_of
from mud_assistant.assistant.worlds.evennia.commands import all_commands
from mud_assistant.assistant.worlds.evennia.console import alerts
from mud_assistant.assistant.worlds.evennia.console.typed_command import WORK
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step
from tests.evennia.village import Player, Village

reactor: Any = _reactor
#: Whatever takes longer has gone wrong: a test fails then, and does not wait for ever.
SECONDS = 60
#: Unless a test says otherwise there is no model, and none is started.
AWAY = {"model": {"provider": "ollama", "url": "http://127.0.0.1:9", "model": "none", "max_attempts": 1}}
HELLO = Reply(calls=(Call("say", {"text": "Hello there."}),))


class OurCommands(CmdSet):  # type: ignore[misc]  # Evennia has no types
    """What the installation adds to every account."""

    key = "ours"

    def at_cmdset_creation(self) -> None:
        for command in all_commands():
            self.add(command)


def ollama(brain: Any = None) -> FakeOllama:
    """A model server whose model says hello."""

    def hello(request: RecordedRequest) -> Step:
        return HELLO

    return FakeOllama(reactor, brain or hello)


@dataclass
class Office:
    """The village with a service in it, and an admin in the hall."""

    service: AssistantService
    village: Village
    admin: Player

    async def orders(self, line: str, player: Player | None = None) -> str:
        """What somebody reads, the admin unless said otherwise, after what he typed was done."""
        player = player or self.admin
        player.raw()
        await player.does(line)
        await Deferred.fromCoroutine(WORK.settled()).addTimeout(SECONDS, reactor)
        return "\n".join(player.heard())

    async def settled(self) -> None:
        """Returns when every assistant is awake and has dealt with what it heard."""
        for runner in tuple(self.service.runners.values()):
            await Deferred.fromCoroutine(runner.settled()).addTimeout(SECONDS, reactor)

    def player(self, name: str, permission: str = "Player") -> Player:
        """Somebody else who plays and has our commands."""
        player = self.village.player(name, permission)
        player.account.cmdset.add(OurCommands)
        return player

    async def sage(self, url: str, **overrides: Any) -> AssistantRunner:
        """An assistant named Sage in the hall, awake, that thinks with the model at this address."""
        return await self.made("Sage", url, **overrides)

    async def made(self, name: str, url: str, **overrides: Any) -> AssistantRunner:
        """An assistant, awake."""
        from mud_assistant.assistant.worlds.evennia import creation  # noqa: PLC0415  (needs a game)

        model = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1, "examples": False}
        character = creation.create_assistant(name, self.village.hall, overrides={"model": model, **overrides})
        runner = server.runner_of(character)
        assert runner is not None
        await runner.settled()
        return runner

    async def says(self, player: Player, runner: AssistantRunner, text: str) -> None:
        """Somebody says something to an assistant, which deals with it."""
        who = principal_of(player.character, player.character)
        runner.hear(lambda event_id, at: Said(id=event_id, at=at, who=who, text=text, to_me=True, alone=True))
        await runner.settled()


@asynccontextmanager
async def office(
    folder: Path, *, settings: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Office]:
    """An office whose journal is in `folder`; nothing of it is left at the end."""
    home = ServiceConfig(
        merged(AWAY, settings or {}), folder, environment or {}, lambda: 1_000_000.0, Secrets(), folder / "journal"
    )
    service = AssistantService(reactor, home, Random(1))  # noqa: S311  (jitter)
    service.open()
    server._Running.service = service
    alerts.attach()
    village = Village()
    try:
        admin = village.player("Boss", "Admin")
        admin.account.cmdset.add(OurCommands)
        yield Office(service, village, admin)
    finally:
        await WORK.stop()
        server._Running.service = None
        await service.close()
        runners.detach_all()
