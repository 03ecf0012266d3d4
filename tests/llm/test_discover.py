"""What a server offers is asked and read as its provider says, so a new provider needs no other place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from twisted.internet.task import Clock

from mud_assistant.llm import provider_classes
from mud_assistant.llm.discover import describe_model, offered_models
from mud_assistant.llm.errors import ModelNotFound
from mud_assistant.llm.providers import ChatProvider
from mud_assistant.llm.providers.offered import OfferedModel
from mud_assistant.llm.testing import FakeOllama, OllamaModel, serve
from mud_assistant.resilience import Deadline, HttpExchange
from tests.llm.calling import reactor


class Elsewhere(ChatProvider):
    """A provider whose server lists its models in a form of its own."""

    name = "elsewhere"

    def get_models_url(self) -> str:
        return f"{self.api_url}/api/tags"

    def parse_models(self, answer: Mapping[str, Any]) -> list[OfferedModel]:
        return [OfferedModel(f"mine/{record['name']}") for record in answer["models"]]


async def test_a_list_is_asked_for_and_read_as_the_provider_says() -> None:
    exchange = HttpExchange(reactor)
    async with serve(FakeOllama(reactor, [], {"owl": OllamaModel()}), reactor) as url:
        offered = await offered_models(Elsewhere(url), exchange, Deadline.after(reactor, 5))
    await exchange.close()
    assert offered == [OfferedModel("mine/owl:latest")]


async def test_nothing_is_sent_when_the_api_describes_no_models() -> None:
    clock = Clock()
    exchange = HttpExchange(reactor)
    assert await describe_model(Elsewhere("http://127.0.0.1:1"), "owl", exchange, Deadline.after(clock, 5)) is None
    await exchange.close()


async def test_a_model_is_described_where_the_api_does_it() -> None:
    exchange = HttpExchange(reactor)
    models = {"owl": OllamaModel(("completion", "tools"))}
    async with serve(FakeOllama(reactor, [], models), reactor) as url:
        provider = provider_classes()["ollama"](url)
        owl = await describe_model(provider, "owl", exchange, Deadline.after(reactor, 5))
        with pytest.raises(ModelNotFound):
            await describe_model(provider, "hawk", exchange, Deadline.after(reactor, 5))
    await exchange.close()
    assert owl is not None
    assert owl.capabilities == {"completion", "tools"}
    assert owl.context_tokens
