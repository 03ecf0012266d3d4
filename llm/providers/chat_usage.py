"""Reads the usage in an answer of the Chat Completions dialect, whatever its server adds to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mud_assistant.llm.response import Usage


def read_usage(chunk: Mapping[str, Any]) -> Usage | None:
    """Return the usage of a chunk, or None when it has none. A missing or null value is unknown, not 0."""
    usage = chunk.get("usage")
    if not isinstance(usage, dict) and "x_groq" in chunk:
        groq = chunk["x_groq"]
        usage = groq.get("usage") if isinstance(groq, dict) else None
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = None if details is None else _count(details, "cached_tokens")
    return Usage(
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
        _count(usage, "prompt_cache_hit_tokens") if cached is None else cached,
        _count(usage.get("completion_tokens_details"), "reasoning_tokens"),
        None if details is None else _count(details, "cache_write_tokens"),
        _server_tools(usage.get("server_tool_use")),
        _cost(usage.get("cost")),
    )


def _count(source: object, key: str) -> int | None:
    value = source.get(key) if isinstance(source, dict) else None
    return value if type(value) is int and value >= 0 else None  # neither a bool


def _server_tools(counts: object) -> Mapping[str, int] | None:
    """Return the calls of the server's own tools by name: `web_search_requests` counts `web_search`."""
    if not isinstance(counts, dict):
        return None
    return {str(key).removesuffix("_requests"): count for key in counts if (count := _count(counts, key)) is not None}


def _cost(cost: object) -> float | None:
    """Return the cost in US dollars. OpenRouter sends a number, Perplexity a table with its sum in `total_cost`."""
    value: object = cost.get("total_cost") if isinstance(cost, dict) else cost
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return float(value) if value >= 0 else None
