"""What each framework does, in its own usual way: pydantic-ai, openai-agents, langchain. See `peer_work.py`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Callable
from typing import Any

from benchmarks.canned import ANSWER, ARGUMENTS, FOUND, KEY, MODEL, TEXT, TOOLS, history
from benchmarks.peer_work import Made


def inspected() -> Callable[[str, str], str]:
    """A function for a tool; what it is called with is looked at."""

    def used(target: str, note: str = "") -> str:
        assert {"target": target, "note": note} == ARGUMENTS
        return FOUND

    return used


async def of_pydantic_ai(kind: str, url: str, count: int) -> Made:
    """Runs of an Agent. A streamed call is over with the first text that is whole, as its `run_stream` has it."""
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
        agent.tool_plain(inspected(), name=tool["function"]["name"], docstring_format="google")
    past = history(count)
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

    async def heard(_context: Any, events: AsyncIterable[Any]) -> None:
        async for _ in events:
            pass

    async def streamed_run() -> None:
        answer = await agent.run(question, message_history=requests, event_stream_handler=heard)
        assert answer.output == TEXT

    return Made({"stream": stream, "step-stream": streamed_run}.get(kind, run))


async def of_openai_agents(kind: str, url: str, count: int) -> Made:
    """Runs of an Agent, its traces not sent anywhere. A streamed call is a run that stops after its first tool."""
    import openai  # noqa: PLC0415
    from agents import (  # noqa: PLC0415
        Agent,
        OpenAIChatCompletionsModel,
        Runner,
        function_tool,
        set_tracing_disabled,
    )

    set_tracing_disabled(True)
    client: Any = openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0)
    tools: list[Any] = [
        function_tool(
            inspected(),
            name_override=tool["function"]["name"],
            description_override=tool["function"]["description"],
            strict_mode=False,
        )
        for tool in TOOLS
    ]
    past: list[Any] = history(count)
    agent: Any = Agent(
        "Sage",
        instructions=past[0]["content"],
        model=OpenAIChatCompletionsModel(MODEL, client),
        tools=tools,
        tool_use_behavior="stop_on_first_tool" if kind == "stream" else "run_llm_again",
    )

    async def run() -> None:
        assert (await Runner.run(agent, past[1:])).final_output == ANSWER

    async def stream() -> None:
        answer, text = Runner.run_streamed(agent, past[1:]), list[str]()
        async for event in answer.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                text.append(event.data.delta)
        calls = 1 if kind == "stream" else 2
        assert "".join(text) == TEXT * calls
        assert answer.final_output == (FOUND if kind == "stream" else TEXT)

    return Made(stream if kind.endswith("stream") else run, client.close)


async def of_langchain(kind: str, url: str, count: int) -> Made:
    """A chat model with tools for the calls, `create_agent` for the steps; nothing is told to its makers."""
    os.environ["LANGSMITH_TRACING"] = "false"
    from langchain.agents import create_agent  # noqa: PLC0415
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage  # noqa: PLC0415
    from langchain_core.tools import StructuredTool  # noqa: PLC0415
    from langchain_openai import ChatOpenAI  # noqa: PLC0415

    model: Any = ChatOpenAI(model=MODEL, base_url=url, api_key=KEY, max_retries=0)
    kinds = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
    past = [kinds[one["role"]](one["content"]) for one in history(count)]
    asked = model.bind_tools(TOOLS)
    described = [tool["function"] for tool in TOOLS]
    tools = [
        StructuredTool.from_function(inspected(), name=one["name"], description=one["description"]) for one in described
    ]
    agent: Any = create_agent(model, tools)

    async def call() -> None:
        assert (await asked.ainvoke(past)).content == ANSWER

    async def stream() -> None:
        whole: Any = None
        async for chunk in asked.astream(past):
            whole = chunk if whole is None else whole + chunk
        assert whole.content == TEXT
        assert whole.tool_calls[0]["args"] == ARGUMENTS

    async def run() -> None:
        assert (await agent.ainvoke({"messages": past}))["messages"][-1].content == ANSWER

    async def streamed_run() -> None:
        text = list[str]()
        async for chunk, about in agent.astream({"messages": past}, stream_mode="messages"):
            if about["langgraph_node"] == "model":
                text.append(chunk.content)
        assert "".join(text) == TEXT * 2

    return Made({"json": call, "stream": stream, "step-stream": streamed_run}.get(kind, run))
