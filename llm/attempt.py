"""One attempt at one request: sends it, reads the answer, and reports what the response says of limits and cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace
from twisted.internet.interfaces import IReactorTime
from twisted.web.http_headers import Headers

from mud_assistant.llm.answer import HTTP_OK, AnswerSink
from mud_assistant.llm.errors import (
    BadCredential,
    BudgetReached,
    Busy,
    CircuitOpenError,
    LLMDeadlineExceeded,
    LLMError,
    ModelNotFound,
    ProtocolError,
    RateLimited,
    Unavailable,
)
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.response import Prices, RateLimitInfo
from mud_assistant.llm.wire.accumulate import Accumulator
from mud_assistant.llm.wire.rate_limits import Moment, apply, retry_wish
from mud_assistant.resilience import (
    Amount,
    Attempt,
    BodyTooLarge,
    BudgetSpent,
    CircuitOpen,
    ConnectFailed,
    ConnectionLost,
    CoolingDown,
    DeadlineExceeded,
    GaveWay,
    HttpExchange,
    Limits,
    NotThere,
    QueueFull,
    RateLimitSnapshot,
    Request,
    ResilienceError,
    Revoked,
    origin_of,
)


class AttemptResult(Struct, frozen=True):
    """What an attempt returned."""

    answer: Accumulator
    limits: RateLimitInfo | None


@dataclass(slots=True)
class AttemptRunner:
    """A maker of attempts at one request. `new_sink` gives a fresh reader for each attempt."""

    provider: LLMProvider
    exchange: HttpExchange
    clock: IReactorTime
    http_request: Request
    new_sink: Callable[[], AnswerSink]
    #: The estimated size of the prompt, in tokens.
    prompt_tokens: int
    limits: Limits | None = None
    prices: Prices | None = None
    wall: Callable[[], float] | None = None

    async def __call__(self, attempt: Attempt) -> AttemptResult:
        """Return the complete answer. Raises LLMError; do not retry an error raised after the listener acted."""
        sink, is_whole = self.new_sink(), False
        sink.heard = attempt.heard
        try:
            try:
                await self.exchange.perform(self.http_request, sink, self.limits)
            except ResilienceError as error:
                raise map_failed_exchange(error, self.provider, sink) from error
            try:
                answer = await sink.result()
            except LLMError as error:  # the response was complete, so its headers may carry wishes
                error.partial = error.partial or sink.accumulator.text
                set_retry_at(error, Headers() if sink.status == HTTP_OK else sink.headers, self._moment())
                raise
            is_whole = True
            return AttemptResult(answer, self._report_limits(sink, attempt))
        except LLMError as error:
            error.message = self.provider.redact(error.message)
            if isinstance(error, ModelNotFound):
                error.message = explain_missing_model(self.provider, error.message)
            if sink.was_acted_upon:
                error.should_retry = False
            self._report_limits(sink, attempt)
            raise
        finally:
            attempt.used = self._used(sink, is_whole=is_whole)

    def _report_limits(self, sink: AnswerSink, attempt: Attempt) -> RateLimitInfo | None:
        """Return what the headers say of limits, and pass it on to the pacing of later requests."""
        info = self.provider.parse_rate_limit_headers(sink.headers, self._moment())
        if info is not None:
            attempt.note_limits(
                _limit(info.remaining_requests, info.limit_requests, info.reset_requests_at),
                _limit(info.remaining_tokens, info.limit_tokens, info.reset_tokens_at),
            )
        return info

    def _used(self, sink: AnswerSink, *, is_whole: bool) -> Amount:
        """Return the cost of the attempt: as reported, else as estimated. It is zero before an answer began.

        What Anthropic reports before the end covers only the beginning, so at least the text of a broken answer is
        counted.
        """
        if sink.status != HTTP_OK:
            return Amount()
        usage = sink.accumulator.usage
        if usage.total_tokens is None or not is_whole:
            written = self.provider.tokens.of_bytes(sink.accumulator.written_bytes)
            read = self.prompt_tokens if usage.input_tokens is None else usage.input_tokens
            usage = replace(usage, input_tokens=read, output_tokens=max(written, usage.output_tokens or 0))
        cost = self.prices.fill(usage).cost if self.prices else usage.cost
        return Amount(1, max(0, usage.total_tokens or 0), max(0.0, cost or 0.0))

    def _moment(self) -> Moment:
        return Moment(self.clock.seconds(), self.wall() if self.wall else None)


def set_retry_at(error: LLMError, headers: Headers, moment: Moment) -> None:
    """Note in an error when its server wants to be asked again: by the headers, else by what the body said."""
    apply(error, headers, moment)
    if error.retry_at is None and error.wishes:
        error.retry_at = retry_wish(Headers({name: [value] for name, value in error.wishes.items()}), moment)


def map_failed_exchange(error: ResilienceError, provider: LLMProvider, sink: AnswerSink | None = None) -> LLMError:
    """Turn a failed exchange into an error of this package. This is the only place that does.

    `sink` is the reader of an answer that was to be streamed.
    """
    match error:
        case BodyTooLarge():
            return ProtocolError(error.message, provider.name, provider.model)
        case ConnectionLost(began=True) if sink is not None:
            return sink.broken(error.message)
        case ConnectFailed(untrusted=True):
            return Unavailable(error.message, provider.name, provider.model, should_retry=False)
        case _:
            return Unavailable(error.message, provider.name, provider.model)


def map_unmade_call(error: ResilienceError, provider: LLMProvider, now: float) -> LLMError:
    """Turn a call that was not made, or ran out of time, into an error of this package.

    This is the only place that does.
    """
    said, name, model = error.message, provider.name, provider.model
    match error:
        case DeadlineExceeded():
            return LLMDeadlineExceeded(said, name, model)
        case CircuitOpen():
            at = now + error.retry_after
            return CircuitOpenError(said, name, model, retry_at=at, name=error.name, retry_after=error.retry_after)
        case CoolingDown():
            return RateLimited(said, name, model, retry_at=error.until)
        case Revoked():
            return BadCredential(f"{said}: {error.why}", name, model)
        case NotThere():
            return ModelNotFound(f"{error.why.removeprefix(f'{name}/{model}: ')}; {said}", name, model)
        case QueueFull() | GaveWay():
            return Busy(said, name, model)
        case BudgetSpent():
            return BudgetReached(said, retry_at=error.resets_at, account=error.account, what=error.what)
        case _:
            return Unavailable(said, name, model)


def explain_missing_model(provider: LLMProvider, said: str) -> str:
    """Say that the model is missing, what the owner can do about it, and what the server said."""
    what = f"has no model '{provider.model}'" if provider.model else "has no such model"
    return f"the server {origin_of(provider.get_api_url())} {what}; {provider.missing_model()} (it said: {said})"


def _limit(remaining: int | None, limit: int | None, reset_at: float | None) -> RateLimitSnapshot | None:
    return None if remaining is None else RateLimitSnapshot(remaining, limit, reset_at)
