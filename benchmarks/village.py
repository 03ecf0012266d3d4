"""Assistants in the embedded world, each in a room of its own with one player, over one exchange and one pipeline."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from msgspec import structs

from benchmarks.canned import MODEL, history
from mud_assistant.assistant.config.schema import AssistantConfig, JournalConfig, ModelConfig
from mud_assistant.assistant.events.trace import NobodyWatches, Observer
from mud_assistant.assistant.journal import MemoryJournal, StreamEntry
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.in_memory import MemoryFile
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.runtime.storage import JournalFile, KeptJournal, Storage
from mud_assistant.assistant.worlds.embedded.hamlet import Place, Room
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm import LLMProvider, get_provider
from mud_assistant.llm.messages import Message, Role, Text
from mud_assistant.resilience import HttpExchange, Ledger, Pipeline
from mud_assistant.tools import Kind, Principal, Registry, Status
from mud_assistant.tools.game import Thing
from mud_assistant.tools.verbs import WORLD_TOOLS
from mud_assistant.tools.verbs.looking import INSPECT, InspectArguments

THING = Thing("astrolabe", "A brass astrolabe with a cracked rim. It has been mended with silver wire, long ago.")


class InspectWithNote(InspectArguments):
    """What the stub's model gives: also why it looks."""

    note: str = ""


#: The tools of the game, with an `inspect` that takes what the stub's model gives.
GAME_TOOLS = [replace(INSPECT, arguments=InspectWithNote) if tool is INSPECT else tool for tool in WORLD_TOOLS]
#: Big enough that nothing is ever trimmed from a prompt.
ENDLESS = {"context_tokens": 2_000_000, "examples": False}


def past(count: int) -> tuple[StreamEntry, ...]:
    """A stream of so many messages, less the one that comes; the same objects every time, so encoded once."""
    said = [Message(Role(str(one["role"])), (Text(str(one["content"])),)) for one in history(count)[1:-1]]
    return tuple(StreamEntry((message,), 5, (), 1, ("player:1",), at) for at, message in enumerate(said, 1))


class PlayerEars:
    """Ears of a player: `heard` gets each utterance with the moment of it."""

    def __init__(self, hears: Callable[[str], None]) -> None:
        self._hears = hears

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        """Somebody spoke aloud."""
        if speaker.kind is Kind.ASSISTANT:
            self._hears(text)

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        """Somebody whispered."""
        self._hears(text)

    def heard_page(self, speaker: Principal, text: str) -> None:
        """Somebody paged."""
        self._hears(text)

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        """Not looked at."""

    def saw_emote(self, actor: Principal, text: str) -> None:
        """Not looked at."""

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        """Not looked at."""

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        """Not looked at."""

    def saw_departure(self, who: Principal, direction: str) -> None:
        """Not looked at."""


@dataclass(slots=True)
class House:
    """One assistant, its body, and the player beside it."""

    number: int
    assistant: Assistant
    home: EmbeddedBody
    player: EmbeddedBody
    heard: list[str] = field(default_factory=list)

    async def ask(self, text: str) -> None:
        """The player says something; returns when the assistant has dealt with it."""
        await self.player.say(text)
        await self.assistant.settled()

    def statuses(self) -> list[Status]:
        """How the tool calls of the last run ended; for a house whose journal is in memory."""
        journal = self.assistant.context.memory.journal
        assert isinstance(journal, MemoryJournal)
        return [done.status for done in journal.finished[-1].results.values()]


@dataclass(frozen=True, slots=True)
class Tenant:
    """How one assistant lives: where its model is and how it is asked."""

    url: str
    model: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    stream: tuple[StreamEntry, ...] = ()
    #: None for a server of the Chat Completions dialect at `url`.
    provider: LLMProvider | None = None


class Village:
    """All of them. `journal` is a file for all, None for memory."""

    def __init__(
        self, reactor: Any, rooms: int, *, journal: Path | None = None, ledger: bool = True, **exchange: Any
    ) -> None:
        self.reactor = reactor
        self.exchange = HttpExchange(reactor, **exchange)
        wall = time.time  # noqa: TID251  (composition root)
        pipeline = Pipeline(reactor, Random(1), Ledger(reactor.seconds, wall) if ledger else None)  # noqa: S311
        #: What all assistants share.
        self.process = new_process(self.exchange, reactor, pipeline)
        #: Set it before anybody settles to have another journal than a file.
        self.file: KeptJournal | None = (
            JournalFile(journal, reactor, wall, JournalConfig(file=str(journal))) if journal else None
        )
        self._memory = MemoryFile(reactor.seconds)
        self.houses: list[House] = []
        self._registry = Registry(GAME_TOOLS)
        described = "A small room with a desk under the window, and a shelf of books that nobody has dusted."
        places = [Room(f"room{number}", f"Room {number}", described, (), (THING,)) for number in range(rooms)]
        self.world = EmbeddedWorld(Place(tuple(places)))

    async def settle(
        self, number: int, tenant: Tenant, observer: Observer | None = None, hears: Callable[[str], None] | None = None
    ) -> House:
        """A new assistant with a player in the room of this number; the world forgets who lived there before."""
        for body in [body for body in self.world.bodies if body.room.key == f"room{number}"]:
            self.world.remove(body)
        me = Principal(f"assistant:{number}", "Sage", Kind.ASSISTANT)
        home = self.world.add(me, f"room{number}")
        storage = await self._storage(number, tenant)
        assistant = self._built(me, home, storage, tenant, observer)
        heard: list[str] = []
        player = self.world.add(
            Principal(f"player:{number}", "Anna"), f"room{number}", PlayerEars(hears or heard.append)
        )
        home.listener = BodyListener(me, assistant.inbox.hear, home.alone_with)
        assistant.start()
        server = House(number, assistant, home, player, heard)
        self.houses.append(server)
        return server

    async def close(self) -> None:
        """End everybody, and the connections."""
        async with AsyncExitStack() as stack:
            if self.file is not None:
                stack.push_async_callback(self.file.close)
            stack.push_async_callback(self._exchange_closed)
            for server in self.houses:
                stack.push_async_callback(server.assistant.stop)

    async def move_out(self, houses: Sequence[House]) -> None:
        """These live no more."""
        for server in houses:
            await server.assistant.stop()
            self.houses.remove(server)

    async def _exchange_closed(self) -> None:
        await self.exchange.close()

    async def _storage(self, number: int, tenant: Tenant) -> Storage:
        kept = (
            await self.file.storage_of(f"assistant-{number}", 5000)
            if self.file
            else await self._memory.storage_of(f"assistant-{number}", 5000)
        )
        return structs.replace(kept, stream=kept.stream or tenant.stream)

    def _built(
        self, me: Principal, home: EmbeddedBody, storage: Storage, tenant: Tenant, observer: Observer | None
    ) -> Assistant:
        config = ModelConfig(**{"max_attempts": 1, "examples": False, "max_in_flight": 200, **tenant.model})
        chosen = ChosenModel(tenant.provider or get_provider("local", tenant.url, MODEL), "a stub", config)
        around = Dependencies(
            CharacterBody(me, home, observer or NobodyWatches()),
            self.process,
            storage,
            new_toolbox(self._registry, self.reactor.seconds),
        )
        return build_assistant(
            AssistantConfig(**{"join_seconds": 0, "max_run_tokens": 10_000_000, **tenant.settings}), [chosen], around
        )
