"""Finds out whether a model takes images, where its server says so, before a request with some is sent."""

from __future__ import annotations

from mud_assistant.llm import LLMError
from mud_assistant.llm.client import UnifiedLLMClient
from mud_assistant.llm.dialects.images import images_in_body
from mud_assistant.llm.discover import describe_model
from mud_assistant.llm.errors import ImagesUnsupported
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.providers.ollama import OllamaProvider
from mud_assistant.resilience import Deadline, HttpExchange

#: How long the server may take to describe a model, in seconds.
_SECONDS = 5.0
#: The word for it among the capabilities of a model, as Ollama lists them.
_VISION = "vision"


async def check_sight(client: UnifiedLLMClient, exchange: HttpExchange) -> None:
    """Raise ImagesUnsupported for a model that is known to take no images. A server that does not say is asked itself.

    Some models that take none answer all the same, as if they had seen one.
    """
    provider, record = client.provider, client.record
    if record.sees_images is None:
        until = Deadline.after(client.sender.clock, _SECONDS)
        try:
            described = await describe_model(provider, provider.model, exchange, until)
        except LLMError:
            described = None
        if described is not None and described.capabilities:
            record.sees_images = _VISION in described.capabilities
    if record.sees_images is False:
        raise ImagesUnsupported("its capabilities are without vision", provider.name, provider.model)


def must_look(client: UnifiedLLMClient, body: JSONObject) -> bool:
    """Tell whether a request that is forwarded has images for a model that may take none, without saying so."""
    is_doubted = client.record.sees_images is False or client.provider.name == OllamaProvider.name
    return is_doubted and images_in_body(body)[0] > 0


def may_see(client: UnifiedLLMClient) -> bool:
    """Tell whether clients may be told that the model takes images: it is known to, or most of its kind do."""
    known = client.record.sees_images
    return client.provider.hosted if known is None else known
