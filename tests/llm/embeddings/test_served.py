"""The embedded model of vectors: started by the first text, shared by all who wait, stopped with the service."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.task import Clock

from mud_assistant.llm import get_provider
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.fetching.convert import MINILM, MINILM_NAME
from mud_assistant.llm.embedded.fetching.models import default_data_dir
from mud_assistant.llm.embedded.progress import Endpoint
from mud_assistant.llm.embedded.supervisor import Commands, EmbeddedModel
from mud_assistant.llm.embeddings.embedder import Embedder, Vector
from mud_assistant.llm.embeddings.openai import OpenAIEmbeddings
from mud_assistant.llm.embeddings.remote import RemoteEmbedder
from mud_assistant.llm.embeddings.served import MINILM_TOKENS, REST_SECONDS, EmbeddedEmbedder
from mud_assistant.llm.errors import Unavailable
from mud_assistant.llm.testing import serve
from mud_assistant.resilience import HttpExchange, Pipeline
from tests.llm.calling import reactor
from tests.llm.embeddings.vector_servers import OpenAIVectors

KEY = "planted-key-7"


@dataclass
class FakeProcess:
    """A server process that starts when the test says so."""

    starts: list[Deferred[Endpoint]] = field(default_factory=list)
    stops: int = 0

    def start(self) -> Deferred[Endpoint]:
        self.starts.append(Deferred())
        return self.starts[-1]

    def stop(self) -> Deferred[None]:
        self.stops += 1
        if not self.starts[-1].called:
            self.starts[-1].cancel()
        return succeed(None)


class Rig:
    """An embedder of the embedded model, whose process and time are the test's."""

    def __init__(self, exchange: HttpExchange) -> None:
        self.process, self.clock = FakeProcess(), Clock()
        self.hidden: list[str] = []
        provider = get_provider("local", "http://127.0.0.1/v1", MINILM.name)
        pipeline = Pipeline(reactor, Random(1))  # noqa: S311  (jitter)
        remote = RemoteEmbedder(OpenAIEmbeddings(provider), exchange, pipeline, context_tokens=MINILM_TOKENS)
        self.embedder = EmbeddedEmbedder(remote, self.clock, self._make, hide=self.hidden.append)

    def _make(self, moved: object, lost: object) -> FakeProcess:
        self.moved, self.lost = moved, lost
        return self.process

    def embed(self, *texts: str) -> Deferred[list[Vector]]:
        return Deferred.fromCoroutine(self.embedder.embed(texts))


@pytest.fixture
def exchange() -> HttpExchange:
    return HttpExchange(reactor)


async def test_the_first_text_starts_it_for_all(exchange: HttpExchange) -> None:
    rig, fake = Rig(exchange), OpenAIVectors(reactor, key=KEY)
    embedder: Embedder = rig.embedder
    assert (embedder.model, embedder.dimensions) == ("all-MiniLM-L6-v2 Q8_0", 384)
    assert await rig.embed("", " ") == [(), ()]
    assert not rig.process.starts
    async with serve(fake, reactor) as url:
        one, other = rig.embed("cat"), rig.embed("dog", "")
        assert len(rig.process.starts) == 1
        rig.process.starts[0].callback(Endpoint(url, KEY, "tiny", own_template=False))
        assert len((await one)[0]) == len((await other)[0]) == 64
        await rig.embed("owl")
        assert len(rig.process.starts) == 1
        await exchange.close()
    assert KEY in rig.hidden
    await embedder.stop()
    assert rig.process.stops == 1


async def test_a_start_that_fails_is_told_and_not_begun_again_at_once(exchange: HttpExchange) -> None:
    rig = Rig(exchange)
    work = rig.embed("cat")
    rig.process.starts[0].errback(EmbeddedUnavailable("the disk is full"))
    with pytest.raises(Unavailable, match="the disk is full"):
        await work
    with pytest.raises(Unavailable, match="the disk is full"):
        await rig.embed("cat")
    assert len(rig.process.starts) == 1

    rig.clock.advance(REST_SECONDS)
    again = rig.embed("cat")
    assert len(rig.process.starts) == 2
    await rig.embedder.stop()
    with pytest.raises(Unavailable, match="stopped"):
        await again


async def test_one_who_does_not_wait_leaves_the_start_to_the_others(exchange: HttpExchange) -> None:
    rig = Rig(exchange)
    async with serve(OpenAIVectors(reactor), reactor) as url:
        one, other = rig.embed("cat"), rig.embed("dog")
        one.cancel()
        with pytest.raises(CancelledError):
            await one
        rig.process.starts[0].callback(Endpoint(url, KEY, "tiny", own_template=False))
        assert len(await other) == 1
        await exchange.close()
    await rig.embedder.stop()


async def test_a_stop_before_any_use_starts_nothing(exchange: HttpExchange) -> None:
    rig = Rig(exchange)
    await rig.embedder.stop()
    assert (rig.process.starts, rig.process.stops) == ([], 0)


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.slow  # loads the real model
@pytest.mark.skipif(not (default_data_dir() / MINILM.file_name).exists(), reason="the weights are not on this disk")
async def test_the_real_model_knows_what_means_alike(exchange: HttpExchange) -> None:
    pytest.importorskip("xllamacpp", reason="the extra 'embedded' is not installed")
    rig = Rig(exchange)
    commands = Commands.of(sys.executable, embeddings=True)
    rig.embedder._server = EmbeddedModel(
        reactor,
        reactor,
        environment=os.environ | {"MUD_ASSISTANT_MODEL_SOURCES": "file"},
        data_dir=Path(default_data_dir()),
        model_name=MINILM_NAME,
        threads=1,
        commands=commands,
    )
    texts = ["the cat sat on the mat", "a cat was sitting on a rug", "the council raises the taxes at noon"]
    try:
        one, alike, other, long, *_ = await rig.embed(*texts, "word " * 3000, "\u732b" * 3000)
        assert cosine(one, alike) > 0.6
        assert cosine(one, other) < 0.2
        assert len(long) == 384
    finally:
        await rig.embedder.stop()
        await exchange.close()
