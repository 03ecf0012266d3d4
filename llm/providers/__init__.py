"""The providers by name. Adding one is a file here and a line in `_PROVIDERS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llm.provider import LLMProvider
from llm.providers.anthropic import AnthropicProvider
from llm.providers.chat import ChatProvider, LocalProvider
from llm.providers.ollama import OllamaProvider
from llm.providers.openai import OpenAIProvider
from llm.providers.openrouter import OpenRouterProvider

_PROVIDERS: Mapping[str, Callable[..., LLMProvider]] = {
    "anthropic": AnthropicProvider,
    "ollama": OllamaProvider,
    "local": LocalProvider,
    "openai": OpenAIProvider,
    "openrouter": OpenRouterProvider,
}

PROVIDER_NAMES = tuple(_PROVIDERS)


class UnknownProviderError(ValueError):
    """There is no provider of this name; the message lists those there are."""


# Any: each provider takes options of its own, checked by its constructor.
def get_provider(name: str, api_url: str | None = None, model: str | None = None, **options: Any) -> LLMProvider:
    """The provider called `name` for a model. Raises UnknownProviderError.

    `api_url` is the base URL, None for the provider's usual place; options go to its constructor.
    """
    if name not in _PROVIDERS:
        known = ", ".join(sorted(_PROVIDERS))
        raise UnknownProviderError(f"there is no provider '{name}'; choose one of: {known}")
    return _PROVIDERS[name](api_url or "", model or "", **options)


__all__ = [
    "PROVIDER_NAMES",
    "AnthropicProvider",
    "ChatProvider",
    "LLMProvider",
    "LocalProvider",
    "OllamaProvider",
    "OpenAIProvider",
    "OpenRouterProvider",
    "UnknownProviderError",
    "get_provider",
]
