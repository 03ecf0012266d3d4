"""Asks a model by agents of pydantic-ai. usage: ask_pydantic_ai.py ADDRESS MODEL."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

ADDRESS, MODEL = sys.argv[1:]
OPENAI = OpenAIProvider(base_url=f"{ADDRESS}/v1", api_key="any")
ANTHROPIC = AnthropicProvider(base_url=ADDRESS, api_key="any")
MODELS: dict[str, Any] = {
    "chat": OpenAIChatModel(MODEL, provider=OPENAI),
    "responses": OpenAIResponsesModel(MODEL, provider=OPENAI),
    "messages": AnthropicModel(MODEL, provider=ANTHROPIC),
}


async def ask(agent: Any, *, streams: bool) -> str:
    if not streams:
        return str((await agent.run("Where is the well?")).output)
    async with agent.run_stream("Where is the well?") as stream:
        return str(await stream.get_output())


async def main() -> None:
    for dialect, model in MODELS.items():
        for how in ("plain", "streamed"):
            try:
                text = await ask(Agent(model), streams=how == "streamed")
            except Exception as error:
                text = repr(error)
            print(json.dumps({"dialect": dialect, "how": how, "text": text}))


asyncio.run(main())
