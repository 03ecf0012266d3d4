"""Several models in order of preference. The first that can answer does, within one deadline.

Every call begins with the first model, so it is used again as soon as it has recovered; while its circuit is open, that
costs nothing. Each model but the last gets half of the time left, so that the next has some.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from mud_assistant.llm.client import DEFAULT_SECONDS, UnifiedLLMClient
from mud_assistant.llm.errors import (
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
from mud_assistant.llm.messages import Message, ToolSpec
from mud_assistant.llm.modes.capabilities import ModelRecord
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.request import Listener, acting
from mud_assistant.llm.response import LLMResponse
from mud_assistant.resilience import Caller, Deadline

#: The share of the time left that each model but the last gets.
SHARE = 0.5
#: Errors after which the next model is asked. Not after a wrong or too long prompt, nor after a used-up budget.
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
T = TypeVar("T")


class Link(Struct, frozen=True):
    """One model and how to ask it. `options` are keyword arguments of `chat_completion`."""

    client: UnifiedLLMClient
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def varied_options(self) -> Mapping[str, Any]:
        """The options with the server's parameters that make another try another answer; the owner's come first."""
        return {
            **self.options,
            "extra_params": {**self.client.provider.variety, **self.options.get("extra_params", {})},
        }


class ModelChain:
    """A chain that asks the first of `links` that can answer. The response names the provider and model that did."""

    def __init__(self, links: Sequence[Link], clock: IReactorTime) -> None:
        if not links:
            raise ValueError("a chain needs at least one model")
        self.links = tuple(links)
        self._clock = clock
        self._served = self.links[0]

    @property
    def provider(self) -> LLMProvider:
        """The provider of the first model. Prompts are measured for it."""
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
        vary: bool = False,
        **options: Any,
    ) -> Deferred[LLMResponse]:
        """Return one complete answer of one model. `options` take precedence over those of its link.

        `vary` adds what makes another try another answer, in the words of the server that is asked.
        Fails with an LLMError: that of the first model that may recover later, else that of the last model, with what
        the others said. Once the listener acted on something, no other model is asked. Cancelling closes the
        connection.
        """
        until = deadline or Deadline.after(self._clock, DEFAULT_SECONDS)
        heard = acting(listener)
        more = {**options, "caller": caller, "listener": heard}

        def ask(link: Link, share: Deadline) -> Deferred[LLMResponse]:
            own = link.varied_options if vary else link.options
            return link.client.chat_completion(messages, tools, deadline=share, **{**own, **more})

        return Deferred.fromCoroutine(self.first(ask, until, lambda: heard is not None and heard.acted))

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, name: str, seconds: float
    ) -> LLMResponse:
        """Let the first model read the beginning of its calls and answer with one token. It is charged to no account.

        The request is made as in a real call, so that the server finds the same beginning again. Raises LLMError; Busy
        when the server was needed for another call, which goes first.
        """
        link = self.links[0]
        caller = Caller(name, is_urgent=False, gives_way=True)
        until = Deadline.after(self._clock, seconds)
        options = {**link.options, "max_tokens": 1, "caller": caller}
        return await link.client.chat_completion(messages, tools, deadline=until, **options)

    async def first(
        self, ask: Callable[[Link, Deadline], Awaitable[T]], deadline: Deadline, acted: Callable[[], bool]
    ) -> T:
        """Return what `ask` returns for the first model that can answer. `ask` gets that model's share of the time.

        Raises an LLMError as `chat_completion` does. Once `acted` says so, no other model is asked.
        """
        failures: list[LLMError] = []
        for link in self.links:
            is_last = link is self.links[-1]
            try:
                answer = await ask(link, deadline if is_last else deadline.part(SHARE))
            except _ELSEWHERE as error:
                failures.append(error)
                if is_last or acted():
                    joined = _join_errors(failures)
                    failures.clear()  # their tracebacks hold this frame
                    if joined is error:
                        raise
                    try:
                        raise joined from error
                    finally:
                        del joined
                _log.warn("asking the next model: {cause}", log_event="fallback", cause=str(error))
            else:
                self._served = link
                return answer
        raise AssertionError("the loop ends by returning or raising")


def _join_errors(failures: Sequence[LLMError]) -> LLMError:
    """Combine the errors into one: the first that waiting may help, with the others' messages and the earliest time."""
    chosen = next((error for error in failures if error.retryable), failures[-1])
    others = "; ".join(str(error) for error in failures if error is not chosen)
    if others:
        chosen.join(others)
    waits = [error.retry_at for error in failures if error.retryable]
    chosen.retry_at = min((at for at in waits if at is not None), default=None) if None not in waits else None
    return chosen
