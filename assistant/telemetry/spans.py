"""Spans of an assistant's runs: `invoke_agent NAME` over `chat MODEL` over `execute_tool NAME`, named by names.py.

A run begins when the model is first asked: one that asks no model has no span. What was said, thought and done is in
them only where the owner wants it, and then without keys. Imports OpenTelemetry's API.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import orjson
from msgspec import Struct
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.util.types import AttributeValue

from mud_assistant.assistant.events.outcome import Cancelled, Failed, LimitReached, Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.telemetry import names
from mud_assistant.assistant.telemetry.instruments import Instruments
from mud_assistant.llm import CallReport, LLMResponse
from mud_assistant.llm.reports import ANSWERED
from mud_assistant.tools import Executed
from mud_assistant.tools import Status as ToolStatus

_NANO = 1_000_000_000
#: How a call of a tool ends that is no error.
_WELL = frozenset({ToolStatus.DONE, ToolStatus.UNHEARD})
#: The most characters of one text with content.
_MAX_CHARS = 20_000


class Tracing(Struct, frozen=True):
    """What the spans of all assistants are made with. `scrub` takes keys out.

    A run begins by `wall`, in seconds since 1970, and goes on by `clock`, in seconds, which is never set back.

    Without `content` no word of a player or a model is in them.
    """

    tracer: Tracer
    instruments: Instruments
    wall: Callable[[], float]
    clock: Callable[[], float]
    scrub: Callable[[str], str]
    content: bool


@dataclass(slots=True)
class _Open:
    """The spans that are open in one run. What began is in seconds since 1970; `ahead` is by how much of the clock."""

    span: Span
    context: Context
    began: float
    ahead: float
    chat: Span | None = None
    chat_began: float = 0.0


class RunSpans:
    """An observer that makes the spans of one assistant. `model` returns provider and model that it asks first."""

    def __init__(self, tracing: Tracing, assistant: str, name: str, model: Callable[[], tuple[str, str]]) -> None:
        self._tracing = tracing
        #: All that an assistant hears is one stream, and so one conversation.
        self._agent: dict[str, AttributeValue] = {
            names.AGENT_ID: assistant,
            names.AGENT_NAME: name,
            names.CONVERSATION: assistant,
        }
        self._name = name
        self._model = model
        self._run_id = ""
        self._open: _Open | None = None
        #: The last exchange with a model in the open run.
        self._report: CallReport | None = None

    def called(self, report: CallReport) -> None:
        """Take note of an exchange of this assistant, made for the open run or for something else."""
        self._report = report

    def thinking(self, run_id: str, step: int) -> None:
        """Begin the span of a model call, and that of its run when it is the first."""
        if self._open is not None and run_id != self._run_id:
            self._end_run(self._open, "abandoned", Status(StatusCode.ERROR))
        if self._open is None:
            self._open = self._begin_run(run_id)
        now = self._now(self._open)
        self._end_chat(self._open, now)  # one whose answer was not to be used: another is asked for
        provider, model = self._model()
        self._report = None
        self._open.chat_began = now
        self._open.chat = self._tracing.tracer.start_span(
            f"{names.CHAT} {model}",
            self._open.context,
            SpanKind.CLIENT,
            {
                names.OPERATION: names.CHAT,
                names.PROVIDER: provider,
                names.REQUEST_MODEL: model,
                names.REQUEST_STREAM: True,
                **self._agent,
            },
            start_time=int(now * _NANO),
        )

    def step(self, trace: StepTrace) -> None:
        """End the span of the model call, with those of the tools it called."""
        if (run := self._open) is None or (chat := run.chat) is None:
            return
        answered = run.chat_began + trace.asked_seconds
        self._describe_answer(chat, trace.response)
        at = answered
        for executed in trace.executed:
            self._tool(executed, set_span_in_context(chat, run.context), at)
            at += executed.seconds
        chat.end(int(answered * _NANO))
        run.chat = None

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """End the span of the run."""
        if self._open is None or run_id != self._run_id:
            return
        kind = type(outcome).__name__
        match outcome:
            case Failed():
                status = Status(StatusCode.ERROR, kind)
            case LimitReached(limit):
                kind = f"{kind}:{limit.value}"
                status = Status(StatusCode.ERROR, kind)
            case Cancelled():
                status = Status(StatusCode.UNSET)
            case _:
                status = Status(StatusCode.OK)
        self._end_run(self._open, kind, status)

    def _now(self, run: _Open) -> float:
        return self._tracing.clock() + run.ahead

    def _begin_run(self, run_id: str) -> _Open:
        self._run_id = run_id
        now = self._tracing.wall()
        span = self._tracing.tracer.start_span(
            f"{names.INVOKE_AGENT} {self._name}",
            Context(),
            SpanKind.INTERNAL,
            {names.OPERATION: names.INVOKE_AGENT, names.RUN_ID: run_id, **self._agent},
            start_time=int(now * _NANO),
        )
        return _Open(span, set_span_in_context(span, Context()), now, now - self._tracing.clock())

    def _end_run(self, run: _Open, kind: str, status: Status) -> None:
        self._open, now = None, self._now(run)
        self._end_chat(run, now)
        run.span.set_attribute(names.OUTCOME, kind)
        if status.status_code is StatusCode.ERROR:
            run.span.set_attribute(names.ERROR_TYPE, kind)
        run.span.set_status(status)
        run.span.end(int(now * _NANO))
        is_error = status.status_code is StatusCode.ERROR
        self._tracing.instruments.agent_ran(self._name, now - run.began, kind if is_error else "")

    def _end_chat(self, run: _Open, now: float) -> None:
        """End the span of a model call that brought no answer to act on."""
        if run.chat is None:
            return
        report, chat = self._report, run.chat
        run.chat = None
        if report is not None and report.outcome != ANSWERED:
            chat.set_attribute(names.ERROR_TYPE, report.outcome)
            chat.set_status(Status(StatusCode.ERROR, report.outcome))
        chat.end(int(now * _NANO))

    def _describe_answer(self, chat: Span, response: LLMResponse) -> None:
        usage = response.usage
        values: dict[str, AttributeValue | None] = {
            names.PROVIDER: response.provider or None,
            names.RESPONSE_MODEL: response.model or None,
            names.FINISH_REASONS: (response.finish_reason.value,),
            names.INPUT_TOKENS: usage.input_tokens,
            names.OUTPUT_TOKENS: usage.output_tokens,
            names.CACHED_TOKENS: usage.cached_tokens,
            names.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
            names.REASONING_TOKENS: usage.reasoning_tokens,
            names.COST: usage.cost,
        }
        if self._report is not None and self._report.usage == usage:  # and not of a summary made meanwhile
            values[names.FIRST_CHUNK] = self._report.first_seconds
        if self._tracing.content:
            values[names.OUTPUT_MESSAGES] = self._content([_as_message(response)])
        chat.set_attributes({name: value for name, value in values.items() if value is not None})

    def _tool(self, executed: Executed, context: Context, began: float) -> None:
        """Make the span of one call of a tool, which is over."""
        tool = executed.call.name if executed.category is not None else "unknown"
        values: dict[str, AttributeValue] = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: tool,
            names.TOOL_TYPE: "function",
            names.TOOL_CALL_ID: executed.call.id,
            names.TOOL_STATUS: executed.status.value,
            **self._agent,
        }
        if self._tracing.content:
            values[names.TOOL_ARGUMENTS] = self._content(dict(executed.call.arguments))
            values[names.TOOL_RESULT] = self._content(executed.result.text)
        span = self._tracing.tracer.start_span(
            f"{names.EXECUTE_TOOL} {tool}", context, SpanKind.INTERNAL, values, start_time=int(began * _NANO)
        )
        error = "" if executed.status in _WELL else executed.status.value
        if error:
            span.set_attribute(names.ERROR_TYPE, error)
            span.set_status(Status(StatusCode.ERROR, error))
        span.end(int((began + executed.seconds) * _NANO))
        self._tracing.instruments.tool_ran(tool, executed.seconds, error)

    def _content(self, value: object) -> str:
        """Return words of players and models for a span: as JSON, without keys, cut off."""
        return self._tracing.scrub(orjson.dumps(value, default=str).decode())[:_MAX_CHARS]


def _as_message(response: LLMResponse) -> dict[str, object]:
    """Return the answer in the form of the conventions."""
    parts: list[dict[str, object]] = [{"type": "text", "content": response.content}] if response.content else []
    parts += [
        {"type": "tool_call", "id": call.id, "name": call.name, "arguments": dict(call.arguments)}
        for call in response.tool_calls
    ]
    return {"role": "assistant", "parts": parts, "finish_reason": response.finish_reason.value}
