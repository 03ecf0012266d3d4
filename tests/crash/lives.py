"""One character's lives in a world that goes on without it: each life ends by death, the next takes up the journal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from msgspec.structs import replace

from mud_assistant.assistant.config.schema import AssistantConfig, JournalConfig, ModelConfig
from mud_assistant.assistant.journal import StoredJournal
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.runtime.storage import JournalFile, Storage
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm import get_provider
from mud_assistant.llm.testing import FakeChat, FakeOllama, FakeServer, Script, serve
from mud_assistant.resilience import HttpExchange, Ledger, Pipeline
from mud_assistant.tools import Principal, Registry
from mud_assistant.tools.verbs import WORLD_TOOLS
from tests.assistant.living import ANN, SAGE, Witness, reactor
from tests.crash.mortal import MortalJournal


@dataclass
class Lives:
    """A world with Ann in it, the model server, and the file that outlives every life of Sage."""

    path: Path
    world: EmbeddedWorld
    home: EmbeddedBody
    ann: EmbeddedBody
    witness: Witness
    fake: FakeServer
    url: str
    provider: str

    @asynccontextmanager
    async def one(self, dies_at: int | None = None) -> AsyncIterator[tuple[Assistant, MortalJournal]]:
        """One life on the journal file; the file is closed after it, as when a process ends."""
        file = JournalFile(self.path, reactor, lambda: 0.0, JournalConfig())
        await file.open()
        storage = await file.storage_of(SAGE.id, 100)
        assert isinstance(storage.journal, StoredJournal)
        mortal = MortalJournal(storage.journal, dies_at)
        exchange = HttpExchange(reactor)
        assistant = self._assistant(replace(storage, journal=mortal), exchange)
        self.home.listener = BodyListener(SAGE, assistant.inbox.hear, self.home.alone_with)
        try:
            yield assistant, mortal
        finally:
            self.home.listener = None
            mortal.dead = True
            await assistant.stop()
            await exchange.close()
            await file.close()

    def _assistant(self, storage: Storage, exchange: HttpExchange) -> Assistant:
        config = ModelConfig(first_byte_seconds=5, idle_seconds=5, max_attempts=1)
        chosen = ChosenModel(get_provider(self.provider, self.url, "sage"), "a fake", config)
        around = Dependencies(
            CharacterBody(SAGE, self.home, self.witness),
            new_process(exchange, reactor, Pipeline(reactor, Random(1), Ledger(reactor.seconds, lambda: 0.0))),  # noqa: S311  (jitter)
            storage,
            new_toolbox(Registry(WORLD_TOOLS), reactor.seconds),
        )
        return build_assistant(AssistantConfig(join_seconds=0), [chosen], around, self.witness.failed)


@asynccontextmanager
async def lives(path: Path, script: Script, provider: str = "ollama") -> AsyncIterator[Lives]:
    """The world, the server and the file, put away at the end."""
    world, witness = EmbeddedWorld(), Witness()
    home = world.add(SAGE)
    # One ear on each side of the door.
    world.add(Principal("player:2", "Ben"), "square", listener=witness)
    ann = world.add(ANN, listener=witness)
    fake: FakeServer = FakeOllama(reactor, script) if provider == "ollama" else FakeChat(reactor, script)
    async with serve(fake, reactor) as url:
        yield Lives(path, world, home, ann, witness, fake, url, provider)
