"""The one question a model is asked: to call a tool."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime

from assistant.chosen_model import limits_of, question_seconds
from assistant.config import ModelConfig
from llm import LLMError, LLMProvider, LLMResponse, ToolSpec, UnifiedLLMClient, system, user
from resilience import Deadline, HttpExchange, RetryConfig

#: Enough for a model that thinks before it calls, and no more than a fraction of a cent anywhere.
MAX_ANSWER_TOKENS = 400
_GREET = ToolSpec(
    "greet",
    "Greets somebody. Every greeting is made with it.",
    {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "who is greeted"}},
        "required": ["name"],
        "additionalProperties": False,
    },
)
_PROMPT = (
    system("You act only by calling tools."),
    user("Greet Anna: call the tool greet with the name Anna."),
)


async def asked(
    provider: LLMProvider, config: ModelConfig, exchange: HttpExchange, clock: IReactorTime
) -> LLMResponse | LLMError:
    """The answer to the question, or why there is none. One request, and another where the server teaches us how."""
    limits, seconds = limits_of(config, provider), question_seconds(config, provider)
    client = UnifiedLLMClient(provider, exchange, clock, limits=limits, retry=RetryConfig(max_attempts=1))
    required = "required" if config.tool_choice == "required" else None
    try:
        return await client.chat_completion(
            _PROMPT,
            [_GREET],
            required,
            deadline=Deadline.after(clock, seconds + min(seconds, limits.idle_seconds)),
            max_tokens=max(config.max_answer_tokens, MAX_ANSWER_TOKENS),
            think=config.think,
        )
    except LLMError as error:
        return error
