"""The product as a subject: single calls through its client, and whole steps of living assistants."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from benchmarks.canned import ANSWER, ARGUMENTS, KEY, MODEL, QUESTION, TEXT, TOOLS, history
from benchmarks.paired import Turn, metered
from benchmarks.village import ENDLESS, Tenant, Village, past
from mud_assistant.llm import Capabilities, LLMResponse, UnifiedLLMClient, get_provider
from mud_assistant.llm.messages import JSONObject, Message, Role, Text, ToolSpec
from mud_assistant.resilience import HttpExchange, InFlightConfig, Ledger, Pipeline, UpstreamConfig
from mud_assistant.tools import Status

IN_FLIGHT = 200


def specs() -> list[ToolSpec]:
    """The 12 tools as the product knows tools."""
    functions: list[JSONObject] = [tool["function"] for tool in TOOLS]
    return [ToolSpec(str(one["name"]), str(one["description"]), _parameters(one)) for one in functions]


def messages(count: int) -> list[Message]:
    """The history as the product knows messages."""
    return [Message(Role(str(one["role"])), (Text(str(one["content"])),)) for one in history(count)]


class Calls:
    """Calls through the client, with retry, breaker, limits and accounting; `kind` is `json`, `stream` or `drip`.

    `dialect` is the name of the provider that is asked, "local" for any server of Chat Completions. `says` is the text
    of the answer where it is not the usual one.
    """

    def __init__(
        self,
        reactor: Any,
        url: str,
        kind: str,
        count: int = 20,
        callers: int = 8,
        *,
        dialect: str = "local",
        says: str = "",
        **exchange: Any,
    ) -> None:
        self.exchange = HttpExchange(reactor, **exchange)
        self._pipeline = Pipeline(reactor, Random(1), Ledger(reactor.seconds, lambda: 0.0))  # noqa: S311  (jitter)
        self._client = UnifiedLLMClient(
            get_provider(dialect, url, MODEL, key=KEY),
            self.exchange,
            reactor,
            capabilities=Capabilities(),
            pipeline=self._pipeline,
            upstream=UpstreamConfig(in_flight=InFlightConfig(IN_FLIGHT, IN_FLIGHT)),
        )
        self._kind = kind
        self._says = says or (ANSWER if kind == "json" else TEXT)
        self._messages = messages(count)
        self._tools = specs()
        self._callers = callers

    async def turn(self, seconds: float) -> Turn:
        """Volleys of calls."""
        return await metered(self, seconds)

    async def volley(self) -> int:
        """One call of each caller; each answer is looked at."""
        calls = [self._client.chat_completion(self._messages, self._tools) for _ in range(self._callers)]
        for response in await gatherResults(calls, consumeErrors=True):
            self._check(response)
        return self._callers

    async def reset(self) -> None:
        """Nothing changes from call to call."""

    async def close(self) -> None:
        """Close the connections."""
        await self.exchange.close()

    def _check(self, response: LLMResponse) -> None:
        assert response.content == self._says, response
        if self._kind == "json":
            return
        assert response.tool_calls[0].arguments == ARGUMENTS, response


class Steps:
    """Living assistants: each hears a question, looks at a thing by a tool call, and answers; two model calls."""

    def __init__(self, reactor: Any, url: str, count: int = 20, callers: int = 8, says: str = ANSWER) -> None:
        self.village = Village(reactor, callers)
        self._says = " ".join(says.split())
        self._tenant = Tenant(url, ENDLESS, stream=past(count))
        self._callers = callers

    async def turn(self, seconds: float) -> Turn:
        """Volleys of steps."""
        return await metered(self, seconds)

    async def volley(self) -> int:
        """One question to each assistant; each answer is looked at."""
        houses = self.village.houses
        for server in houses:
            server.heard.clear()
        asked = [Deferred.fromCoroutine(server.ask(QUESTION)) for server in houses]
        await gatherResults(asked, consumeErrors=True)
        for server in houses:
            assert " ".join(" ".join(server.heard).split()) == self._says, server.heard
            assert all(status is Status.DONE for status in server.statuses()), server.statuses()
        return len(houses)

    async def reset(self) -> None:
        """Assistants with the same history as at the beginning."""
        await self.village.move_out(list(self.village.houses))
        for number in range(self._callers):
            server = await self.village.settle(number, self._tenant)
            await server.assistant.settled()

    async def close(self) -> None:
        """End everybody."""
        await self.village.close()


def _parameters(function: JSONObject) -> JSONObject:
    loaded: JSONObject = json.loads(json.dumps(function["parameters"]))
    return loaded
