"""Moves a client to another API of the same server, where a model is served only there, or only there with tools.

What was learned is in the model's record, so every client of the process moves, and the log says it once. The key, the
limits, the accounts and the circuit stay the same. A server that turns out not to have that API is asked as before.
"""

from __future__ import annotations

from twisted.logger import Logger

from mud_assistant.llm.errors import LLMError, ModelNotFound
from mud_assistant.llm.modes.capabilities import ModelRecord
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.resilience import origin_of

_MISSING = frozenset({404, 405, 501})
_log = Logger()


def known_provider(provider: LLMProvider, record: ModelRecord) -> LLMProvider:
    """Return the provider to ask this model with, as far as is known."""
    if record.other_api is None:
        return provider
    if record.other_api:
        return provider.alternative(None) or provider
    return provider.instead_of or provider


def other_provider(error: LLMError, provider: LLMProvider, record: ModelRecord) -> LLMProvider | None:
    """Return the provider to ask with after this refusal, and note it in the record. None: stay with this one."""
    if provider.instead_of is not None:
        if error.status not in _MISSING or isinstance(error, ModelNotFound):
            return None
        record.other_api = False
        record.overrides = ()
        _say("{server} does not have the API of {other}; {model} is asked as before", provider, provider.instead_of)
        return provider.instead_of
    other = provider.alternative(error) if record.other_api is None else None
    if other is not None:
        record.other_api = True
        record.overrides = ()
        _say("{server} serves {model} with tools only in the API of {other}; it is asked there", provider, other)
    return other


def _say(said: str, provider: LLMProvider, other: LLMProvider) -> None:
    name = other.name if provider.instead_of is None else provider.name
    _log.info(said, log_event="moved", server=origin_of(provider.api_url), model=provider.model, other=name)
