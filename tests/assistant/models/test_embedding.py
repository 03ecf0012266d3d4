"""The maker of vectors that the settings name, with the key and the server they name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.sections import MemoryConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import key_sources
from mud_assistant.assistant.memory.meaning import Meaning
from mud_assistant.assistant.models.bound_keys import BoundKeys, bindings_of
from mud_assistant.assistant.models.embedding import EmbedderParts, embedder_of, vector_server
from mud_assistant.llm.embeddings.served import EmbeddedEmbedder
from mud_assistant.llm.testing import serve
from mud_assistant.resilience import HttpExchange, Pipeline
from tests.llm.calling import reactor
from tests.llm.embeddings.vector_servers import OllamaVectors, OpenAIVectors

KEY = "planted-0123456789-key"


def settings(**fields: Any) -> MemoryConfig:
    return MemoryConfig.model_validate(fields)


@asynccontextmanager
async def parts(tmp_path: Path, bound: BoundKeys | None = None, **environment: str) -> AsyncIterator[EmbedderParts]:
    exchange, secrets = HttpExchange(reactor), Secrets()
    keys = key_sources(reactor, environment, tmp_path, secrets)
    pipeline = Pipeline(reactor, Random(1))  # noqa: S311  (jitter)
    try:
        yield EmbedderParts(exchange, pipeline, keys, vector_server(reactor, {}, tmp_path), bound or BoundKeys())
    finally:
        await exchange.close()


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_off_is_nothing(tmp_path: Path) -> None:
    async with parts(tmp_path) as made:
        assert await embedder_of(settings(), made) is None


async def test_a_server_with_openais_api_and_a_key(tmp_path: Path) -> None:
    fake = OpenAIVectors(reactor, key=KEY)
    async with serve(fake, reactor) as url, parts(tmp_path, THE_KEY=KEY) as made:
        config = settings(vectors="openai", vectors_url=f"{url}/v1", vectors_model="m", vectors_key="env:THE_KEY")
        embedder = await embedder_of(config, made)
        assert embedder is not None
        assert len(await embedder.embed(["cat", "dog"])) == 2
        assert (embedder.model, embedder.dimensions) == ("m", 64)
        assert KEY not in made.keys.secrets.scrub(f"the key {KEY}")
        await embedder.stop()


async def test_an_ollama(tmp_path: Path) -> None:
    fake = OllamaVectors(reactor)
    async with serve(fake, reactor) as url, parts(tmp_path) as made:
        embedder = await embedder_of(settings(vectors="ollama", vectors_url=url, vectors_model="sage"), made)
        assert embedder is not None
        assert len(await embedder.embed(["cat"])) == 1
    assert [request.path for request in fake.requests] == ["/api/show", "/api/embed"]


async def test_a_text_that_stands_in_several_characters_is_read_once(tmp_path: Path) -> None:
    fake = OllamaVectors(reactor)
    async with serve(fake, reactor) as url, parts(tmp_path) as made:
        embedder = await embedder_of(settings(vectors="ollama", vectors_url=url, vectors_model="sage"), made)
        assert embedder is not None
        meaning = Meaning(embedder, reactor)
        thanks, *_ = first = await meaning.of_texts(["Thank you.", "Where is the mill?"])
        again = await meaning.of_texts(["Who are you?", "Thank you.", "Thank you."])
    assert None not in (*first, *again)
    assert again[1] is again[2] is thanks
    assert [request.body["input"] for request in fake.requests if request.path == "/api/embed"] == [
        ["Thank you.", "Where is the mill?"],
        ["Who are you?"],
    ]


async def test_the_embedded_one_starts_nothing_by_itself(tmp_path: Path) -> None:
    async with parts(tmp_path) as made:
        embedder = await embedder_of(settings(vectors="embedded"), made)
        assert isinstance(embedder, EmbeddedEmbedder)
        await embedder.stop()
    assert names_in(tmp_path) == []


async def test_a_key_goes_only_where_it_was_given_for(tmp_path: Path) -> None:
    given = settings(vectors="openai", vectors_model="m", vectors_key="env:THE_KEY")
    elsewhere = given.model_copy(update={"vectors_url": "http://127.0.0.1:9/v1"})
    bound = BoundKeys(bindings_of(Config(memory=given), tmp_path), tmp_path)
    async with parts(tmp_path, bound, THE_KEY=KEY) as made:
        assert await embedder_of(given, made) is not None
        with pytest.raises(KeyReferenceError, match=r"api\.openai\.com"):
            await embedder_of(elsewhere, made)


@pytest.mark.parametrize("kind", ["ollama", "openai"])
def test_a_server_needs_the_name_of_a_model(kind: str) -> None:
    with pytest.raises(ValidationError, match="needs vectors_model"):
        settings(vectors=kind)
