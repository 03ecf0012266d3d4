"""Several models in order of preference: the first that can answer does, within one deadline.

Every call begins with the first, so it is used again as soon as it is well: while its circuit is open that costs
nothing. A model that is not the last gets half of the time that is left, so that the next has some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from llm.capabilities import ModelRecord
from llm.client import DEFAULT_SECONDS, UnifiedLLMClient
from llm.errors import (
    BadCredential,
    Blocked,
    LLMDeadlineExceeded,
    LLMError,
    ModelNotFound,
    OutputUnreadable,
    ProtocolError,
    QuotaExhausted,
    RateLimited,
    Unavailable,
)
from llm.messages import Message, ToolSpec
from llm.provider import LLMProvider
from llm.response import LLMResponse
from llm.stream import Listener, acting
from resilience import Caller, Deadline

#: The share of the time left that a model gets which is not the last.
SHARE = 0.5
#: What another model may do better. A prompt that is too long or wrong, and an empty purse, are no such thing.
_ELSEWHERE = (
    Unavailable,
    RateLimited,
    QuotaExhausted,
    BadCredential,
    Blocked,
    ModelNotFound,
    ProtocolError,
    OutputUnreadable,
    LLMDeadlineExceeded,
)

_log = Logger()


@dataclass(frozen=True, slots=True)
class Link:
    """One model, and how it is asked: `options` are what `chat_completion` takes by name."""

    client: UnifiedLLMClient
    options: Mapping[str, Any] = field(default_factory=dict)


class ModelChain:
    """Asks the first of `links` that can answer. Which one did stands in the response: its provider and model."""

    def __init__(self, links: Sequence[Link], clock: IReactorTime) -> None:
        if not links:
            raise ValueError("a chain needs at least one model")
        self.links = tuple(links)
        self._clock = clock
        self._served = self.links[0]

    @property
    def provider(self) -> LLMProvider:
        """The provider of the first model, for which prompts are measured."""
        return self.links[0].client.provider

    @property
    def record(self) -> ModelRecord:
        """What is known of the model that answered last."""
        return self._served.client.record

    def chat_completion(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] | None = None,
        *,
        deadline: Deadline | None = None,
        listener: Listener | None = None,
        caller: Caller | None = None,
        **options: Any,
    ) -> Deferred[LLMResponse]:
        """One complete answer of one model; `options` come before those of its link.

        Fails with an LLMError: the first model's that may be better later, else the last one's, with what the others
        said. Once the listener acted on something, no other model is asked. Cancelling closes the connection.
        """
        until = deadline or Deadline.after(self._clock, DEFAULT_SECONDS)
        more = {**options, "caller": caller, "listener": acting(listener)}
        return Deferred.fromCoroutine(self._first(messages, tools, until, more))

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, name: str, seconds: float
    ) -> LLMResponse:
        """Let the first model read what its calls will begin with, and answer with one token. Nobody pays for it.

        It is asked as in a real call, so that its server finds the same beginning again. Raises LLMError; Busy when
        the server was wanted for something else, which goes before.
        """
        link = self.links[0]
        caller = Caller(name, is_urgent=False, gives_way=True)
        until = Deadline.after(self._clock, seconds)
        options = {**link.options, "max_tokens": 1, "caller": caller}
        return await link.client.chat_completion(messages, tools, deadline=until, **options)

    async def _first(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] | None,
        deadline: Deadline,
        more: Mapping[str, Any],
    ) -> LLMResponse:
        failures: list[LLMError] = []
        for link in self.links:
            is_last = link is self.links[-1]
            share = deadline if is_last else deadline.part(SHARE)
            try:
                response = await link.client.chat_completion(
                    messages, tools, deadline=share, **{**link.options, **more}
                )
            except _ELSEWHERE as error:
                failures.append(error)
                if is_last or (more["listener"] is not None and more["listener"].acted):
                    raise _joined(failures) from error
                _log.warn("asking the next model: {cause}", log_event="fallback", cause=str(error))
            else:
                self._served = link
                return response
        raise AssertionError("the loop ends by returning or raising")


def _joined(failures: Sequence[LLMError]) -> LLMError:
    """One error for all: of the first that waiting may help, with the words of the others and the earliest time."""
    chosen = next((error for error in failures if error.retryable), failures[-1])
    others = "; ".join(str(error) for error in failures if error is not chosen)
    if others:
        chosen.message = f"{chosen.message}; {others}"
    waits = [error.retry_at for error in failures if error.retryable]
    chosen.retry_at = min((at for at in waits if at is not None), default=None) if None not in waits else None
    return chosen
