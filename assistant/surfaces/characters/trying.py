"""Makes the vectors by which `mud-assistant character test` says what a line finds by its meaning."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace
from twisted.internet.defer import Deferred

from mud_assistant.assistant.characters import Character, CharacterError
from mud_assistant.assistant.config.sections import MemoryConfig
from mud_assistant.assistant.config.settings import read_settings
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import key_sources
from mud_assistant.assistant.language.words import words_of
from mud_assistant.assistant.memory.meaning import Meaning
from mud_assistant.assistant.memory.recall.words import ENGLISH
from mud_assistant.assistant.memory.recall_file import RecallInMemory
from mud_assistant.assistant.memory.topics import FoundTopics, TopicFinder, TopicIndex
from mud_assistant.assistant.models.embedding import EmbedderParts, embedder_of, vector_server
from mud_assistant.assistant.surfaces.characters.command import CharacterOptions
from mud_assistant.resilience import HttpExchange, Pipeline


# Any: the reactor, as `find_topics` takes it.
def by_meaning(
    options: CharacterOptions,
    environment: Mapping[str, str],
    reactor: Any,
    run: Callable[[Coroutine[Deferred[Any], Any, int]], int],
) -> CharacterOptions:
    """Return the options with what finds topics by meaning, where the settings have the embedded model of vectors.

    `run` runs the reactor for some work, and returns its exit status. Raises SettingsError. Blocks.
    """
    memory = read_settings(options.config, {}).memory
    if memory.vectors != "embedded":
        return options

    def find(character: Character, line: str) -> FoundTopics:
        found: list[FoundTopics] = []

        async def work() -> int:
            found.append(await find_topics(reactor, memory, environment, character, line))
            return 0

        if run(work()) or not found:
            raise CharacterError("the vectors cannot be made: see what mud-assistant doctor says of them")
        return found[0]

    return replace(options, find=find)


# Any: the reactor as clock, and as maker of connections and processes.
async def find_topics(
    reactor: Any, memory: MemoryConfig, environment: Mapping[str, str], character: Character, line: str
) -> FoundTopics:
    """Return what a line finds, by words and by the embedded model of vectors; by words alone where none can be made.

    Starts that model, and fetches it where it is not there yet. Cancelling ends it.
    """
    worker, exchange = RecallInMemory(ENGLISH), HttpExchange(reactor)
    finder = TopicFinder(TopicIndex(character.topics), worker)
    try:
        keys = key_sources(reactor, environment, Path(), Secrets())
        pipeline = Pipeline(reactor, Random())  # noqa: S311  (jitter is no secret)
        parts = EmbedderParts(exchange, pipeline, keys, vector_server(reactor, environment))
        embedder = await embedder_of(memory, parts)
        assert embedder is not None
        worker.meaning = meaning = Meaning(embedder, reactor)
        await finder.fill(meaning)
        return await finder.find(line, mine=words_of(character.name))
    finally:
        await worker.close()
        await exchange.close()
