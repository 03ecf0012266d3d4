"""Sends the requests of one model through the pipeline: what it asks of whom, who pays, and what a failure means."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from twisted.internet.interfaces import IReactorTime

from mud_assistant.llm.answer import AnswerSink
from mud_assistant.llm.attempt import AttemptResult, AttemptRunner, map_unmade_call
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.response import Prices, Usage
from mud_assistant.llm.verdicts import verdict_of
from mud_assistant.resilience import (
    Account,
    Allowance,
    Amount,
    Call,
    Caller,
    CallTarget,
    Deadline,
    HttpExchange,
    Limits,
    Pipeline,
    Request,
    ResilienceError,
    RetryConfig,
    UpstreamConfig,
    Verdict,
    origin_of,
)

#: Begins the name of the account that counts what one model used, followed by PROVIDER/NAME.
MODEL_ACCOUNT = "model:"
#: The assumed length of an answer, in tokens, when the caller names no bound.
DEFAULT_ANSWER_TOKENS = 500


class Sender:
    """What all requests of one client have in common. Its arguments are those of `UnifiedLLMClient`."""

    def __init__(
        self,
        exchange: HttpExchange,
        clock: IReactorTime,
        pipeline: Pipeline,
        retry: RetryConfig,
        *,
        limits: Limits | None = None,
        prices: Prices | None = None,
        wall: Callable[[], float] | None = None,
        upstream: UpstreamConfig | None = None,
        is_local: bool = False,
    ) -> None:
        self.clock = clock
        #: How long only signs of life may come, in seconds.
        self.progress_seconds = (limits or Limits()).progress_seconds
        self._exchange = exchange
        self._pipeline = pipeline
        self._retry = retry
        self._limits = limits
        self._prices = prices
        self._wall = wall
        self._upstream = upstream
        self._is_local = is_local

    async def send(
        self,
        provider: LLMProvider,
        request: Request,
        new_sink: Callable[[], AnswerSink],
        tokens: tuple[int, int | None],
        *,
        caller: Caller,
        deadline: Deadline,
    ) -> AttemptResult:
        """Send a request of this provider, and return what its reader made of the answer.

        `new_sink` makes a reader for each attempt. `tokens` are those of the prompt as estimated, and the most that
        the answer may have, None when the request does not say. Raises LLMError. Cancelling closes the connection.
        """
        attempt = AttemptRunner(
            provider, self._exchange, self.clock, request, new_sink, tokens[0],
            limits=self._limits, prices=self._prices, wall=self._wall,
        )  # fmt: skip
        if self._is_local:
            deadline.hold()  # the server may read other prompts first
        try:
            read = await self._pipeline.call(attempt, self._describe(provider, caller, *tokens), deadline)
        except ResilienceError as error:
            raise map_unmade_call(error, provider, self.clock.seconds()) from error
        finally:
            if self._is_local:
                deadline.renew()
        deadline.renew()
        return read

    def _describe(self, provider: LLMProvider, caller: Caller, tokens: int, most: int | None) -> Call:
        """Describe the call to the pipeline."""
        answer = most or DEFAULT_ANSWER_TOKENS
        cost = self._prices.cost(Usage(tokens, answer)) if self._prices else None
        return Call(
            _target_of(provider.get_api_url(), provider.credential, provider.model),
            judge=self._judge,
            caller=caller,
            counted_by=_account_of(provider.counted_as, provider.model),
            estimate=Amount(1, tokens + answer, cost or 0.0),
            retry=self._retry,
            upstream=self._upstream,
        )

    def _judge(self, error: Exception) -> Verdict:
        """Return what a failed attempt means."""
        return verdict_of(error, self.clock.seconds(), self._retry)


@lru_cache(maxsize=64)
def _target_of(api_url: str, credential: str, model: str) -> CallTarget:
    """Return what a call asks, the same object for every call."""
    return CallTarget(origin_of(api_url), credential, model)


@lru_cache(maxsize=64)
def _account_of(provider: str, model: str) -> Account:
    """Return the account that counts what a model used, the same one for every client of the model."""
    return Account(f"{MODEL_ACCOUNT}{provider}/{model}", Allowance())
