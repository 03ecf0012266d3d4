"""Bare treq as a subject: what somebody writes by hand who has Twisted and no framework. Needs treq."""

from __future__ import annotations

import json
from typing import Any

import treq
from treq.client import HTTPClient
from twisted.internet.defer import Deferred, gatherResults
from twisted.web.client import Agent, HTTPConnectionPool

from benchmarks.bare_dialects import DIALECTS
from benchmarks.canned import ANSWER, ARGUMENTS, FOUND, TEXT, history
from benchmarks.paired import Turn, metered

#: Idle connections kept, so that nobody connects anew.
WIDE = 256


class Bare:
    """Calls or steps by hand; `kind` is `json`, `stream`, `drip`, `step` or `step-stream`.

    Steps are for the dialect of Chat Completions only. `says` is the text of the answer where it is not the usual one.
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
    ) -> None:
        self._pool = HTTPConnectionPool(reactor)
        self._pool.maxPersistentPerHost = WIDE
        self._client = HTTPClient(Agent(reactor, pool=self._pool))
        self._dialect = DIALECTS[dialect]()
        self._url = f"{url}{self._dialect.path}"
        self._is_streamed = kind not in {"json", "step"}
        self._says = says or (TEXT if self._is_streamed else ANSWER)
        self._work = self._step if kind.startswith("step") else self._call
        self._history = history(count)
        self._callers = callers

    async def turn(self, seconds: float) -> Turn:
        """Volleys of work."""
        return await metered(self, seconds)

    async def volley(self) -> int:
        """One piece of work by each caller."""
        work = [Deferred.fromCoroutine(self._work()) for _ in range(self._callers)]
        await gatherResults(work, consumeErrors=True)
        return self._callers

    async def reset(self) -> None:
        """Nothing changes from call to call."""

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.closeCachedConnections()

    async def _ask(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        asked = json.dumps(self._dialect.asked(messages, stream=self._is_streamed)).encode()
        headers: Any = self._dialect.headers  # Any: treq asks for a dict of either kind of text
        response = await self._client.post(self._url, data=asked, headers=headers)
        if not self._is_streamed:
            return self._dialect.whole(await treq.json_content(response))
        reader = self._dialect.streamed()
        await treq.collect(response, reader.feed)
        return reader.message()

    async def _call(self) -> None:
        message = await self._ask(self._history)
        assert message["content"] == self._says
        if self._is_streamed:
            assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == ARGUMENTS

    async def _step(self) -> None:
        messages = list(self._history)
        while True:
            message = await self._ask(messages)
            messages.append(message)
            if not message.get("tool_calls"):
                break
            for call in message["tool_calls"]:
                assert json.loads(call["function"]["arguments"]) == ARGUMENTS
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": FOUND})
        assert message["content"] == self._says
