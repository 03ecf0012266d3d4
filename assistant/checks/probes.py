"""Probes a model before it is used: asks it to call a tool, and finds the option that its server refuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.config import known_providers
from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.models.chosen import call_options, limits_of, question_seconds
from mud_assistant.llm import LLMError, LLMProvider, LLMResponse, ToolSpec, UnifiedLLMClient, system, user
from mud_assistant.resilience import Deadline, HttpExchange, RetryConfig

#: Enough for a model that thinks before it calls, and no more than a fraction of a cent at any provider.
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
#: How many names of a server's models are looked at and shown.
SHOWN = 10


async def ask_to_greet(
    provider: LLMProvider, config: ModelConfig, exchange: HttpExchange, clock: IReactorTime
) -> LLMResponse | LLMError:
    """Ask the question; return the answer, or the error that came instead.

    Sends one request, and a second one where a refusal teaches the client how the server wants it.
    """
    limits, seconds = limits_of(config, provider), question_seconds(config, provider)
    client = UnifiedLLMClient(provider, exchange, clock, limits=limits, retry=RetryConfig(max_attempts=1))
    required = "required" if config.tool_choice == "required" else None
    try:
        return await client.chat_completion(
            _PROMPT,
            [_GREET],
            required,
            deadline=Deadline.after(clock, seconds + min(seconds, limits.idle_seconds)),
            **{**call_options(config), "max_tokens": max(config.max_answer_tokens, MAX_ANSWER_TOKENS)},
        )
    except LLMError as error:
        return error


def options_set(config: ModelConfig) -> list[str]:
    """Return the names of the settings that add to requests and that the owner has changed from their defaults."""
    names = sorted(known_providers.special_settings() | {"extra_params"})
    return [name for name in names if getattr(config, name) != ModelConfig.model_fields[name].default]


async def refused_option(
    config: ModelConfig, ask: Callable[[ModelConfig], Awaitable[LLMResponse | LLMError]]
) -> tuple[str, LLMResponse] | None:
    """Find the first option without which the question is answered. Return it and the answer; None if there is none."""
    for name in options_set(config):
        answer = await ask(config.model_copy(update={name: ModelConfig.model_fields[name].default}))
        if not isinstance(answer, LLMError):
            return name, answer
    return None


def list_names(names: list[str]) -> str:
    """Format the names that may be set, as the end of a sentence."""
    return f" to one of: {', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''}" if names else ""
