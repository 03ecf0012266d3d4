"""Ask a model: messages and tools in, one complete answer out, whatever the provider can and cannot do."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from llm import call_record
from llm.accumulate import Accumulator
from llm.answer import HTTP_OK, AnswerSink
from llm.capabilities import Capabilities, ModelRecord
from llm.errors import (
    LLMDeadlineExceeded,
    LLMError,
    OutputUnreadable,
    ProtocolError,
    Unavailable,
)
from llm.fallback_prompt import call_schema, with_instructions
from llm.json_fallback import find_calls
from llm.messages import Block, Message, Reasoning, Role, Text, ToolSpec
from llm.options import CallOptions, ToolChoice
from llm.paused import whole_turn
from llm.prices import Prices
from llm.provider import LLMProvider
from llm.rate_limits import Moment, heed
from llm.response import FinishReason, LLMResponse, Usage
from llm.stream import Listener
from llm.structured import checked, with_schema
from llm.ways import Way, learned
from resilience import (
    BodyTooLarge,
    ConnectionLost,
    Deadline,
    DeadlineExceeded,
    HttpExchange,
    Limits,
    Request,
    ResilienceError,
    call,
)

#: The whole of one call, in seconds, when the caller names no deadline.
DEFAULT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class _Ask:
    """One logical call."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    tool_choice: ToolChoice | None
    options: CallOptions
    listener: Listener | None


class UnifiedLLMClient:
    """Asks one model of one provider. Cheap to make; exchange and capabilities are shared by the process."""

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
    ) -> None:
        """`wall` gives seconds since 1970, for dates in headers of a server that does not date its responses."""
        self.provider = provider
        self._exchange = exchange
        self._clock = clock
        self._capabilities = capabilities or Capabilities()
        self._limits = limits
        self._new_id = new_id or (lambda: f"call_{secrets.token_hex(8)}")
        self._prices = prices
        self._wall = wall

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
        **options: Any,
    ) -> Deferred[LLMResponse]:
        """One complete answer; `options` are the fields of CallOptions.

        Fails with an LLMError. Cancelling closes the connection. `listener` hears the stream as it arrives.
        """
        ask = _Ask(messages, tools or (), tool_choice, CallOptions(**options), listener)
        until = deadline or Deadline.after(self._clock, DEFAULT_SECONDS)
        return Deferred.fromCoroutine(self._turn(ask, until))

    async def _turn(self, ask: _Ask, deadline: Deadline) -> LLMResponse:
        """One turn, however often the provider pauses in it, its text held to the schema."""
        response = await whole_turn(
            lambda messages: self._complete(replace(ask, messages=messages), deadline), ask.messages
        )
        return response if ask.options.schema is None else checked(response, ask.options.schema)

    async def _complete(self, ask: _Ask, deadline: Deadline) -> LLMResponse:
        """Ask in the best way known for this model; on a refusal that teaches something, learn it and ask again."""
        record = self.record
        way = self._best_way(ask, record)
        while True:
            try:
                return await self._ask(ask, deadline, way)
            except LLMError as error:
                error.message = self.provider.redacted(error.message)
                if rescued := self._rescued(error, ask):
                    return rescued
                better = learned(error, way, record, self.provider)
                if better is None:
                    raise
                way = better

    def _best_way(self, ask: _Ask, record: ModelRecord) -> Way:
        """How to ask, as far as is known."""
        as_text = bool(ask.tools) and (record.as_text or not self.provider.supports_tools())
        schema = record.schema is not False and self.provider.supports_schema()
        thinks = ask.options.think is not None and record.thinking is not False
        native = bool(ask.tools) and not as_text
        return Way(native=native, as_text=as_text, schema=schema, thinks=thinks, amendments=record.amendments)

    async def _ask(self, ask: _Ask, deadline: Deadline, way: Way) -> LLMResponse:
        """One exchange: encode, send, read, and find the calls in what came."""
        provider = self.provider
        messages, tools, options = _worded(ask, way)
        choice = ask.tool_choice if tools else None
        body = provider.build_request(
            messages, tools, choice, options, tools_as_text=way.as_text, amendments=way.amendments
        )
        sink = AnswerSink(
            provider,
            [tool.name for tool in ask.tools],
            self._new_id,
            ask.listener,
            clock=self._clock,
            progress_seconds=(self._limits or Limits()).progress_seconds,
        )
        request = Request("POST", provider.get_api_url(), provider.headers_for(options), body)
        try:
            await call(lambda: self._exchange.perform(request, sink, self._limits), deadline)
        except ResilienceError as error:
            raise self._mapped(error, sink) from error
        answer = await self._read(sink)
        provider.tokens.learn(len(body), answer.usage.input_tokens)
        message, finish = answer.message()
        response = LLMResponse(
            message,
            finish,
            self._prices.fill(answer.usage) if self._prices else answer.usage,
            provider.name,
            answer.model or provider.model,
            provider.parse_rate_limit_headers(sink.headers, self._moment()),
        )
        response = self._with_calls_from_text(response, ask)
        self._judge(response, ask, way)
        return response

    def _judge(self, response: LLMResponse, ask: _Ask, way: Way) -> None:
        """Note how the calls of an answer came out; the record decides how this model is asked next.

        An answer that was cut off says nothing of what the model can do.
        """
        if not ask.tools or response.finish_reason is FinishReason.LENGTH:
            return
        outcome = call_record.outcome_of(
            calls=len(response.tool_calls),
            problems=sum(bool(call.problem) for call in response.tool_calls),
            repaired=response.repaired or (way.native and response.from_fallback),
            required=ask.tool_choice not in {None, "auto", "none"},
        )
        asked = call_record.Way.NATIVE if way.native else call_record.Way.FALLBACK
        self.record.calls = call_record.recorded(self.record.calls, outcome, way=asked)

    async def _read(self, sink: AnswerSink) -> Accumulator:
        """The answer in a complete response. An error of a failed one tells what its headers wish."""
        try:
            return await sink.result()
        except LLMError as error:
            error.partial = error.partial or sink.accumulator.text
            if sink.status != HTTP_OK:
                heed(error, sink.headers, self._moment())
            raise

    def _moment(self) -> Moment:
        return Moment(self._clock.seconds(), self._wall() if self._wall else None)

    def _rescued(self, error: LLMError, ask: _Ask) -> LLMResponse | None:
        """The calls in what the model wrote and its server could not read (edge case 39); None when there are none."""
        if not isinstance(error, OutputUnreadable) or not error.generated:
            return None
        written = Message(Role.ASSISTANT, (Text(error.generated),))
        response = LLMResponse(written, FinishReason.STOP, Usage(), self.provider.name, self.provider.model)
        read = self._with_calls_from_text(response, ask)
        return read if read.has_tool_calls else None

    def _with_calls_from_text(self, response: LLMResponse, ask: _Ask) -> LLMResponse:
        """The response with tool calls found in its text, when tools were offered and none came natively."""
        if response.has_tool_calls or not ask.tools or not response.content:
            return response
        if response.finish_reason is FinishReason.PAUSED:
            return response
        complete = response.finish_reason is not FinishReason.LENGTH
        found = find_calls(
            response.content, ask.tools, complete=complete, inputs=_inputs(ask.messages), new_id=self._new_id
        )
        if not found.calls:
            return response
        thoughts = response.reasoning + found.reasoning
        blocks: list[Block] = [Reasoning(thoughts)] if thoughts else []
        blocks.extend(found.calls)
        message = Message(Role.ASSISTANT, tuple(blocks))
        return replace(
            response,
            message=message,
            finish_reason=FinishReason.TOOL_CALLS,
            from_fallback=True,
            repaired=found.repaired,
        )

    def _mapped(self, error: ResilienceError, sink: AnswerSink) -> LLMError:
        """The one place where a failed exchange becomes an error of this package."""
        name, model = self.provider.name, self.provider.model
        match error:
            case DeadlineExceeded():
                return LLMDeadlineExceeded(error.message, name, model)
            case BodyTooLarge():
                return ProtocolError(error.message, name, model)
            case ConnectionLost(began=True):
                return sink.broken(error.message)
            case _:
                return Unavailable(error.message, name, model)


def _worded(ask: _Ask, way: Way) -> tuple[Sequence[Message], Sequence[ToolSpec], CallOptions]:
    """The messages, native tools and options to send; what cannot be asked natively is asked in words."""
    messages, tools, options = ask.messages, ask.tools, ask.options
    schema = options.json_schema
    if not way.thinks:
        options = replace(options, think=None)
    if schema is not None and (way.as_text or not way.schema):
        messages, options = with_schema(messages, schema), replace(options, schema=None)
    if way.as_text:
        messages = with_instructions(messages, tools)
        if way.schema and schema is None:
            options = replace(options, schema=call_schema(tools))
        tools = ()
    return messages, tools, options


def _inputs(messages: Sequence[Message]) -> list[str]:
    """What strangers wrote into the conversation: a call that is quoted from there is not the model's own."""
    spoken = [
        block.text
        for message in messages
        if message.role is Role.USER
        for block in message.blocks
        if isinstance(block, Text)
    ]
    heard = [result.text for message in messages for result in message.tool_results]
    return spoken + heard
