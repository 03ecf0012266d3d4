"""Puts one character after the other into embedded worlds of their own; all think with the same models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.events.trace import Observer
from mud_assistant.assistant.keys.disguises import KeyPieces
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.memory.topics.knowledge import CharacterIndex
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant
from mud_assistant.assistant.runtime.character import Assistant, OnFailure
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.worlds.embedded.hamlet import Place
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.resilience import HttpExchange, Pipeline
from mud_assistant.tools import Kind, Principal, Registry
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, ALL_WORLD_TOOLS


@dataclass(frozen=True, slots=True)
class Stage:
    """A place with an assistant living in it; `home` is the assistant's body."""

    world: EmbeddedWorld
    home: EmbeddedBody
    assistant: Assistant


@dataclass(frozen=True, slots=True)
class Staging:
    """The parts that all stages of a process share. `clock` is the reactor; `wall` gives seconds since 1970."""

    # Any: the reactor as clock.
    clock: Any
    exchange: HttpExchange
    pipeline: Pipeline
    wall: Callable[[], float]
    scrub: Callable[[str], str]
    pieces: KeyPieces

    async def settle(
        self,
        place: Place,
        settings: AssistantConfig,
        models: Sequence[ChosenModel],
        storage: Storage,
        observer: Observer,
        *,
        on_failure: OnFailure,
        character: CharacterIndex | None = None,
    ) -> Stage:
        """Put an assistant with its lore and topics into a new world made of `place` and start it. The caller stops it.

        Raises SettingsError and JournalError.
        """
        world = EmbeddedWorld(place)
        me = Principal(f"assistant:{settings.name.casefold()}", settings.name, Kind.ASSISTANT, settings.permission)
        home = world.add(me, description=f"This is {settings.name}.")
        around = Dependencies(
            CharacterBody(me, home, observer, scrub=self.scrub, pieces=self.pieces),
            new_process(self.exchange, self.clock, self.pipeline, self.wall),
            storage,
            new_toolbox(Registry([*ALL_WORLD_TOOLS, *ACCOUNT_TOOLS]), self.clock.seconds),
            character=character,
        )
        assistant = build_assistant(settings, models, around, on_failure)
        home.listener = BodyListener(me, assistant.inbox.hear, home.alone_with, home.others_than)
        await assistant.rights.load()
        assistant.start()
        return Stage(world, home, assistant)
