"""The models that a server says it has, and how OpenAI-compatible servers list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct


class OfferedModel(Struct, frozen=True):
    """One model a server has. `context_tokens` is None and `capabilities` is empty when the server does not say."""

    name: str
    capabilities: frozenset[str] = frozenset()
    context_tokens: int | None = None


def listed_models(answer: Mapping[str, Any]) -> list[OfferedModel]:
    """Return the models in the list of an OpenAI-compatible server, in its own order."""
    records = answer.get("data")
    entries = records if isinstance(records, list) else []
    contexts = {str(entry.get("id")): _context_of(entry) for entry in entries if isinstance(entry, Mapping)}
    return [OfferedModel(name, context_tokens=contexts.get(name)) for name in names_in(records, ("id",))]


def names_in(listed: object, keys: Sequence[str]) -> list[str]:
    """Return the names in a list of records, each under the first of these keys that it has."""
    records = listed if isinstance(listed, list) else []
    found = [
        next((record[key] for key in keys if record.get(key)), "") for record in records if isinstance(record, Mapping)
    ]
    return [name for name in found if isinstance(name, str) and name]


def _context_of(record: Mapping[str, Any]) -> int | None:
    """Return the context length in an entry of the list.

    vLLM, OpenRouter, Groq and llama.cpp each have a field of their own for it.
    """
    meta = record.get("meta")
    inner = meta if isinstance(meta, Mapping) else {}
    told = [record.get(name) for name in ("max_model_len", "context_length", "context_window")]
    told += [inner.get(name) for name in ("n_ctx", "n_ctx_train")]
    return next((length for length in told if isinstance(length, int) and length > 0), None)
