"""Bare treq as a subject: what somebody writes by hand who has Twisted and no framework. Needs treq."""

from __future__ import annotations

import json
from typing import Any

import treq
from treq.client import HTTPClient
from twisted.internet.defer import Deferred, gatherResults
from twisted.web.client import Agent, HTTPConnectionPool

from benchmarks.canned import ANSWER, ARGUMENTS, FOUND, KEY, MODEL, TEXT, TOOLS, history
from benchmarks.paired import Turn, metered

#: Idle connections kept, so that nobody connects anew.
WIDE = 256


class Bare:
    """Calls or steps by hand; `kind` is `json`, `stream`, `drip` or `step`."""

    def __init__(self, reactor: Any, url: str, kind: str, count: int = 20, callers: int = 8) -> None:
        self._pool = HTTPConnectionPool(reactor)
        self._pool.maxPersistentPerHost = WIDE
        self._client = HTTPClient(Agent(reactor, pool=self._pool))
        self._url = f"{url}/chat/completions"
        self._work = {"json": self._json, "step": self._step}.get(kind, self._stream)
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

    async def _post(self, messages: list[dict[str, Any]], *, stream: bool) -> Any:
        asked = {"model": MODEL, "stream": stream, "tools": TOOLS, "messages": messages}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
        return await self._client.post(self._url, data=json.dumps(asked).encode(), headers=headers)

    async def _json(self) -> None:
        answer = await treq.json_content(await self._post(self._history, stream=False))
        assert answer["choices"][0]["message"]["content"] == ANSWER

    async def _stream(self) -> None:
        reader = _Reader()
        await treq.collect(await self._post(self._history, stream=True), reader.feed)
        assert reader.is_done
        assert "".join(reader.text) == TEXT
        assert json.loads("".join(reader.arguments)) == ARGUMENTS

    async def _step(self) -> None:
        messages = list(self._history)
        while True:
            answer = await treq.json_content(await self._post(messages, stream=False))
            message = answer["choices"][0]["message"]
            messages.append(message)
            if not message.get("tool_calls"):
                break
            for call in message["tool_calls"]:
                assert json.loads(call["function"]["arguments"]) == ARGUMENTS
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": FOUND})
        assert message["content"] == ANSWER


class _Reader:
    """Server-sent events by hand."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.arguments: list[str] = []
        self.is_done = False
        self._held = b""

    def feed(self, data: bytes) -> None:
        """Take bytes."""
        *events, self._held = (self._held + data).split(b"\n\n")
        for event in events:
            if event == b"data: [DONE]":
                self.is_done = True
                continue
            for choice in json.loads(event.removeprefix(b"data: "))["choices"]:
                delta = choice["delta"]
                if delta.get("content"):
                    self.text.append(delta["content"])
                for call in delta.get("tool_calls", ()):
                    self.arguments.append(call["function"]["arguments"])
