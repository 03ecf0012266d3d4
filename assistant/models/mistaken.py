"""Says when a server is not of the kind that its provider asks, and which provider asks it."""

from __future__ import annotations

from urllib.parse import urlsplit

from mud_assistant.assistant.config.known_providers import ANY_SERVER
from mud_assistant.llm import LLMError, LLMProvider, Unavailable
from mud_assistant.llm.discover import lists_as_openai
from mud_assistant.llm.providers import provider_classes
from mud_assistant.resilience import Deadline, HttpExchange


def whose_address(provider: LLMProvider) -> str:
    """Say whose address a provider is given, when it is that of a service with another API; empty for any other.

    Only a provider whose servers have an API of their own, such as an Ollama's, can be told by its address.
    """
    if not provider.always_lists:
        return ""
    host = urlsplit(provider.api_url).hostname
    for name, known in provider_classes().items():
        if known.hosted and host == urlsplit(known.usual_url).hostname:
            return (
                f"{provider.api_url} is the address of the provider '{name}' and no {provider.server_name}: choose the "
                f"provider '{name}', with a key and the name of a model"
            )
    return ""


async def openai_instead(
    provider: LLMProvider, error: LLMError | None, exchange: HttpExchange, deadline: Deadline
) -> str:
    """Say that a server which did not list its models as this provider expects speaks OpenAI's API; else empty.

    `error` is what came instead of the list, None for an empty one.
    """
    if not provider.always_lists or isinstance(error, Unavailable):
        return ""
    if not await lists_as_openai(provider, exchange, deadline):
        return ""
    return (
        f"the server at {provider.api_url} is no {provider.server_name}, it speaks OpenAI's API: choose the provider "
        f"'{ANY_SERVER}' with the address {provider.api_url}/v1"
    )
