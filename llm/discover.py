"""What a server offers: the models of an Ollama server, or of an OpenAI-compatible one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from twisted.internet.defer import Deferred

from llm.errors import BadCredential, ProtocolError, Unavailable
from llm.providers import OllamaProvider
from llm.providers.provider import LLMProvider
from resilience import Collected, Credential, Deadline, HttpExchange, Request, ResilienceError

_OK = 200


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """One model a server has. `context_tokens` is None and `capabilities` is empty when the server does not say."""

    name: str
    capabilities: frozenset[str] = frozenset()
    context_tokens: int | None = None


async def offered_models(provider: LLMProvider, exchange: HttpExchange, deadline: Deadline) -> list[OfferedModel]:
    """List the models of a provider's server, in its own order. Raises LLMError."""
    ask = ollama_models if isinstance(provider, OllamaProvider) else chat_models
    return await ask(provider, exchange, deadline)


#: Lists the models of a server. Raises LLMError.
Look = Callable[[LLMProvider, HttpExchange, Deadline], Awaitable[Sequence[OfferedModel]]]


async def looked(
    look: Look, provider: LLMProvider, exchange: HttpExchange, deadline: Deadline, known: Credential | None
) -> Sequence[OfferedModel]:
    """List the models of a server. Raises LLMError.

    `known` is what is known of the key there. While the key is refused, nothing is sent; a new refusal is recorded. A
    good answer says nothing about the key: many servers list their models without one.
    """
    if known is None:
        return await look(provider, exchange, deadline)
    if known.holds(deadline.clock.seconds()):
        raise BadCredential(known.revoked, provider.name, provider.model)
    known.asked()
    try:
        return await look(provider, exchange, deadline)
    except BadCredential as error:
        known.refused(str(error), deadline.clock.seconds())
        raise
    finally:
        known.undecided()


async def ollama_models(provider: LLMProvider, exchange: HttpExchange, deadline: Deadline) -> list[OfferedModel]:
    """List the models an Ollama server has pulled, in its own order. Raises LLMError."""
    answer = await _get(provider, f"{provider.api_url}/api/tags", exchange, deadline)
    return [OfferedModel(name) for name in _names(answer.get("models"), ("name", "model"))]


async def ollama_model(provider: LLMProvider, name: str, exchange: HttpExchange, deadline: Deadline) -> OfferedModel:
    """Return what an Ollama server says of one model. Raises LLMError, ModelNotFound if it lacks the model."""
    headers, body = provider.build_headers(), orjson.dumps({"model": name})
    request = Request("POST", f"{provider.api_url}/api/show", headers, body)
    answer = await _exchange(provider, request, exchange, deadline)
    said = answer.get("capabilities")
    info = answer.get("model_info")
    lengths = (
        [value for key, value in info.items() if key.endswith(".context_length")] if isinstance(info, Mapping) else []
    )
    context = next((length for length in lengths if isinstance(length, int)), None)
    return OfferedModel(name, frozenset(map(str, said)) if isinstance(said, Sequence) else frozenset(), context)


async def chat_models(provider: LLMProvider, exchange: HttpExchange, deadline: Deadline) -> list[OfferedModel]:
    """List the models of an OpenAI-compatible server. Raises LLMError."""
    answer = await _get(provider, provider.get_models_url(), exchange, deadline)
    records = answer.get("data")
    entries = records if isinstance(records, list) else []
    contexts = {str(entry.get("id")): _context_of(entry) for entry in entries if isinstance(entry, Mapping)}
    return [OfferedModel(name, context_tokens=contexts.get(name)) for name in _names(records, ("id",))]


def _context_of(record: Mapping[str, Any]) -> int | None:
    """Return the context length in an entry of the list.

    vLLM, OpenRouter, Groq and llama.cpp each have a field of their own for it.
    """
    meta = record.get("meta")
    inner = meta if isinstance(meta, Mapping) else {}
    told = [record.get(name) for name in ("max_model_len", "context_length", "context_window")]
    told += [inner.get(name) for name in ("n_ctx", "n_ctx_train")]
    return next((length for length in told if isinstance(length, int) and length > 0), None)


def _names(listed: object, keys: Sequence[str]) -> list[str]:
    records = listed if isinstance(listed, list) else []
    found = [
        next((record[key] for key in keys if record.get(key)), "") for record in records if isinstance(record, Mapping)
    ]
    return [name for name in found if isinstance(name, str) and name]


async def _get(provider: LLMProvider, url: str, exchange: HttpExchange, deadline: Deadline) -> Mapping[str, Any]:
    return await _exchange(provider, Request("GET", url, provider.build_headers()), exchange, deadline)


async def _exchange(
    provider: LLMProvider, request: Request, exchange: HttpExchange, deadline: Deadline
) -> Mapping[str, Any]:
    """Return a JSON object from the server. Raises LLMError."""
    sink = Collected()
    try:
        await deadline.bound(Deferred.fromCoroutine(exchange.perform(request, sink)))
    except ResilienceError as error:
        raise Unavailable(error.message, provider.name, provider.model) from error
    if sink.status != _OK:
        raise provider.parse_error_response(sink.status, sink.headers, provider.redacted_body(sink.body))
    try:
        answer = orjson.loads(sink.body)
    except orjson.JSONDecodeError:
        answer = None
    if not isinstance(answer, dict):
        raise ProtocolError("did not answer with JSON: is this the right address?", provider.name, provider.model)
    return answer
