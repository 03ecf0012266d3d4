"""What each peer does, in its own usual way; a result that is not the expected one raises. Runs on asyncio only.

Peers are imported where they are used: each process has one, and any may be missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from benchmarks.canned import ANSWER, ARGUMENTS, FOUND, KEY, MODEL, TEXT, TOOLS, history

Work = Callable[[], Awaitable[None]]
Close = Callable[[], Awaitable[None]]
#: Peers by name, with the module that must be there.
MODULES = {"aiohttp": "aiohttp", "openai": "openai", "litellm": "litellm", "pydantic-ai": "pydantic_ai"}


async def made(name: str, kind: str, url: str, count: int) -> tuple[Work, Close]:
    """The work of a peer, and what ends it. `kind` is `json`, `stream`, `drip` or `step`."""
    makers = {"aiohttp": _aiohttp, "openai": _openai, "litellm": _litellm, "pydantic-ai": _pydantic_ai}
    return await makers[name](kind, url, history(count))


async def _nothing() -> None:
    """Nothing is to be closed."""


def _loop(ask: Callable[[Sequence[Any]], Awaitable[dict[str, Any]]], past: list[dict[str, Any]]) -> Work:
    """A hand-written ReAct loop over something that answers messages with a message."""

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
        assert message["content"] == ANSWER

    return step


def _check_stream(text: list[str], arguments: list[str]) -> None:
    assert "".join(text) == TEXT
    assert json.loads("".join(arguments)) == ARGUMENTS


async def _aiohttp(kind: str, url: str, past: list[dict[str, Any]]) -> tuple[Work, Close]:
    import aiohttp  # noqa: PLC0415

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256))
    headers = {"Authorization": f"Bearer {KEY}"}

    async def ask(messages: Sequence[Any]) -> dict[str, Any]:
        asked = {"model": MODEL, "stream": False, "tools": TOOLS, "messages": messages}
        async with session.post(f"{url}/chat/completions", json=asked, headers=headers) as response:
            answer: dict[str, Any] = await response.json()
        message: dict[str, Any] = answer["choices"][0]["message"]
        return message

    async def whole() -> None:
        assert (await ask(past))["content"] == ANSWER

    async def stream() -> None:
        text, arguments, is_done = list[str](), list[str](), False
        asked = {"model": MODEL, "stream": True, "tools": TOOLS, "messages": past}
        async with session.post(f"{url}/chat/completions", json=asked, headers=headers) as response:
            async for line in response.content:
                if not line.startswith(b"data: "):
                    continue
                if line == b"data: [DONE]\n":
                    is_done = True
                    break
                for choice in json.loads(line[6:])["choices"]:
                    text.append(choice["delta"].get("content") or "")
                    arguments += [one["function"]["arguments"] for one in choice["delta"].get("tool_calls", ())]
        assert is_done
        _check_stream(text, arguments)

    return {"json": whole, "step": _loop(ask, past)}.get(kind, stream), session.close


async def _openai(kind: str, url: str, past: list[dict[str, Any]]) -> tuple[Work, Close]:
    import openai  # noqa: PLC0415

    client: Any = openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0)

    async def ask(messages: Sequence[Any]) -> dict[str, Any]:
        answer = await client.chat.completions.create(model=MODEL, tools=TOOLS, messages=messages)
        message: dict[str, Any] = answer.choices[0].message.model_dump(exclude_none=True)
        return message

    async def whole() -> None:
        answer = await client.chat.completions.create(model=MODEL, tools=TOOLS, messages=past)
        assert answer.choices[0].message.content == ANSWER

    async def stream() -> None:
        await _deltas(await client.chat.completions.create(model=MODEL, tools=TOOLS, messages=past, stream=True))

    return {"json": whole, "step": _loop(ask, past)}.get(kind, stream), client.close


async def _deltas(answer: Any) -> None:
    """Read a stream of chunks as the SDKs give them."""
    text, arguments = list[str](), list[str]()
    async for chunk in answer:
        for choice in chunk.choices:
            text.append(choice.delta.content or "")
            arguments += [one.function.arguments for one in choice.delta.tool_calls or ()]
    _check_stream(text, arguments)


async def _litellm(kind: str, url: str, past: list[dict[str, Any]]) -> tuple[Work, Close]:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm  # noqa: PLC0415

    litellm.suppress_debug_info = True
    options = {"model": f"openai/{MODEL}", "api_base": url, "api_key": KEY, "tools": TOOLS, "max_retries": 0}

    async def ask(messages: Sequence[Any]) -> dict[str, Any]:
        answer: Any = await litellm.acompletion(messages=messages, **options)
        message: dict[str, Any] = answer.choices[0].message.model_dump(exclude_none=True)
        return message

    async def whole() -> None:
        answer: Any = await litellm.acompletion(messages=past, **options)
        assert answer.choices[0].message.content == ANSWER

    async def stream() -> None:
        await _deltas(await litellm.acompletion(messages=past, stream=True, **options))

    return {"json": whole, "step": _loop(ask, past)}.get(kind, stream), _nothing


async def _pydantic_ai(kind: str, url: str, past: list[dict[str, Any]]) -> tuple[Work, Close]:
    from pydantic_ai import Agent  # noqa: PLC0415
    from pydantic_ai.messages import (  # noqa: PLC0415
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        UserPromptPart,
    )
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    agent: Any = Agent(OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=url, api_key=KEY)))
    for tool in TOOLS:

        def used(target: str, note: str = "") -> str:
            assert {"target": target, "note": note} == ARGUMENTS
            return FOUND

        agent.tool_plain(used, name=tool["function"]["name"], docstring_format="google")
    requests: list[Any] = [ModelRequest([SystemPromptPart(past[0]["content"])])]
    for one in past[1:-1]:
        is_model = one["role"] == "assistant"
        part = TextPart(one["content"]) if is_model else UserPromptPart(one["content"])
        requests.append(ModelResponse([part]) if is_model else ModelRequest([part]))
    question = past[-1]["content"]

    async def run() -> None:
        assert (await agent.run(question, message_history=requests)).output == ANSWER

    async def stream() -> None:
        async with agent.run_stream(question, message_history=requests) as answer:
            assert (await answer.get_output()).startswith(TEXT)

    return (stream if kind in {"stream", "drip"} else run), _nothing
