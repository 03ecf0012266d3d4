"""The providers by name. To add one, add a file here and its name to `_MODULES`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

from mud_assistant.llm.providers.anthropic.provider import AnthropicProvider
from mud_assistant.llm.providers.chat import ChatProvider, LocalProvider
from mud_assistant.llm.providers.ollama import OllamaProvider
from mud_assistant.llm.providers.openai import OpenAIProvider
from mud_assistant.llm.providers.openrouter import OpenRouterProvider
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.providers.responses.provider import ResponsesProvider

#: The modules of this package whose providers can be chosen, in the order in which they are listed.
_MODULES = (
    "ollama",
    "chat",
    "openai",
    "anthropic.provider",
    "responses.provider",
    "openrouter",
)


def _providers_in(module: ModuleType) -> list[type[LLMProvider]]:
    """Return the provider classes that a module defines and gives a name."""
    classes = (value for value in vars(module).values() if isinstance(value, type) and issubclass(value, LLMProvider))
    return [found for found in classes if found.__module__ == module.__name__ and found.name]


_PROVIDERS: dict[str, type[LLMProvider]] = {
    provider.name: provider for module in _MODULES for provider in _providers_in(import_module(f"{__name__}.{module}"))
}

PROVIDER_NAMES = tuple(_PROVIDERS)


def provider_classes() -> Mapping[str, type[LLMProvider]]:
    """Return every provider by name, in the order in which they are listed."""
    return MappingProxyType(_PROVIDERS)


class UnknownProviderError(ValueError):
    """There is no provider of this name. The message lists those there are."""


# Any: each provider takes options of its own, checked by its constructor.
def get_provider(name: str, api_url: str | None = None, model: str | None = None, **options: Any) -> LLMProvider:
    """Return the provider called `name` for a model. Raises UnknownProviderError.

    `api_url` is the base URL, or None for the provider's default. The options go to its constructor.
    """
    if name not in _PROVIDERS:
        known = ", ".join(sorted(_PROVIDERS))
        raise UnknownProviderError(f"there is no provider '{name}'; choose one of: {known}")
    # Any: the classes take different options, so they are not checked here.
    make: Any = _PROVIDERS[name]
    made: LLMProvider = make(api_url or "", model or "", **options)
    return made


__all__ = [
    "PROVIDER_NAMES",
    "AnthropicProvider",
    "ChatProvider",
    "LLMProvider",
    "LocalProvider",
    "OllamaProvider",
    "OpenAIProvider",
    "OpenRouterProvider",
    "ResponsesProvider",
    "UnknownProviderError",
    "get_provider",
    "provider_classes",
]
