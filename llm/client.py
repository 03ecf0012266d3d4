"""Asks a model: messages and tools in, one complete answer out, whatever the provider supports."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from random import Random
from typing import Any

from msgspec.structs import replace
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from mud_assistant.llm.answer import AnswerSink
from mud_assistant.llm.attempt import AttemptResult
from mud_assistant.llm.errors import BadCredential, LLMError, OutputUnreadable
from mud_assistant.llm.fallback.find import with_calls_from_text
from mud_assistant.llm.messages import Message, Role, Text, ToolSpec
from mud_assistant.llm.modes.capabilities import Capabilities, ModelRecord, learn_from_answer
from mud_assistant.llm.modes.mode import RequestMode, apply_mode, best_mode, learn_from
from mud_assistant.llm.modes.structured import parse_structured
from mud_assistant.llm.moving import known_provider, other_provider
from mud_assistant.llm.paused import ContinuedTurn, RefusedHistory
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.reports import CallReports, MeasuredCall
from mud_assistant.llm.request import (
    HOPS_HEADER,
    IMAGE_TOKENS,
    NOBODY,
    USUAL,
    CallOptions,
    ChatRequest,
    Listener,
    OnRequest,
    ToolChoice,
    acting,
    names_of,
)
from mud_assistant.llm.response import FinishReason, LLMResponse, Prices, Usage
from mud_assistant.llm.sending import Sender
from mud_assistant.resilience import (
    Caller,
    Deadline,
    HttpExchange,
    Limits,
    Pipeline,
    Request,
    RetryConfig,
    UpstreamConfig,
)
from mud_assistant.resilience.coroutines import run

#: The time for one whole call, in seconds, when the caller names no deadline.
DEFAULT_SECONDS = 600.0


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
        self._capabilities = capabilities or Capabilities()
        self._new_id = new_id or (lambda: f"call_{secrets.token_hex(8)}")
        self._prices = prices
        self._is_local = is_local
        self._reread_key = reread_key
        self._reports = reports
        self.pipeline = pipeline or Pipeline(clock, Random())  # noqa: S311  (jitter is no secret)
        self.sender = Sender(
            exchange, clock, self.pipeline, retry or RetryConfig(), limits=limits, prices=prices, wall=wall,
            upstream=upstream, is_local=is_local,
        )  # fmt: skip
        self._clock = clock
        self._progress_seconds = self.sender.progress_seconds

    @property
    def prices(self) -> Prices | None:
        """The configured prices of this client's model."""
        return self._prices

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

        If the provider refuses what only it can read of the history, that is left out and it is asked once more.
        """
        turn = ContinuedTurn(request.messages)
        while turn.is_open:
            asked = request if turn.messages is request.messages else replace(request, messages=turn.messages)
            try:
                turn.add(await self._complete(asked, deadline))
            except RefusedHistory as error:
                if not turn.drop_refused(error):
                    raise
        assert turn.answer is not None
        schema = request.options.schema
        return turn.answer if schema is None else parse_structured(turn.answer, schema)

    async def _complete(self, request: ChatRequest, deadline: Deadline) -> LLMResponse:
        """Ask in the best mode known for this model. Learn from a refusal that teaches something, and ask again."""
        record = self.record
        self.provider = known_provider(self.provider, record)
        mode = best_mode(request, record, self.provider)
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
                if not in_vain and (other := other_provider(error, self.provider, record)) is not None:
                    self.provider = other
                    mode = best_mode(request, record, other)
                    continue
                better = None if in_vain else learn_from(error, mode, record, self.provider)
                if better is None:
                    raise
                mode = better

    async def has_new_key(self) -> bool:
        """Read the key again and use it from now on. Return True when it has changed."""
        return self._reread_key is not None and self.provider.give_key(await self._reread_key())

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
            progress = None if deadline.latest is None and deadline.whole is None else deadline.renew
            read = await self._send(request, deadline, body, mode, record, on_progress=progress)
        else:
            who = (request.caller.name, provider.name, provider.model)
            send = partial(self._send, request, deadline, body, mode, record)
            read = await MeasuredCall(self._reports, self._clock, who, self._prices).report(send, deadline.renew)
        answer = read.answer
        if not options.images[0]:
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
        on_progress: Callable[[], None] | None,
    ) -> AttemptResult:
        """Send this body through the pipeline and return the answer."""
        provider = self.provider
        known = names_of(request.tools)

        def new_sink() -> AnswerSink:
            if self._is_local:
                deadline.hold()
            if request.on_request is not None:
                request.on_request(http_request.url, body)
            if request.listener is not None:
                is_answer = mode.native and record.text_alone is True
                request.listener.begins(text_is_answer=is_answer, as_text=mode.as_text)
            return AnswerSink(
                provider,
                known,
                self._new_id,
                request.listener,
                clock=self._clock,
                progress_seconds=self._progress_seconds,
                on_progress=on_progress,
            )

        images, size = request.options.images
        tokens = (
            provider.tokens.of_bytes(len(body) - size) + IMAGE_TOKENS * images
            if images
            else (provider.tokens.of_request(body))
        )
        headers = provider.headers_for(request.options)
        if request.options.hops:
            headers = headers.copy()
            headers.setRawHeaders(HOPS_HEADER, [str(request.options.hops)])
        http_request = Request("POST", provider.get_api_url(), headers, body)
        most = request.options.max_tokens
        return await self.sender.send(
            provider, http_request, new_sink, (tokens, most), caller=request.caller, deadline=deadline
        )

    def _rescue_calls(self, error: LLMError, request: ChatRequest) -> LLMResponse | None:
        """Return the calls in model output that its server could not parse, or None when there are none."""
        if not isinstance(error, OutputUnreadable) or not error.generated:
            return None
        written = Message(Role.ASSISTANT, (Text(error.generated),))
        response = LLMResponse(written, FinishReason.STOP, Usage(), self.provider.name, self.provider.model)
        read = with_calls_from_text(response, request, self._new_id)
        return read if read.has_tool_calls else None
