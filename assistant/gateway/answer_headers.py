"""The headers by which an answer tells who gave it, what it cost, and what of the request was changed."""

from __future__ import annotations

from mud_assistant.assistant.gateway.streaming import Headers
from mud_assistant.llm.client import UnifiedLLMClient
from mud_assistant.llm.response import Usage

#: Tells which fields of a request were left out or changed.
AMENDED_HEADER = b"x-mud-assistant-amended"
#: Tell who answers, which of the fallbacks that is, and the cost: of a whole answer, and of a million tokens.
MODEL_HEADER = b"x-mud-assistant-model"
FALLBACK_HEADER = b"x-mud-assistant-fallback"
COST_HEADER, PRICES_HEADER = b"x-mud-assistant-cost", b"x-mud-assistant-prices"


def model_headers(client: UnifiedLLMClient | None) -> Headers:
    """Return who is asked, and the configured prices of a million tokens, in and out."""
    if client is None:
        return []
    named = f"{client.provider.name}/{client.provider.model}".encode("ascii", "replace")
    prices = client.prices
    known = [] if prices is None else [(PRICES_HEADER, f"input={prices.input:g}, output={prices.output:g}".encode())]
    return [(MODEL_HEADER, named), *known]


def cost_headers(client: UnifiedLLMClient | None, usage: Usage) -> Headers:
    """Return what a whole answer cost, where that is known: as the provider says, else by the configured prices."""
    prices = None if client is None else client.prices
    cost = usage.cost if prices is None else prices.fill(usage).cost
    return [] if cost is None else [(COST_HEADER, f"{cost:.9f}".rstrip("0").rstrip(".").encode())]
