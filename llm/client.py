"""Asks a model: messages and tools in, one complete answer out, whatever the provider supports."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from llm.answer import AnswerSink
from llm.attempt import AttemptResult, AttemptRunner, map_unmade_call
from llm.errors import BadCredential, LLMError, OutputUnreadable, UnpairedServerTool
from llm.fallback.find import with_calls_from_text
from llm.messages import Message, Role, Text, ToolSpec
from llm.modes.capabilities import Capabilities, ModelRecord, learn_from_answer
from llm.modes.mode import RequestMode, apply_mode, learn_from
from llm.modes.structured import parse_structured
from llm.paused import ContinuedTurn
from llm.providers.provider import LLMProvider
from llm.reports import CallReports, MeasuredCall
from llm.request import NOBODY, USUAL, CallOptions, ChatRequest, Listener, OnRequest, ToolChoice, acting
from llm.response import FinishReason, LLMResponse, Prices, Usage
from llm.verdicts import verdict_of
from resilience import (
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
from resilience.coroutines import run

#: The time for one whole call, in seconds, when the caller names no deadline.
DEFAULT_SECONDS = 600.0
#: Begins the name of the account that counts what one model used, followed by PROVIDER/NAME.
MODEL_ACCOUNT = "model:"
#: The assumed length of an answer, in tokens, when the caller names no bound.
DEFAULT_ANSWER_TOKENS = 500


class UnifiedLLMClient:
    """A client of one model. It is cheap to make; the exchange and the capabilities are shared by the process."""

    def __init__(
        self,
        provider: LLMProvider,
        exchange: HttpExchange,
        clock: IReactorTime,
        *,
        capabilities: Capabilities | None = None,
        limits: Limits | None = None,
        new_id: Callable[[], str] | None = None,
        prices: Prices | None = None,
        wall: Callable[[], float] | None = None,
        pipeline: Pipeline | None = None,
        retry: RetryConfig | None = None,
        upstream: UpstreamConfig | None = None,
        is_local: bool = False,
        reread_key: Callable[[], Awaitable[str]] | None = None,
        reports: CallReports | None = None,
    ) -> None:
        """Make a client. `is_local`: the server reads long prompts silently and slowly, so calls hold the deadline.

        `wall` gives seconds since 1970, for dates in headers of a server that does not date its responses. `pipeline`
        is shared by all clients of a process. `retry` says how this client's calls are retried, and `upstream` how its
        server is treated when no client has asked it before. `reread_key` is called when the key in use is refused. It
        returns the current key, empty when there is none. `reports` are told of every exchange.
        """
        self.provider = provider
        self._exchange = exchange
        self._clock = clock
        self._capabilities = capabilities or Capabilities()
        self._limits = limits
        self._progress_seconds = (limits or Limits()).progress_seconds
        self._new_id = new_id or (lambda: f"call_{secrets.token_hex(8)}")
        self._prices = prices
        self._wall = wall
        self.pipeline = pipeline or Pipeline(clock, Random())  # noqa: S311  (jitter is no secret)
        self._retry = retry or RetryConfig()
        self._upstream = upstream
        self._is_local = is_local
        self._reread_key = reread_key
        self._reports = reports

    @property
    def record(self) -> ModelRecord:
        """What is known of this client's model."""
        return self._capabilities.of(self.provider.api_url, self.provider.model)

    def chat_completion(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] | None = None,
        tool_choice: ToolChoice | None = None,
        *,
        deadline: Deadline | None = None,
        listener: Listener | None = None,
        caller: Caller | None = None,
        on_request: OnRequest | None = None,
        **options: Any,
    ) -> Deferred[LLMResponse]:
        """Return one complete answer. `options` are the fields of CallOptions.

        Fails with an LLMError. Cancelling closes the connection. `listener` hears the stream as it arrives; once it
        acted on something, the call is not retried. A plain function counts as acting as soon as it hears anything.
        `caller` says on whose behalf the call is made. `on_request` is shown each body that is sent.
        """
        given = CallOptions(**options) if options else USUAL
        request = ChatRequest(messages, tools or (), tool_choice, given, acting(listener), caller or NOBODY, on_request)
        until = deadline or Deadline.after(self._clock, DEFAULT_SECONDS)
        return run(self._turn(request, until))

    async def _turn(self, request: ChatRequest, deadline: Deadline) -> LLMResponse:
        """Complete one turn, however often the provider pauses in it, and check its text against the schema.

        If the provider refuses because a server tool's call has no result, such calls are left out and it is asked
        once more.
        """
        turn = ContinuedTurn(request.messages)
        while turn.is_open:
            asked = request if turn.messages is request.messages else replace(request, messages=turn.messages)
            try:
                turn.add(await self._complete(asked, deadline))
            except UnpairedServerTool:
                if not turn.drop_unpaired():
                    raise
        assert turn.answer is not None
        schema = request.options.schema
        return turn.answer if schema is None else parse_structured(turn.answer, schema)

    async def _complete(self, request: ChatRequest, deadline: Deadline) -> LLMResponse:
        """Ask in the best mode known for this model. Learn from a refusal that teaches something, and ask again."""
        record = self.record
        mode = self._best_mode(request, record)
        reread = False
        while True:
            try:
                return await self._exchange_once(request, deadline, mode, record)
            except LLMError as error:
                if isinstance(error, BadCredential) and not reread:
                    reread = True
                    if await self.has_new_key():
                        continue
                if rescued := self._rescue_calls(error, request):
                    return rescued
                acted = request.listener is not None and request.listener.acted
                in_vain = acted or (request.caller.gives_way and isinstance(error, OutputUnreadable))
                better = None if in_vain else learn_from(error, mode, record, self.provider)
                if better is None:
                    raise
                mode = better

    async def has_new_key(self) -> bool:
        """Read the key again and use it from now on. Return True when it has changed."""
        return self._reread_key is not None and self.provider.give_key(await self._reread_key())

    def _best_mode(self, request: ChatRequest, record: ModelRecord) -> RequestMode:
        """Return the best known mode."""
        as_text = bool(request.tools) and (record.as_text or not self.provider.supports_tools())
        wanted = request.options.structured
        schema = (record.schema is not False or wanted == "schema") and wanted != "off"
        schema = schema and self.provider.supports_schema()
        thinks = request.options.think is not None and record.thinking is not False
        native = bool(request.tools) and not as_text
        return RequestMode(native=native, as_text=as_text, schema=schema, thinks=thinks, overrides=record.overrides)

    async def _exchange_once(
        self, request: ChatRequest, deadline: Deadline, mode: RequestMode, record: ModelRecord
    ) -> LLMResponse:
        """Make one exchange: encode, send, read, and find the calls in the answer."""
        provider = self.provider
        messages, tools, options = apply_mode(request, mode)
        choice = request.tool_choice if tools else None
        body = provider.build_request(
            messages, tools, choice, options, tools_as_text=mode.as_text, overrides=mode.overrides
        )
        if self._reports is None or not self._reports.listeners:
            read = await self._send(request, deadline, body, mode, record, on_progress=deadline.renew)
        else:
            who = (request.caller.name, provider.name, provider.model)
            send = partial(self._send, request, deadline, body, mode, record)
            read = await MeasuredCall(self._reports, self._clock, who, self._prices).report(send, deadline.renew)
        answer = read.answer
        provider.tokens.learn(len(body), answer.usage.input_tokens)
        message, finish = answer.message()
        response = LLMResponse(
            message,
            finish,
            self._prices.fill(answer.usage) if self._prices else answer.usage,
            provider.name,
            answer.model or provider.model,
            read.limits,
        )
        response = with_calls_from_text(response, request, self._new_id)
        learn_from_answer(response, request, mode, record)
        return response

    async def _send(
        self,
        request: ChatRequest,
        deadline: Deadline,
        body: bytes,
        mode: RequestMode,
        record: ModelRecord,
        *,
        on_progress: Callable[[], None],
    ) -> AttemptResult:
        """Send this body through the pipeline and return the answer."""
        provider = self.provider
        known = [tool.name for tool in request.tools]

        def new_sink() -> AnswerSink:
            if self._is_local:
                deadline.hold()
            if request.on_request is not None:
                request.on_request(http_request.url, body)
            if request.listener is not None:
                request.listener.begins(text_is_answer=mode.native and record.text_alone is True)
            return AnswerSink(
                provider,
                known,
                self._new_id,
                request.listener,
                clock=self._clock,
                progress_seconds=self._progress_seconds,
                on_progress=on_progress,
            )

        tokens = provider.tokens.of_request(body)
        http_request = Request("POST", provider.get_api_url(), provider.headers_for(request.options), body)
        attempt = AttemptRunner(
            provider, self._exchange, self._clock, http_request, new_sink, tokens,
            limits=self._limits, prices=self._prices, wall=self._wall,
        )  # fmt: skip
        if self._is_local:
            deadline.hold()  # the server may read other prompts first
        try:
            read = await self.pipeline.call(attempt, self._describe_call(request, tokens), deadline)
        except ResilienceError as error:
            raise map_unmade_call(error, provider, self._clock.seconds()) from error
        finally:
            if self._is_local:
                deadline.renew()
        deadline.renew()
        return read

    def _describe_call(self, request: ChatRequest, tokens: int) -> Call:
        """Describe the call to the pipeline."""
        provider, answer = self.provider, request.options.max_tokens or DEFAULT_ANSWER_TOKENS
        cost = self._prices.cost(Usage(tokens, answer)) if self._prices else None
        return Call(
            _target_of(provider.get_api_url(), provider.credential, provider.model),
            judge=self._judge,
            caller=request.caller,
            counted_by=_account_of(provider.name, provider.model),
            estimate=Amount(1, tokens + answer, cost or 0.0),
            retry=self._retry,
            upstream=self._upstream,
        )

    def _judge(self, error: Exception) -> Verdict:
        """Return what a failed attempt means."""
        return verdict_of(error, self._clock.seconds(), self._retry)

    def _rescue_calls(self, error: LLMError, request: ChatRequest) -> LLMResponse | None:
        """Return the calls in model output that its server could not parse, or None when there are none."""
        if not isinstance(error, OutputUnreadable) or not error.generated:
            return None
        written = Message(Role.ASSISTANT, (Text(error.generated),))
        response = LLMResponse(written, FinishReason.STOP, Usage(), self.provider.name, self.provider.model)
        read = with_calls_from_text(response, request, self._new_id)
        return read if read.has_tool_calls else None


@lru_cache(maxsize=64)
def _target_of(api_url: str, credential: str, model: str) -> CallTarget:
    """Return what a call asks, the same object for every call."""
    return CallTarget(origin_of(api_url), credential, model)


@lru_cache(maxsize=64)
def _account_of(provider: str, model: str) -> Account:
    """Return the account that counts what a model used, the same one for every client of the model."""
    return Account(f"{MODEL_ACCOUNT}{provider}/{model}", Allowance())
