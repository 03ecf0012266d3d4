"""Asks a server which models it has, and what it says of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from twisted.internet.defer import Deferred

from mud_assistant.llm.errors import BadCredential, LLMError, ProtocolError, Unavailable
from mud_assistant.llm.providers.offered import OfferedModel
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.resilience import Collected, Credential, Deadline, HttpExchange, Request, ResilienceError

_OK = 200


async def offered_models(
    provider: LLMProvider, exchange: HttpExchange, deadline: Deadline, known: Credential | None = None
) -> list[OfferedModel]:
    """List the models of a provider's server, in its own order. Raises LLMError.

    `known` is what is known of the key there. While the key is refused, nothing is sent; a new refusal is recorded. A
    good answer says nothing about the key: many servers list their models without one.
    """
    request = Request("GET", provider.get_models_url(), provider.build_headers())
    if known is None:
        return provider.parse_models(await _exchange(provider, request, exchange, deadline))
    if known.holds(deadline.clock.seconds()):
        raise BadCredential(known.revoked, provider.name, provider.model)
    known.asked()
    try:
        return provider.parse_models(await _exchange(provider, request, exchange, deadline))
    except BadCredential as error:
        known.refused(str(error), deadline.clock.seconds())
        raise
    finally:
        known.undecided()


async def lists_as_openai(provider: LLMProvider, exchange: HttpExchange, deadline: Deadline) -> bool:
    """Tell whether the server lists any models as OpenAI's API does, whatever API its provider speaks."""
    request = Request("GET", f"{provider.api_url}/v1/models", provider.build_headers())
    try:
        answer = await _exchange(provider, request, exchange, deadline)
    except LLMError:
        return False
    listed = answer.get("data")
    return isinstance(listed, list) and bool(listed)


async def describe_model(
    provider: LLMProvider, name: str, exchange: HttpExchange, deadline: Deadline
) -> OfferedModel | None:
    """Return what a server says of one model, or None when its API describes no single models.

    Raises LLMError, ModelNotFound if the server lacks the model.
    """
    request = provider.model_request(name)
    if request is None:
        return None
    return provider.parse_model(name, await _exchange(provider, request, exchange, deadline))


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
        raise provider.parse_error_response(sink.status, sink.headers, provider.redact_body(sink.body))
    try:
        answer = orjson.loads(sink.body)
    except orjson.JSONDecodeError:
        answer = None
    return require_object(answer, provider)


# Any: JSON of a server.
def require_object(answer: object, provider: LLMProvider) -> Mapping[str, Any]:
    """Return the answer, which must be a JSON object. Raises ProtocolError."""
    if not isinstance(answer, dict):
        raise ProtocolError("did not answer with JSON: is this the right address?", provider.name, provider.model)
    return answer
