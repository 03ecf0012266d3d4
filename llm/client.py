"""Ask a model: messages and tools in, one complete answer out, whatever the provider can and cannot do."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from llm.answer import AnswerSink
from llm.capabilities import Capabilities, ModelRecord
from llm.errors import (
    LLMDeadlineExceeded,
    LLMError,
    OutputUnreadable,
    ProtocolError,
    Rejected,
    ThinkingUnsupported,
    ToolsUnsupported,
    Unavailable,
)
from llm.fallback_prompt import call_schema, with_instructions
from llm.json_fallback import find_calls
from llm.messages import Block, Message, Reasoning, Role, Text, ToolSpec
from llm.options import CallOptions, ToolChoice
from llm.provider import LLMProvider
from llm.response import FinishReason, LLMResponse
from llm.stream import Listener
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


@dataclass(frozen=True, slots=True)
class _Way:
    """How to ask: tools natively or as text, text held to a schema or not, with the thinking option or without."""

    native: bool
    as_text: bool
    schema: bool
    thinks: bool


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
    ) -> None:
        self.provider = provider
        self._exchange = exchange
        self._clock = clock
        self._capabilities = capabilities or Capabilities()
        self._limits = limits
        self._new_id = new_id or (lambda: f"call_{secrets.token_hex(8)}")

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
        return Deferred.fromCoroutine(self._complete(ask, until))

    async def _complete(self, ask: _Ask, deadline: Deadline) -> LLMResponse:
        """Ask in the best way known for this model; on a refusal that teaches something, learn it and ask again."""
        record = self.record
        way = self._best_way(ask, record)
        while True:
            try:
                return await self._ask(ask, deadline, way)
            except LLMError as error:
                better = _learned(error, way, record)
                if better is None:
                    raise
                way = better

    def _best_way(self, ask: _Ask, record: ModelRecord) -> _Way:
        """How to ask, as far as is known."""
        as_text = bool(ask.tools) and (record.as_text or not self.provider.supports_tools())
        schema = record.schema is not False and self.provider.supports_schema()
        thinks = ask.options.think is not None and record.thinking is not False
        return _Way(native=bool(ask.tools) and not as_text, as_text=as_text, schema=schema, thinks=thinks)

    async def _ask(self, ask: _Ask, deadline: Deadline, way: _Way) -> LLMResponse:
        """One exchange: encode, send, read, and find the calls in what came."""
        messages, tools, options = ask.messages, ask.tools, ask.options
        if not way.thinks:
            options = replace(options, think=None)
        if way.as_text:
            messages = with_instructions(messages, tools)
            if way.schema and options.schema is None:
                options = replace(options, schema=call_schema(tools))
            tools = ()
        provider = self.provider
        body = provider.build_request(
            messages, tools, ask.tool_choice if tools else None, options, tools_as_text=way.as_text
        )
        sink = AnswerSink(provider, [tool.name for tool in ask.tools], self._new_id, ask.listener)
        request = Request("POST", provider.get_api_url(), provider.build_headers(), body)
        try:
            await call(lambda: self._exchange.perform(request, sink, self._limits), deadline)
        except ResilienceError as error:
            raise self._mapped(error, sink) from error
        answer = sink.result()
        provider.tokens.learn(len(body), answer.usage.input_tokens)
        message, finish = answer.message()
        response = LLMResponse(
            message,
            finish,
            answer.usage,
            provider.name,
            answer.model or provider.model,
            provider.parse_rate_limit_headers(sink.headers),
        )
        return self._with_calls_from_text(response, ask)

    def _with_calls_from_text(self, response: LLMResponse, ask: _Ask) -> LLMResponse:
        """The response with tool calls found in its text, when tools were offered and none came natively."""
        if response.has_tool_calls or not ask.tools or not response.content:
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
        return LLMResponse(
            message,
            FinishReason.TOOL_CALLS,
            response.usage,
            response.provider,
            response.model,
            response.rate_limit_info,
            from_fallback=True,
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


def _learned(error: LLMError, way: _Way, record: ModelRecord) -> _Way | None:
    """The way to ask next after a refusal that teaches something; None when it teaches nothing."""
    match error:
        case ToolsUnsupported() if way.native:
            record.native_tools = False
            return replace(way, native=False, as_text=True)
        case OutputUnreadable() if way.native:  # this once: most of its calls can be read
            return replace(way, native=False, as_text=True)
        case ThinkingUnsupported() if way.thinks:
            record.thinking = False
            return replace(way, thinks=False)
        case Rejected() if way.as_text and way.schema:
            record.schema = False
            return replace(way, schema=False)
        case _:
            return None


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
