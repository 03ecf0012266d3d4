"""What each peer that speaks HTTP or is an SDK does, in its own usual way; the frameworks are in `peer_frameworks.py`.

A result that is not the expected one raises. Runs on asyncio only. Peers are imported where they are used: each process
has one, and any may be missing. The kinds of work: `json` and `stream` are one call; `step` and `step-stream` are two
calls with a tool between them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.bare_dialects import StreamedChat
from benchmarks.canned import ANSWER, ARGUMENTS, FOUND, KEY, MODEL, TEXT, TOOLS, history

Work = Callable[[], Awaitable[None]]
#: Something that answers messages with a message.
Asking = Callable[[Sequence[Any]], Awaitable[dict[str, Any]]]


async def _nothing() -> None:
    """Nothing is to be closed."""


@dataclass(frozen=True, slots=True)
class Made:
    """The work of a peer, and what ends it."""

    work: Work
    close: Work = _nothing


Making = Callable[[str, str, int], Awaitable[Made]]


def by_hand(kind: str, count: int, whole: Asking, streamed: Asking, close: Work = _nothing) -> Made:
    """The work of somebody who has these two ways to ask, and writes the loop by hand."""
    past = history(count)
    ask = streamed if kind.endswith("stream") else whole
    said = TEXT if kind.endswith("stream") else ANSWER

    async def one_call() -> None:
        message = await ask(past)
        assert message["content"] == said
        if kind == "stream":
            assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == ARGUMENTS

    async def step() -> None:
        messages = list(past)
        while True:
            message = await ask(messages)
            messages.append(message)
            if not message.get("tool_calls"):
                break
            for call in message["tool_calls"]:
                assert json.loads(call["function"]["arguments"]) == ARGUMENTS
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": FOUND})
        assert message["content"] == said

    return Made(step if kind.startswith("step") else one_call, close)


async def of_aiohttp(kind: str, url: str, count: int) -> Made:
    """Bare aiohttp with json."""
    import aiohttp  # noqa: PLC0415

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256))
    headers = {"Authorization": f"Bearer {KEY}"}

    async def whole(messages: Sequence[Any]) -> dict[str, Any]:
        asked = {"model": MODEL, "stream": False, "tools": TOOLS, "messages": messages}
        async with session.post(f"{url}/chat/completions", json=asked, headers=headers) as response:
            answer: dict[str, Any] = await response.json()
        message: dict[str, Any] = answer["choices"][0]["message"]
        return message

    async def streamed(messages: Sequence[Any]) -> dict[str, Any]:
        asked = {"model": MODEL, "stream": True, "tools": TOOLS, "messages": messages}
        answer = StreamedChat()
        async with session.post(f"{url}/chat/completions", json=asked, headers=headers) as response:
            async for line in response.content:
                answer.take(line)
        return answer.message()

    return by_hand(kind, count, whole, streamed, session.close)


async def of_openai(kind: str, url: str, count: int) -> Made:
    """The official SDK."""
    import openai  # noqa: PLC0415

    client: Any = openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0)

    async def whole(messages: Sequence[Any]) -> dict[str, Any]:
        answer = await client.chat.completions.create(model=MODEL, tools=TOOLS, messages=messages)
        message: dict[str, Any] = answer.choices[0].message.model_dump(exclude_none=True)
        return message

    async def streamed(messages: Sequence[Any]) -> dict[str, Any]:
        asked = {"model": MODEL, "tools": TOOLS, "messages": messages, "stream": True}
        return await _of_chunks(await client.chat.completions.create(**asked))

    return by_hand(kind, count, whole, streamed, client.close)


async def of_litellm(kind: str, url: str, count: int) -> Made:
    """litellm, with its prices from the package and not from the net."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm  # noqa: PLC0415

    litellm.suppress_debug_info = True
    options = {"model": f"openai/{MODEL}", "api_base": url, "api_key": KEY, "tools": TOOLS, "max_retries": 0}

    async def whole(messages: Sequence[Any]) -> dict[str, Any]:
        answer: Any = await litellm.acompletion(messages=messages, **options)
        message: dict[str, Any] = answer.choices[0].message.model_dump(exclude_none=True)
        return message

    async def streamed(messages: Sequence[Any]) -> dict[str, Any]:
        return await _of_chunks(await litellm.acompletion(messages=messages, stream=True, **options))

    return by_hand(kind, count, whole, streamed)


async def _of_chunks(answer: Any) -> dict[str, Any]:
    """The message of a stream of chunks as the SDKs give them."""
    read = StreamedChat()
    async for chunk in answer:
        for choice in chunk.choices:
            read.add_text(choice.delta.content)
            for call in choice.delta.tool_calls or ():
                read.add_call(call.id, call.function.name, call.function.arguments)
    read.is_done = True
    return read.message()
