"""Finds out whether a model takes images, where its server says so, before a request with some is sent."""

from __future__ import annotations

from collections.abc import Mapping

from llm import LLMError
from llm.client import UnifiedLLMClient
from llm.discover import describe_model
from llm.errors import ImagesUnsupported
from llm.messages import JSON, JSONObject
from llm.providers.ollama import OllamaProvider
from resilience import Deadline, HttpExchange

#: How long the server may take to describe a model, in seconds.
_SECONDS = 5.0
#: The types of parts that are images, in every dialect that has parts.
_IMAGES = frozenset({"image_url", "image", "input_image"})
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
    return is_doubted and any(map(_has_images, _entries(body.get("messages") or body.get("input"))))


def _has_images(turn: JSONObject) -> bool:
    return bool(turn.get("images")) or any(part.get("type") in _IMAGES for part in _entries(turn.get("content")))


def _entries(value: JSON) -> list[JSONObject]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def may_see(client: UnifiedLLMClient) -> bool:
    """Tell whether clients may be told that the model takes images: it is known to, or most of its kind do."""
    known = client.record.sees_images
    return client.provider.hosted if known is None else known
